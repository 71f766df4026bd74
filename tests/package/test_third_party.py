"""A device of somebody else: the package of docs/adding-a-device.md, installed beside the wheel, passes the suite."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("package")]

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-device.md"
FILE = re.compile(r"^`([\w./]+)`:[^\n]*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page shows."""
    folder = tmp_path_factory.mktemp("acme")
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8").partition("## In a package of your own")[2]))
    assert set(files) >= {
        "pyproject.toml",
        "acme_heft/__init__.py",
        "acme_heft/driver.py",
        "test_scale.py",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_it_is_listed_emulated_and_passes_the_suite(
    package: Path, new_environment: Callable[..., Any]
) -> None:
    environment = new_environment(Path(sys.executable), str(package), extra="[testing]")
    kinds = json.loads(environment.run("heft", "devices", "list", "--json").stdout)["kinds"]
    assert kinds["acme_scale"] == {"transport": "serial", "yields": "force [N]", "emulator": True}
    said = environment.run("pytest", "-q", "-p", "no:cacheprovider", str(package / "test_scale.py")).stdout
    assert re.search(r"1[0-9] passed", said), said
    heft = str(environment.folder / "bin" / "heft")
    with subprocess.Popen(
        [heft, "devices", "emulate", "acme_scale"], stdout=subprocess.PIPE, text=True, cwd=environment.empty
    ) as emulator:
        assert emulator.stdout is not None
        told = json.loads(emulator.stdout.readline())
        emulator.terminate()
    assert told["kind"] == "acme_scale"
    assert told["pty"].startswith("/dev/")
