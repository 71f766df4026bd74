"""Compiled functions are kept on the disk, and made anew where a file of theirs was cut off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from heft.identify.bodies.compiled import compiled

@compiled()
def twice(x):
    return 2.0 * x

print(twice(21.0), sum(twice.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(("suffix", "keep"), [("nbi", 0), ("nbc", 20)])
def test_a_cache_that_was_cut_off_is_made_anew(tmp_path: Path, suffix: str, keep: int) -> None:
    module = tmp_path / "module.py"
    module.write_text(MODULE, encoding="utf-8")

    def run() -> str:
        done = subprocess.run(
            [sys.executable, str(module)],
            capture_output=True,
            text=True,
            env={"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run() == "42.0 0"
    assert run() == "42.0 1"  # it is kept
    (file,) = (tmp_path / "cache").rglob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[:keep])
    assert run() == "42.0 0"
    assert run() == "42.0 1"  # and mended


def test_a_function_is_made_anew_where_another_file_that_it_holds_has_changed(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    text = """
from heft.identify.bodies.compiled import compiled

@compiled(forceinline=True)
def inner(x):
    return FACTOR * x
"""
    outer.write_text(
        """
from heft.identify.bodies.compiled import compiled
import inner as module
from inner import inner

@compiled(inlined=(module.__file__,))
def outer(x):
    return inner(x)

print(outer(21.0), sum(outer.stats.cache_hits.values()))
""",
        encoding="utf-8",
    )

    def run(factor: str) -> str:
        inner.write_text(text.replace("FACTOR", factor), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-B", str(outer)],
            capture_output=True,
            text=True,
            env={"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("2.0") == "42.0 0"
    assert run("3.00") == "63.0 0"
