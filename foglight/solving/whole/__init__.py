"""Whole games: the tree, its sequence form, methods that solve it, and policies that are learned by playing."""
