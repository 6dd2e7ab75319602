"""Value networks for any public state of a game, trained by self-play of the particle algorithm."""
