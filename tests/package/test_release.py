"""What a release is made with: the lock file, the audit, the list of what is in it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_is_locked_by_version_and_digest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[\[<>=!~; ]", text, maxsplit=1)[0].lower() for text in project["dependencies"]}
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    locked = {block.partition("==")[0].lower() for block in blocks}
    assert wanted <= locked, ".ci/lock makes it anew"
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)


def test_the_lock_file_names_no_place() -> None:
    assert not re.search(r"https?:|file:|/|@|index-url", LOCK)


def test_the_list_of_parts_holds_all_that_is_locked() -> None:
    document = script("sbom").sbom(LOCK, "1.2.3")
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    names = [component["name"] for component in document["components"]]
    assert len(names) == len(re.findall(r"^\S+==", LOCK, re.M))
    assert "numpy" in names
    assert all(component["hashes"] for component in document["components"])
    assert document == script("sbom").sbom(LOCK, "1.2.3")
    assert json.loads(json.dumps(document)) == document


FOUND = {"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}
NONE = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
SKIPPED = {"dependencies": [{"name": "a", "skip_reason": "not found"}]}


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (json.dumps(FOUND), 1, "a 1: X-1; mended in: 2"),
        (json.dumps(NONE), 0, "1 packages, 0 known holes"),
        ("", 4, "audit: not done"),
        (json.dumps(SKIPPED), 4, "1 could not be looked up"),
    ],
)
def test_the_audit_says_what_it_found_or_that_it_could_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str, code: int, said: str
) -> None:
    stand_in = tmp_path / "audit.py"
    stand_in.write_text(f"print({answer!r})", encoding="utf-8")
    assert script("audit").audit(command=(sys.executable, str(stand_in))) == code
    told = capsys.readouterr()
    assert said in told.out + told.err


def test_an_audit_that_cannot_be_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert script("audit").audit(command=("no-such-program",)) == 4
    assert "not done" in capsys.readouterr().err
