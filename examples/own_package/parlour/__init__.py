"""Two games and two bots of one's own, for foglight."""
