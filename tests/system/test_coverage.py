"""A dozen seeded sessions: intervals hold what they promise. The whole campaign is benchmarks/coverage.py."""

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
    ("rig", "sessions"), [("sim_wam7", 12), ("sim_wam7_lossy", 6), ("sim_panda", 6), ("payload", 12)]
)
def test_intervals_cover_the_truth(rig: str, sessions: int) -> None:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "coverage.py"),
        "--sessions",
        str(sessions),
        "--rigs",
        rig,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2000:]
