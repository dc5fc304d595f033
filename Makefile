# `make tui` and `make test` do all their set-up themselves; a second call starts at once.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TESTS ?= tests

.PHONY: tui test check recordings schema rules pictures bench fuzz clean

tui: $(VENV)/.tui-installed ## open the debugger; make tui ARGS="agent.py:agent --task '…'"
	@$(BIN)/loopkit tui $(ARGS)

test: check ## lint, types, layers and the whole suite
	$(BIN)/python -m pytest -n 2 $(TESTS)

check: $(VENV)/.dev-installed ## lint, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

recordings: $(VENV)/.dev-installed ## make the recorded stories again
	$(BIN)/python recordings/make.py

schema: $(VENV)/.dev-installed ## write the recording format's JSON Schema again
	$(BIN)/python -m loopkit.recording.schema

rules: $(VENV)/.dev-installed ## list again which test covers which rule
	$(BIN)/python -m tests.rules

pictures: $(VENV)/.dev-installed ## take the pictures of the docs again (needs Chromium)
	PYTHONPATH=. $(BIN)/python docs/pictures/make.py

fuzz: $(VENV)/.dev-installed ## cut, flip, kill and starve recordings, as figures
	$(BIN)/python -m tests.fuzz

bench: $(VENV)/.dev-installed ## costs and their limits; make bench ARGS=--peers measures smolagents too
	$(BIN)/python -m tests.bench $(ARGS)

bench-large: $(VENV)/.dev-installed ## a million events, a gigabyte on disk meanwhile; ARGS=--peers measures agent-rewind too
	$(BIN)/python -m tests.bench.large $(ARGS)

clean: ## remove what the other targets made
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "loopkit needs Python 3.11 or later; name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV), once"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.tui-installed: pyproject.toml | $(BIN)/python
	@$(PIP) install --editable '.[tui]'
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(BIN)/python
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.tui-installed
