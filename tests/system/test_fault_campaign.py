"""Ten faults of the campaign, which is benchmarks/faults.py: nothing missed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SIDE_BY_SIDE = [
    "every device lossy",
    "a sensor falls silent",
    "another fault while stopping",
    "a drive fault",
    "disk full",
    "a recording with flipped bits",
    "a hostile model",
]
ALONE = [
    "a fault in one drive",
    "a silent sensor line",
    "the same --out twice",
]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(SIDE_BY_SIDE, id="simulated"),
        pytest.param(ALONE, id="in real time", marks=pytest.mark.alone),
    ],
)
def test_nothing_is_missed(faults: list[str]) -> None:
    script = str(ROOT / "benchmarks" / "faults.py")
    ran = subprocess.run(
        [sys.executable, script, "--seeds", "1", "--workers", "1", "--only", *faults],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    assert f"{len(faults)} runs" in ran.stdout
