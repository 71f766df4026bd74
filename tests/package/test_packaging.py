"""What is shipped beside the wheel: the unit of systemd, and what the container's image is built from."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "packaging" / "heft@.service").read_text(encoding="utf-8")


def test_the_unit_may_use_serial_lines() -> None:
    """`ProtectClock` allows no device but clocks, unless others are named."""
    settings = [line.partition("=")[::2] for line in UNIT.splitlines() if "=" in line and line[0] != "#"]
    assert ("ProtectClock", "yes") in settings
    allowed = {value for key, value in settings if key == "DeviceAllow"}
    assert {"char-ttyUSB rw", "char-ttyACM rw", "char-ttyS rw"} <= allowed
    assert not any(key == "PrivateDevices" for key, _ in settings)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this host")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    path = tmp_path / "heft@.service"
    path.write_text(UNIT.replace("/opt/heft/bin/heft", shutil.which("true") or ""), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_is_built_from_the_package_alone() -> None:
    """An allow-list: environments, recordings, keys and tokens beside it never get into a layer."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    taken = {rule[1:] for rule in rules if rule.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    linked = {path.readlink().name for path in (ROOT / "heft").iterdir() if path.is_symlink()}
    assert taken == {"heft", "pyproject.toml", project["readme"], *project["license-files"], *linked}
