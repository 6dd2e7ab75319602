"""Networks for the leaves of one trunk: its features, data from random strategies, training."""
