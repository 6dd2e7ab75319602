"""From a clock to the budget of one decision.

`movetime` is for this decision alone. `remaining` is the seat's clock for the rest of the game, to which `increment` is
added after each of its moves. Nobody knows how many moves are left, so a decision gets a 25th of what remains, and four
fifths of the increment, but never more than half of what remains. A margin stays for what is not search.
"""

import math

_MOVES = 25  # that a decision supposes are left
_OF_INCREMENT = 0.8
_LARGEST = 0.5  # share of the remaining time that one decision may take
_MARGIN, _MARGIN_SHARE = 0.02, 0.1  # kept back: so many seconds, but at most this share of the budget
_LEAST = 0.001  # seconds


def budget(movetime: float | None, remaining: float | None, increment: float | None, own: float) -> float:
    """Seconds for a decision, from milliseconds on a clock; 0 without one. `own` seconds, unless 0, are the most."""
    limits = [] if movetime is None else [movetime / 1000]
    if remaining is not None:
        share = remaining / _MOVES + _OF_INCREMENT * (increment or 0.0)
        limits.append(min(share, _LARGEST * remaining) / 1000)
    if not limits:
        return own
    seconds = min(limits)
    seconds -= min(_MARGIN, _MARGIN_SHARE * seconds)
    return max(_LEAST, min(seconds, own or math.inf))
