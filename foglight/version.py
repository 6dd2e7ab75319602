"""The version of foglight: games played by another version are other games."""

__version__ = "0.1.0"
