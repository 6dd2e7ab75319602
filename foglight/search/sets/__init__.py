"""Alpha-beta search over sets of worlds, which shares bounds between sets by sketches [Bernardoni2019]."""
