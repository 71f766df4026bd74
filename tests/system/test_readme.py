"""What the README tells a new user to type does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:45])
    assert "make run" in first_screen
    assert "make test" in first_screen


def test_every_linked_page_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), f"README links {target}"


@pytest.mark.slow
def test_the_three_uses(tmp_path: Path) -> None:
    """Every `heft` command that stands in a block of its own, one after the other, as fast as it goes."""
    commands = [
        line.split() for block in blocks("") for line in block.splitlines() if line.startswith("heft ")
    ]
    assert {command[1] for command in commands} == {"run", "replay", "compare", "payload"}
    for _, name, *arguments in commands:
        if name in ("run", "replay"):
            arguments = [a for a in arguments if a not in ("--speed", "5", "max")] + ["--speed", "max"]
        done = subprocess.run(
            [sys.executable, "-m", "heft.main", name, *arguments],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (name, arguments, done.stderr)
    panda, again = (tmp_path / folder / "result.json" for folder in ("panda", "again"))
    assert panda.read_bytes() == again.read_bytes()


@pytest.mark.slow
@pytest.mark.alone
def test_make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make run`: exit 0, nothing lost, everything where the README says; and the library's example runs on it."""
    sessions = ROOT / "sessions"
    before = set(sessions.glob("*")) if sessions.exists() else set()
    done = subprocess.run(
        ["make", "run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "NO_COLOR": "1"},
    )
    (made,) = set(sessions.glob("*")) - before
    try:
        assert done.returncode == 0, done.stderr
        assert "\nlost 0\n" in done.stdout
        assert {"wam7_excitation.mcap", "wam7_excitation.truth.json", "result.json", "report.html"} <= {
            path.name for path in made.iterdir()
        }
        assert json.loads((made / "result.json").read_text())["rank"] == 69
        shutil.copy(made / "wam7_excitation.mcap", tmp_path / "session.mcap")
        monkeypatch.chdir(tmp_path)
        for example in blocks("python"):
            exec(compile(example, "README.md", "exec"), {})
    finally:
        shutil.rmtree(made)
