"""Bridges to other libraries. `openspiel:kriegspiel` is the game `kriegspiel` of the bridge `openspiel`."""
