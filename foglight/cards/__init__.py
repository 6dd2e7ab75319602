"""Card games: cards and suits, the core of trick-taking games, and their text."""
