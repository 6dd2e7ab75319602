"""One way to draw a game: as plain data (`model`, `layouts`), as SVG (`svg`), with a belief laid over it (`heat`)."""
