# Every target makes `.venv` first, so a fresh clone needs Python, make and a C compiler only.
# An existing `.venv` is brought up to date, never replaced.

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

LIT_TESTS ?= tests/lit
FUZZ_TESTS ?= tests
BENCH ?= benchmarks/text_layer.py benchmarks/storage_alias.py benchmarks/tl_kernels.py benchmarks/tile_kernels.py benchmarks/tile_compile.py benchmarks/hip_compile.py benchmarks/tenstorrent.py benchmarks/tenstorrent_model.py benchmarks/addresses.py benchmarks/planner.py benchmarks/merge.py benchmarks/tlx_checking.py benchmarks/warm_start.py
DEVICE_TESTS ?= tests/device
DEVICE_PYTHON ?= $(BIN)/python
DEVICE_FUZZ_ARGS ?= --count 3000
DEVICE_FUZZ_TL_ARGS ?= --seeds 100000:101000
PYTEST_ARGS ?=

# Tests start Python often: bytecode is kept even where the environment asks for none.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint lit pytest docs chromium clang torch bench fuzz device-test device-fuzz clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'
	@echo "variables: PYTHON=$(PYTHON) (for making .venv), JOBS=$(JOBS), PYTEST_ARGS=..."

demo: $(STAMP) ## IR round trip, memory map, kernels run and checked on the CPU, one on a model of Tenstorrent
	@$(BIN)/tilewright demo

# All three stages run even when one fails; pytest ends last, so its closing line is easy to find.
# Lint runs beside the others, as the type checker keeps one processor busy, and prints when it is done.
test: $(STAMP) ## lint, lit tests and Python tests
	@failed=; log=`mktemp`; \
	{ $(MAKE) --no-print-directory lint >$$log 2>&1; status=$$?; echo; cat $$log; exit $$status; } & lint=$$!; \
	$(MAKE) --no-print-directory lit || failed="$$failed lit"; \
	$(MAKE) --no-print-directory pytest || failed="$$failed pytest"; \
	wait $$lint || failed="$$failed lint"; \
	rm -f $$log; \
	if [ -n "$$failed" ]; then echo "make test: failed:$$failed" >&2; exit 1; fi

lint: $(STAMP) ## formatting, style, types, import layering, vocabulary
	@failed=; log=`mktemp`; \
	$(BIN)/basedpyright >$$log 2>&1 & types=$$!; \
	for check in "ruff check --no-cache ." "ruff format --check ." "lint-imports --no-logo" "python -m scripts.vocabulary"; do \
		echo "$$check"; $(BIN)/$$check || failed=1; \
	done; \
	echo "basedpyright"; wait $$types || failed=1; \
	cat $$log; rm -f $$log; test -z "$$failed"

lit: $(STAMP) ## lit tests: IR files with RUN and CHECK lines
	$(BIN)/lit -sv -j $(JOBS) $(LIT_TESTS)

pytest: $(STAMP) chromium clang torch ## Python tests
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

docs: $(STAMP) ## the documentation as a site, in build/site, with all links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

chromium: ## the browser for one test, installed if that needs no questions
	@scripts/install_chromium.sh

clang: ## the compiler of HIP kernels, installed if that needs no questions
	@scripts/install_clang.sh

torch: $(STAMP) ## PyTorch, for the tests of its custom ops and of scripts that import it
	@$(BIN)/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' || { \
		echo "installing torch"; \
		$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check 'torch==2.13.0' \
			|| echo "torch cannot be installed: the tests that need it are skipped"; }

bench: $(STAMP) ## times relative to stock xDSL and Triton's interpreter, storage-alias lowering, T kernels, Tenstorrent, addresses, memory planning
	@for file in $(BENCH); do $(BIN)/python $$file && echo || exit 1; done

fuzz: $(STAMP) clang ## the long runs: mutated inputs, every dump and binary, random trees, all examples of properties
	@failed=; none=5; \
	for marked in slow "hypothesis and not slow"; do \
		TILEWRIGHT_HYPOTHESIS_PROFILE=whole \
			$(BIN)/python -m pytest -n $(JOBS) -m "$$marked" $(FUZZ_TESTS) $(PYTEST_ARGS) \
			|| test $$? = $$none || failed=1; \
	done; test -z "$$failed"

# Kernels built with the Triton and torch of DEVICE_PYTHON, which need not be `.venv`'s. Without a network:
# scripts/offline_wheels.sh here, make device-test DEVICE_PYTHON="env PYTHONPATH=wheels/py3.12 python3" there.
device-test: $(if $(filter $(BIN)/%,$(DEVICE_PYTHON)),$(STAMP)) ## tests that need a GPU
	$(DEVICE_PYTHON) -m pytest -m device $(DEVICE_TESTS) $(PYTEST_ARGS)

# Random kernels, compiled on all cores, run in processes that a fault of the GPU may end, against NumPy.
device-fuzz: $(if $(filter $(BIN)/%,$(DEVICE_PYTHON)),$(STAMP)) ## random kernels on a GPU: DEVICE_FUZZ_ARGS=--help
	$(DEVICE_PYTHON) -m tests.fuzz.device $(DEVICE_FUZZ_ARGS)
	$(DEVICE_PYTHON) -m tests.fuzz.tl.device $(DEVICE_FUZZ_TL_ARGS)

clean: ## remove outputs and caches; .venv stays
	rm -rf build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamp is younger than pyproject.toml exactly when the last installation fits it.
$(STAMP): pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
		command -v $(PYTHON) >/dev/null 2>&1 || { \
			echo "no '$(PYTHON)' here: install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
			echo "$(PYTHON) is `$(PYTHON) -V 2>&1`; Tilewright needs Python 3.11 or later: make PYTHON=/path/to/python3.11" >&2; exit 1; }; \
		$(PYTHON) -m venv $(VENV) || { \
			rm -rf $(VENV); \
			echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	fi
	@echo "installing into $(VENV) (the first time takes a few minutes)"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]'
	@touch $@
