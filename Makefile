# Every target sets up what it needs: a virtual environment in .venv with everything installed.
PYTHON ?= python3
BIN := .venv/bin
# Real programs that tests talk to; installed where root and apt are at hand, else those tests skip with a message.
PROGRAMS := chromium mosquitto
export OMP_NUM_THREADS ?= 1

.PHONY: help setup programs run test slow check bench clean
help:
	@echo "make run | test | slow | check | bench | clean"

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

setup: .venv/ready

programs:
	@for program in $(PROGRAMS); do \
	  command -v $$program >/dev/null && continue; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PROGRAMS) >/dev/null; break; \
	  else echo "$$program is missing: tests that need it will skip (Debian package $$program)"; fi; \
	done

run: .venv/ready
	$(BIN)/heft run

test: .venv/ready programs
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" tests

slow: .venv/ready programs
	$(BIN)/python -m pytest -m slow --timeout 900 tests

check: .venv/ready
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	for f in acquisition identification feedforward drivers wire payload worker coverage; do \
	  echo "== benchmarks/$$f.py"; $(BIN)/python benchmarks/$$f.py || exit 1; done

clean:
	rm -rf .venv build *.egg-info sessions .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
