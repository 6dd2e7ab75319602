"""Policies that are worked out: learned by playing, and, in time, solved for."""
