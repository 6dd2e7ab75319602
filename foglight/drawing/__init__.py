"""One way to draw a game: what is drawn (`model`), where it goes (`layouts`), as SVG (`svg`), with a belief (`heat`)."""
