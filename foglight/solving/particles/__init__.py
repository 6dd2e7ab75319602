"""Continual resolving from particles: a bounded set of histories of one public state [Sustr2021]."""
