"""The suite of `heft.testing` for every kind of ours."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from heft.drivers.registry import KINDS
from heft.testing import DriverSuite


def _cases() -> ModuleType:
    """`cases.py` beside this file; tests are no package."""
    spec = importlib.util.spec_from_file_location("driver_cases", Path(__file__).with_name("cases.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["driver_cases"] = module
    spec.loader.exec_module(module)
    return module


CASES = _cases().CASES
#: Packages without which a kind is not there.
NEEDS = {"ros2": "cyclonedds"}

for name, kind in KINDS.items():
    if kind.simulated or not kind.driver.startswith("heft."):
        continue
    suite = type(f"Test_{name}", (DriverSuite,), {"kind": name, "case": CASES[name], "__module__": __name__})
    missing = name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None
    globals()[suite.__name__] = pytest.mark.skipif(missing, reason=f"{NEEDS.get(name)} is missing")(suite)
del suite, DriverSuite
