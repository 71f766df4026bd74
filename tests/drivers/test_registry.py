"""Kinds of device that packages of others add."""

from __future__ import annotations

import json
import os
import subprocess
import sys

MODULE = """
from heft.drivers.registry import Kind, Transport

SCALE = Kind(driver="acme_heft:Scale", transport=Transport.SERIAL, yields="weight [N]", port=("port",))
NOTHING = 7
"""
ENTRIES = """[heft.devices]
acme_scale = acme_heft:SCALE
acme_nothing = acme_heft:NOTHING
acme_broken = acme_heft.missing:SCALE
cia402 = acme_heft:SCALE
"""


def test_an_installed_package_adds_a_kind_and_a_broken_one_stops_nobody(tmp_path):
    (tmp_path / "acme_heft.py").write_text(MODULE)
    metadata = tmp_path / "acme_heft-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-heft\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    program = "import json; from heft.drivers.registry import KINDS as all; "
    program += "print(json.dumps({name: kind.driver for name, kind in all.items()}))"
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = json.loads(said.stdout)
    assert kinds["acme_scale"] == "acme_heft:Scale"
    assert kinds["cia402"].startswith("heft.")  # ours goes before
    assert not {"acme_nothing", "acme_broken"} & kinds.keys()
    for name in ("acme_nothing", "acme_broken", "cia402"):
        assert f"kind '{name}'" in said.stderr
