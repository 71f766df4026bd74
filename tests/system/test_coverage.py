"""A few seeded sessions: intervals hold what they promise. The whole campaign is benchmarks/coverage.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("rig", "sessions", "files"),
    [
        ("sim_wam7", 6, ["drawn", "heavy", "shifted"]),  # what the robot's file knows, on the same recordings
        ("sim_wam7_lossy", 3, ["drawn"]),
        ("sim_panda", 3, ["drawn", "spread", "thin"]),
        ("payload", 6, ["drawn"]),
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
