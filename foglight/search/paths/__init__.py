"""Sampled paths of a few decisions: PIMC, EPIMC and strategy fusion [Arjonilla2024]."""
