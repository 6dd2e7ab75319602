"""Checks of games and agents, anybody's too: what every game and every agent owes, each fault in one sentence."""
