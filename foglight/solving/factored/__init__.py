"""Games in which a seat learns things by itself, solved without visiting their histories."""
