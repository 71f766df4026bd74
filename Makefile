# Every target sets up what it needs: a virtual environment in .venv with everything installed.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1

.PHONY: help run test slow check bench setup clean
help:
	@echo "make run | test | slow | check | bench | clean"

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

setup: .venv/ready

run: .venv/ready
	$(BIN)/heft run

test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" tests

slow: .venv/ready
	$(BIN)/python -m pytest -m slow --timeout 600 tests

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	for f in benchmarks/[a-z]*.py; do echo "== $$f"; $(BIN)/python $$f || exit 1; done

clean:
	rm -rf .venv build *.egg-info sessions .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
