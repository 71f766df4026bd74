# Every target sets up what it needs: a virtual environment in .venv with everything installed.
PYTHON ?= python3
BIN := .venv/bin
# Real programs that tests talk to; installed where root and apt are at hand, else those tests skip with a message.
PROGRAMS := chromium mosquitto
# The newest Python that the package runs on; fetched where Debian's packages are at hand and the host has none.
NEWEST := 3.14
# Processes that tests run in. On two cores: one more than these, since many tests wait for a device or a clock.
WORKERS ?= 3
# Tests of devices, wires and programs wait for real time: they run apart from those that only compute.
REAL_TIME := $(addprefix tests/,conformance drivers/devices drivers/emulators drivers/transports daq/bus daq/emulation daq/following \
  daq/mqtt daq/record daq/replay daq/rig daq/session daq/test_clock.py identify/worker heft system)
# A host may stall for half a second, and tests in real time with it: they are tried again, and said so (-r R).
AGAIN := -r R --reruns
export OMP_NUM_THREADS ?= 1
unexport PYTHONDONTWRITEBYTECODE  # many tests start programs: compile the sources once

.PHONY: help setup programs run test slow versions check bench clean
help:
	@echo "make run | test | slow | versions | check | bench | clean"

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]'
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

# First what computes, then what waits for real time: it must not wait for processors as well.
test: .venv/ready programs
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" tests $(addprefix --ignore=,$(REAL_TIME))
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow" $(AGAIN) 3 $(REAL_TIME)

# First what needs processors, side by side; then what needs the machine for itself.
slow: .venv/ready programs build/python$(NEWEST)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow and not alone" --timeout 900 $(AGAIN) 1 tests
	$(BIN)/python -m pytest -m "slow and alone" --timeout 900 $(AGAIN) 4 tests

# The built wheel in clean environments: beside pre-commit, and on every Python that is at hand. Part of `slow`.
versions: .venv/ready build/python$(NEWEST)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow --timeout 900 tests/package

build/python$(NEWEST):
	@command -v python$(NEWEST) >/dev/null && python$(NEWEST) --version >/dev/null 2>&1 \
	  || .ci/fetch-python $(NEWEST) $@ || { rm -rf $@; echo "no Python $(NEWEST) at hand: its smoke test will skip"; }

check: .venv/ready
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	for f in acquisition identification feedforward drivers wire payload worker wires coverage; do \
	  echo "== benchmarks/$$f.py"; $(BIN)/python benchmarks/$$f.py || exit 1; done

clean:
	rm -rf .venv build *.egg-info sessions .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
