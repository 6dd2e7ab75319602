"""Other libraries' games and loops. `name:game` is a game of the bridge of that name: `openspiel:kriegspiel`."""
