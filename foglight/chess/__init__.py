"""Chess on boards of 4x4 to 8x8, for all games that are built on it: the board, its moves, its text.

Moves are pseudo-legal: a side may leave its king where it can be taken. Except in `blind`, observations are left to the
games.
"""
