"""How the site is made: `make docs` builds it, `make docs-serve` shows it.

The pages of `docs/`, README, CONTRIBUTING, CHANGELOG and SECURITY are copied into `site/pages`, with their links turned
to where the copies are. Reference, command line and bibliography are written beside them, from docstrings, from the
commands and from `papers.bib`: they are made at every build and never stored, so that they cannot be out of date.
Zensical turns the folder into `site/html`.
"""
