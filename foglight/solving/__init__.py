"""Policies worked out beforehand: whole games, games cut at a depth, and continual resolving with particles."""
