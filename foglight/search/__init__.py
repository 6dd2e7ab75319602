"""Search: what to do now, from samples of the worlds that a seat considers possible."""
