"""Networks for any public state of a game, taught by the particle algorithm itself."""
