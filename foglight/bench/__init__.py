"""Measurements as ratios against a peer, both taken in one run; one file per `foglight bench` command."""
