"""Depth-limited solving: public states, trunks with an evaluator at the cut, subgames, safe resolving."""
