"""Solving whole games: the tree, its sequence form, the solvers, and policies learned by playing."""
