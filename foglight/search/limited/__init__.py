"""Knowledge-limited subgame solving on a growing tree [Zhang2025]: search that grants the other seat its ignorance."""
