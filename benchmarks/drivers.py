"""Drivers against emulators: see devices.py, which this runs.

    python benchmarks/drivers.py [--part making|live|inside] [--seconds 10] [KIND ...]

It has the name of a package, and gets out of its way where a benchmark beside it wants that.
"""

from __future__ import annotations

import runpy
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "drivers":  # a neighbour looked for the package and found this file first
    sys.path.remove(str(HERE))
    del sys.modules["drivers"]
    sys.modules["drivers"] = import_module("drivers")
    sys.path.insert(0, str(HERE))
else:
    del sys.path[0]
    runpy.run_path(str(HERE / "devices.py"), run_name="__main__")
