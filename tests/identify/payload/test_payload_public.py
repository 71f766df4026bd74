"""Public names of the package, and what importing it must not import."""

from __future__ import annotations

import subprocess
import sys

import heft.identify.payload


def test_every_public_name_exists() -> None:
    for name in heft.identify.payload.__all__:
        assert hasattr(heft.identify.payload, name), name
    assert "fit_wrench" in heft.identify.payload.__all__


def test_no_bus_no_devices_no_simulation() -> None:
    code = (
        "import sys, heft.identify.payload;"
        "print([m for m in ('zmq', 'can', 'aiomqtt', 'mujoco', 'pinocchio', 'cvxpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
