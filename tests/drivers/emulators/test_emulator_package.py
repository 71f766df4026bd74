"""What emulators may import, and which there are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from drivers import emulators
from drivers.emulators.emulator import EmulatorOptions
from drivers.errors import OptionError
from drivers.registry import KINDS

PACKAGE = Path(emulators.__file__).parent


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_an_emulator_knows_nothing_of_codecs_and_drivers(path):
    foreign = ("drivers.codecs", "drivers.devices", "daq", "identify", "heft")
    assert not [name for name in imports(path) if name.startswith(foreign)]


def test_every_emulator_has_a_driver_and_options():
    for kind in emulators.KINDS:
        assert kind in KINDS
        assert issubclass(emulators.options_model(kind), EmulatorOptions)
    with pytest.raises(OptionError, match="'toaster' has no emulator; known: amt21"):
        emulators.options_model("toaster")


def test_a_sensor_alone_needs_no_mujoco():
    code = (
        "import sys, drivers.emulators as e, drivers.emulators.bench\n"
        "for k in ('ati_rdt', 'bota_serial', 'robotiq_ft300', 'amt21', 'robotiq_2f'): e.options_model(k)\n"
        "sys.exit('mujoco' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
