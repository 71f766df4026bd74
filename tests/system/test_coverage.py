"""A dozen seeded sessions: intervals hold what they promise. The whole campaign is benchmarks/coverage.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


FILES = ["drawn", "thin", "heavy", "shifted"]  # what is known beforehand, on the same recordings


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("rig", "sessions", "files"),
    [
        ("sim_wam7", 12, FILES),
        ("sim_wam7_lossy", 6, FILES[:1]),
        ("sim_panda", 6, ["drawn", "spread", "thin"]),
        ("payload", 12, FILES[:1]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_intervals_cover_the_truth(rig: str, sessions: int, files: list[str], tmp_path: Path) -> None:
    script = str(ROOT / "benchmarks" / "coverage.py")
    command = [sys.executable, script, "--sessions", str(sessions), "--rigs", rig, "--keep", str(tmp_path)]
    ran = subprocess.run(
        [*command, "--file", *files],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2000:]
