"""Alpha-beta search over sets of worlds, with bounds shared by sketches [Bernardoni2019]."""
