"""Benchmarks: rates and times beside those of a peer, measured in the same run."""
