"""Arms drawn at random with files that are wrong: bounds of the real ones hold. More by benchmarks/unseen_arms.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_plausible_on_arms_that_nobody_has_met() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "unseen_arms.py"), "--arms", "4", "--first", "101"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2000:]
