"""Trees over information states, grown by simulation: IS-MCTS, OOS and IIMC."""
