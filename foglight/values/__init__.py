"""Learned values of public belief states: features, networks, data sets, training, and networks at the leaves.

Needs PyTorch, the extra `foglight[values]`. The rest of the library imports this package only where it is used.
"""
