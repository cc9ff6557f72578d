# make book    the book, in book/_build/html        make test    the tests that take seconds
# make check   format, lint, types, spelling        make bench   the benchmarks
# Each installs .venv from requirements.lock first, unless that has been done.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CI ?=
TESTS ?= $(if $(CI),,-m "not slow")
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help book test bench check lock clean

help:
	@sed -n 's/^# //p' Makefile

book: $(READY)
	$(BIN)/jupyter-book build book -W -n --keep-going

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(TESTS) $(ARGS)

bench: $(READY)
	$(BIN)/python -m pytest benchmarks --benchmark-only $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/codespell

# The results in book/_build/.jupyter_cache stay; remove that folder to start from nothing.
clean: $(READY)
	$(BIN)/jupyter-book clean book

# The lock holds versions and hashes for every Python from 3.11 on, and no address. It is made anew
# with uv when the dependencies in pyproject.toml change.
EXTRAS := $(foreach extra,book test queries release cluster dev,--extra $(extra))
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header $(EXTRAS) pyproject.toml -o requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	if command -v uv > /dev/null; then \
	  uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock \
	  && uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	touch $(READY)
