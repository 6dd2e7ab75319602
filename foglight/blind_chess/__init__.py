"""Reconnaissance Blind Chess: boards that may be true, what they are worth, where to look and what to request."""
