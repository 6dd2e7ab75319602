"""Reconnaissance Blind Chess: possible boards, their values, where to sense and which move to request."""
