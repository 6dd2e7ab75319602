"""Chess on boards of 4x4 to 8x8, for every game that is built on it: the board, its moves, its text.

Moves are pseudo-legal: no one is forbidden to leave a king where it can be taken. What players see is not known here.
"""
