# `make demo` and `make test` need Python 3.11 or later, pip and make; everything else they install into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-long check engine browser notebooks mutants dist docs docs-serve clean

demo: .venv/installed
	@$(BIN)/python examples/demo.py

# A process gets half of the tests, in order, and steals from the other half when it is done: two processes that run the
# same file at the same time compile the same kernels twice.
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal
PLAIN = $(shell grep -l mark.plain tests/test_*.py)  # the second pass need not import the other files

test: check engine browser
	$(PYTEST) -m 'not long'
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'plain and not long and not long_plain' $(PLAIN)

# Everything: more games, larger ones, and more of what `make test` has proved on fewer.
test-long: check engine browser
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m plain $(PLAIN)

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Some tests run Stockfish. It is a package of the system, which only root may install.
engine:
	@PATH="$$PATH:/usr/games" command -v stockfish >/dev/null \
		|| { test "$$(id -u)" = 0 && apt-get install -qq stockfish >/dev/null 2>&1; } \
		|| { test "$$(id -u)" = 0 && apt-get update -qq >/dev/null 2>&1 && apt-get install -qq stockfish >/dev/null 2>&1; } \
		|| echo '*** NO STOCKFISH: tests that need a chess engine are SKIPPED; install it: apt-get install stockfish ***'

# The page is tested in a browser. It is a package of the system, too.
browser:
	@command -v chromium >/dev/null \
		|| { test "$$(id -u)" = 0 && apt-get install -qq --no-install-recommends chromium >/dev/null 2>&1; } \
		|| { test "$$(id -u)" = 0 && apt-get update -qq >/dev/null 2>&1 && apt-get install -qq --no-install-recommends chromium >/dev/null 2>&1; } \
		|| echo '*** NO CHROMIUM: tests of the page in a browser are SKIPPED; install it: apt-get install chromium ***'

# The notebooks of examples/, from the pages of docs/tutorials.
notebooks: .venv/installed
	$(BIN)/python examples/notebooks.py

# Whether the tests notice mistakes: see docs/testing.md. SAMPLE=0 tries all mutants of the file.
mutants: .venv/installed-dev
	$(BIN)/python tests/mutants.py $(FILE) $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(or $(SEED),0)

# The wheel and the sdist of the last commit, in dist/: built twice, which must give the same bytes, and looked into.
dist: .venv/installed-dev
	$(BIN)/python tests/distribution.py

# The site, in site/html: pages, reference, command line. docs-serve shows it, and follows pages as they are edited.
docs: .venv/installed-dev
	@$(BIN)/python -m website

docs-serve: .venv/installed-dev
	@$(BIN)/python -m website --serve

clean:
	rm -rf .venv site

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "foglight needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(PIP) --editable '.[dev]'
	touch $@
