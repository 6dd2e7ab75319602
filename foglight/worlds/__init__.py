"""Beliefs: the sets of worlds that agree with a viewer's observations."""
