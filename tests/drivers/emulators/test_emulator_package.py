"""What emulators may import, and which there are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from heft.drivers import emulators, registry
from heft.drivers.emulators.base.emulator import EmulatorOptions
from heft.drivers.errors import OptionError
from heft.drivers.registry import KINDS

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
    foreign = ("heft.drivers.codecs", "heft.drivers.devices")
    ours = [name for name in imports(path) if name.split(".")[0] == "heft"]
    assert not [name for name in ours if name.startswith(foreign) or not name.startswith("heft.drivers.")]


def test_every_kind_on_a_wire_has_an_emulator_with_options():
    for kind in KINDS:
        if KINDS[kind].simulated:
            continue
        assert issubclass(registry.emulator_options(kind), EmulatorOptions)
    with pytest.raises(OptionError, match="'toaster' has no emulator; known: amt21"):
        registry.emulator_options("toaster")


def test_a_sensor_alone_needs_no_mujoco():
    code = (
        "import sys, heft.drivers.registry as r, heft.drivers.plant.bench\n"
        "for k in ('ati_rdt', 'bota_serial', 'robotiq_ft300', 'amt21', 'robotiq_2f'): r.emulator_options(k)\n"
        "sys.exit('mujoco' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
