"""Card games: cards and suits, the core of trick-taking games, and how both are shown to people."""
