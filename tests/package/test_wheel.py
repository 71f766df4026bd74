"""What an installer gets: everything that is needed, nothing at the top level but `heft`, in any directory."""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("package"),  # the tests share one wheel; build it once
]

ROOT = Path(__file__).parents[2]
#: In the tree, but not in the package.
ASIDE = {".pyc", ".nbc", ".nbi"}
TOP_LEVEL = """
import json
from importlib.metadata import distribution
heft = distribution("heft")
top = {file.parts[0] for file in heft.files} - {".."}
print(json.dumps([sorted(top - {f"heft-{heft.version}.dist-info"}), heft.read_text("top_level.txt").split()]))
"""


@pytest.fixture(scope="module")
def beside_pre_commit(new_environment: Callable[..., Any]) -> Any:
    """An environment that has pre-commit, too: it depends on the package `identify` of PyPI."""
    return new_environment(Path(sys.executable), "pre-commit")


def in_tree() -> set[str]:
    """All files of the package, through the links."""
    files = set()
    for folder, _, names in os.walk(ROOT / "heft", followlinks=True):
        files |= {(Path(folder) / name).relative_to(ROOT).as_posix() for name in names}
    return {name for name in files if Path(name).suffix not in ASIDE}


def test_everything_is_inside_and_nothing_else(distribution: Any) -> None:
    with zipfile.ZipFile(distribution.wheel) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == in_tree()


def test_the_source_distribution_has_files_instead_of_links(distribution: Any) -> None:
    with tarfile.open(distribution.source) as archive:
        members = archive.getmembers()
    assert [member.name for member in members if member.issym() or member.islnk()] == []
    inside = {member.name.partition("/")[2] for member in members if member.isfile()}
    assert in_tree() <= inside


def test_the_build_warns_of_nothing(distribution: Any) -> None:
    said = distribution.log.lower().splitlines()
    assert [line for line in said if re.search(r"\bwarning\b|deprecat", line)] == []


def test_no_top_level_package_but_heft(beside_pre_commit: Any) -> None:
    assert json.loads(beside_pre_commit.run("python", "-c", TOP_LEVEL).stdout) == [["heft"], ["heft"]]


def test_pre_commit_keeps_its_identify(beside_pre_commit: Any) -> None:
    assert beside_pre_commit.run("pre-commit", "--version").stdout.startswith("pre-commit ")
    code = "from identify import identify; print(identify.tags_from_filename('a.py'))"
    assert "python" in beside_pre_commit.run("python", "-c", code).stdout


def test_the_public_interface(beside_pre_commit: Any) -> None:
    beside_pre_commit.run("python", "-W", "error", "-c", "from heft import Robot, Dataset, fit")
    code = "from heft import Robot; print(Robot.load('configs/robots/wam7.yaml').name)"
    assert beside_pre_commit.run("python", "-c", code).stdout == "wam7\n"
    version = beside_pre_commit.run("python", "-m", "heft", "--version").stdout
    assert version == beside_pre_commit.run("heft", "--version").stdout
    assert version.startswith("heft ")


def test_the_default_session_in_an_empty_directory(beside_pre_commit: Any) -> None:
    report = json.loads(beside_pre_commit.run("heft", "run", "--speed", "max", "--json").stdout)
    assert report["lost"] == 0
    assert report["identification"]["consistent"] is True
    (out,) = (beside_pre_commit.empty / "sessions").iterdir()
    assert {"result.json", "report.html"} <= {path.name for path in out.iterdir()}
