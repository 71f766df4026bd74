"""A few random design requests, judged by MuJoCo: each ends in a motion that keeps everything, or names what binds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_random_requests_end_well() -> None:
    asked = [sys.executable, "benchmarks/excitation.py", "--requests", "4", "--budget", "8"]
    ended = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert ended.returncode == 0, ended.stderr
    summary = ended.stdout.splitlines()[-1]
    assert "in between" not in summary, ended.stdout
    assert "does not bind" not in summary, ended.stdout
    assert "names no bound" not in summary, ended.stdout
