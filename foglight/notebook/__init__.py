"""A game in a cell of a notebook, with the drawing of the page and its rule of what may be sent."""
