"""Learned values of public belief states: features, networks, data sets, training, and networks at the leaves.

Needs PyTorch, the extra `foglight[values]`; nothing here is imported by the rest of the library unless asked for.
"""
