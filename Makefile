# make book    the book, in book/_build/html        make test    the tests that take a minute
# make check   format, lint, types, spelling        make bench   the benchmarks
# make strip   notebooks without outputs, now and whenever git adds one
# make pdf     paper.pdf and book.pdf, into the built book (needs Chromium)
# make smoke   four built pages in a browser, served and from disk (needs Chromium)
# make jitter  doctests and tests of the mathematics, where all last digits are others
# make lowest  the quick tests on the lowest versions allowed; make newest on the newest (need uv)
# make lock    the lock anew, after a change of pyproject.toml (needs uv)
# `make test TESTS=` runs all tests, `make test TESTS=tests/laws` those of a folder.
# Each installs .venv from the lock first, unless that has been done.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
QUICK := -m "not (slow or browser)"
TESTS ?= $(QUICK)
PYTEST := $(BIN)/python -m pytest
UV := $(shell command -v uv)
INSTALL := $(if $(UV),uv pip install --python $(BIN)/python,$(BIN)/python -m pip install) -q --no-deps
MATHEMATICS := dpbayes $(addprefix tests/,laws mechanisms auditing samplers study) tests/test_*.py
LIBRARY := tests/test_[adps]*.py $(addprefix tests/,mechanisms laws auditing figures tables)
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Compiled modules are kept, or each process of a test run compiles the package.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help book strip pdf test smoke jitter bench check lowest newest lock
help:
	@head -10 Makefile
book: $(READY)
	$(BIN)/jupyter-book build book -W -n --keep-going
	$(BIN)/dpbayes verify
strip: $(READY)
	git config filter.notebooks.clean "$(BIN)/python tools/strip.py"
	$(BIN)/python tools/strip.py $$(git ls-files 'notebooks/*.ipynb')
pdf: book
	$(BIN)/python tools/print_book.py
test: $(READY)
	$(PYTEST) -n 2 --dist worksteal $(TESTS) $(ARGS)
smoke: $(READY)
	$(PYTEST) -q -n 0 tests/browser/test_smoke.py $(ARGS)
jitter: $(READY)
	$(PYTEST) -q -n 2 --dist worksteal -p tests.jitter $(QUICK) $(MATHEMATICS) $(ARGS)
bench: $(READY)
	$(PYTEST) benchmarks --benchmark-only $(ARGS)
check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/codespell
lowest: RESOLUTION := --python 3.11 --resolution lowest-direct
newest: RESOLUTION := --upgrade
lowest newest:
	uv run --quiet --isolated --no-project $(RESOLUTION) --with-editable '.[tables,serve,test]' \
	  python -m pytest -q $(QUICK) $(LIBRARY) $(ARGS)
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --all-extras \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header pyproject.toml -o requirements.lock
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-build-isolation -e .
	touch $(READY)
