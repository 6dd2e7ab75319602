"""Games cut at a depth: public states, trunks with an evaluator at the cut, subgames, safe resolving."""
