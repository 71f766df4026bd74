"""Mutated inputs through every reader of files and messages: refused as declared, nothing written elsewhere."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
#: For each reader; all ten side by side in two processes take some 100 s.
SECONDS = 20.0


WATCHED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import fuzz
folder = Path(sys.argv[2]).resolve() / "folder"
folder.mkdir()
fuzz.MOST_CPU_S = 0.2
guard = fuzz.Guard(folder)
with guard:
    (folder / "a").write_text("inside")
print("inside")
try:
    with guard:
        try:
            (folder.parent / "b").write_text("outside")
        except Exception:
            pass
except fuzz.BrokenPromise:
    print("outside" if not (folder.parent / "b").exists() else "written")
try:
    with guard:
        while True:
            pass
except fuzz.BrokenPromise:
    print("slow")
"""


def fuzzer() -> ModuleType:
    """`benchmarks/fuzz.py`, under a name that the processes it starts can import."""
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("fuzz")


@pytest.mark.parametrize(
    "path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_what_once_broke_a_reader_is_refused(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fuzz = fuzzer()
    taken = fuzz.replay(path.parent.name, path.read_bytes(), folder)
    assert not taken or not fuzz.READERS[path.parent.name].errors
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", sorted(fuzzer().READERS))
def test_every_reader_takes_what_is_valid(name: str, tmp_path: Path) -> None:
    fuzz = fuzzer()
    assert fuzz.replay(name, fuzz.READERS[name].valid(), tmp_path)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_every_reader_for_a_while() -> None:
    fuzz = fuzzer()
    outcomes = fuzz.run(tuple(fuzz.READERS), inputs=400, seconds=SECONDS, seed=7)
    assert [one.fault for one in outcomes if one.fault] == []
    assert all(one.inputs > 0 for one in outcomes)


def test_what_no_reader_may_do_is_noticed(tmp_path: Path) -> None:
    """In a process of its own, since a watch cannot be taken off again."""
    said = subprocess.run(
        [sys.executable, "-c", WATCHED, str(ROOT / "benchmarks"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["inside", "outside", "slow"]
