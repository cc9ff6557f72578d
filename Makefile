# make book    the book, in book/_build/html        make test    the tests that take a minute
# make check   format, lint, types, spelling        make bench   the benchmarks
# make pdf     paper.pdf and book.pdf, into the built book (needs Chromium)
# make smoke   four built pages in a browser, served and from disk (needs Chromium)
# make jitter  doctests and tests of the mathematics, where all last digits are others
# make lowest  the quick tests on the lowest versions allowed
# `make test TESTS=` runs all tests, `make test TESTS=tests/laws` those of a room.
# Each installs .venv from a lock first, unless that has been done.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
QUICK := -m "not (slow or browser)"
TESTS ?= $(QUICK)
MATHEMATICS := dpbayes $(addprefix tests/,laws mechanisms auditing samplers study) tests/test_*.py
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Compiled modules are kept, or each of the processes of a build or a test run compiles the package.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help book pdf test smoke jitter bench check lowest lock clean

help:
	@sed -n 's/^# //p' Makefile

book: $(READY)
	$(BIN)/jupyter-book build book -W -n --keep-going
	$(BIN)/dpbayes verify

pdf: $(READY)
	test -f book/_build/html/paper.html || $(MAKE) book
	$(BIN)/python tools/print_book.py

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(TESTS) $(ARGS)

smoke: $(READY)
	$(BIN)/python -m pytest -q -n 0 tests/browser/test_smoke.py $(ARGS)

jitter: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -p tests.jitter $(QUICK) $(MATHEMATICS) $(ARGS)

bench: $(READY)
	$(BIN)/python -m pytest benchmarks --benchmark-only $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/codespell

# The library on the lowest versions that pyproject.toml allows; needs uv.
LOWEST := .venv-lowest
lowest:
	test -x $(LOWEST)/bin/python || uv venv --quiet --python 3.11 $(LOWEST)
	uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[tables,serve]' \
	  'pytest>=8' 'hypothesis>=6.100' 'mpmath>=1.3' 'pytest-benchmark>=4' \
	  'opendp>=0.12' 'dp-accounting>=0.5'
	$(LOWEST)/bin/python -m pytest -q $(LOW_TESTS) $(QUICK) $(ARGS)
LOW_TESTS ?= tests/test_posteriors.py tests/test_divergences.py tests/test_sensitivity.py tests/test_accuracy.py \
  tests/mechanisms tests/laws tests/auditing tests/figures

# The results in book/results stay; remove that folder to start from nothing.
clean: $(READY)
	$(BIN)/jupyter-book clean book

# The lock holds versions and hashes for every Python from 3.11 on, and no address. It is made anew
# with uv when the dependencies in pyproject.toml change.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header pyproject.toml \
	  --all-extras -o requirements.lock

# Install a lock, then the package itself, into .venv. A lock is whole: nothing is resolved, and two
# installations side by side take every other entry. Modules are compiled when they are first
# imported; most of what is installed never is.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	if command -v uv > /dev/null; then \
	  uv pip install --quiet --no-deps --python $(BIN)/python --require-hashes -r $(1) \
	  && uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  awk '/^[^ ]/ { n++ } { print > ("$(VENV)/half-" n % 2) }' $(1) \
	  && printf '$(VENV)/half-%d\n' 0 1 | xargs -n 1 -P 2 $(PIP) --no-compile --require-hashes -r \
	  && $(PIP) --no-build-isolation -e . ; \
	fi
endef

$(READY): requirements.lock pyproject.toml setup.py
	$(call install,requirements.lock)
	touch $(READY)
