"""What an import brings with it: looked at in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"zmq", "can", "serial", "aiomqtt", "paho", "mujoco", "rich"}


def modules_after(statement: str) -> set[str]:
    """Top-level names in `sys.modules` after a statement."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import heft.identify",
        "import heft.daq.recording; heft.daq.recording.Recording",
        "import heft.daq.trajectory",
        "import heft.daq.topics",
        "import heft.daq.config",
        "import heft.daq.bus",
        "import heft.drivers; heft.drivers.Block",
        "from heft.drivers.registry import KINDS",
    ],
)
def test_reading_and_identifying_needs_no_bus_no_devices_and_no_simulator(statement: str) -> None:
    assert modules_after(statement) & HEAVY == set()


@pytest.mark.parametrize("name", ["Robot", "Dataset", "fit", "base_parameters", "consistency"])
def test_nor_do_the_public_names_of_identify(name: str) -> None:
    assert modules_after(f"from heft.identify import {name}") & HEAVY == set()


@pytest.mark.parametrize(
    "statement", ["import heft", "import heft.drivers", "import heft.daq", "import heft.daq.recording"]
)
def test_pinocchio_and_cvxpy_belong_to_identify(statement: str) -> None:
    assert modules_after(statement) & {"pinocchio", "cvxpy"} == set()
