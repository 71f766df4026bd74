"""A dozen faults of the campaign, which is benchmarks/faults.py: nothing missed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heft.daq.recording import Columns
from heft.drivers.stream import Column, Stream

ROOT = Path(__file__).parents[2]

SIDE_BY_SIDE = [
    "every device lossy",
    "a sensor falls silent",
    "another fault while stopping",
    "a drive fault",
    "no brakes: silent drives",
    "no brakes: two faults",
    "disk full",
    "a recording with flipped bits",
    "a hostile model",
]
ALONE = [
    "a fault in one drive",
    "a silent sensor line",
    "the same --out twice",
]


def test_samples_are_accounted_for_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the program's own sum: a stream that ends two seconds before the others has lost what nobody told."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    judge = importlib.import_module("fault_campaign.judge")
    stream = Stream("wrist.wrench", (Column("x", "force", "N"),), 1000.0)
    host_ns = np.arange(3000, dtype=np.int64) * 1_000_000
    values, validity = np.zeros((3000, 1)), np.zeros((3000, 1), np.uint8)
    columns = Columns(stream, np.arange(3000), host_ns, values, validity)
    assert judge._never_told(columns, int(host_ns[-1]) + 200_000_000, 3000) == 0
    assert judge._never_told(columns, int(host_ns[-1]) + 2_000_000_000, 3000) > 1400
    assert judge._never_told(columns, int(host_ns[-1]) + 2_000_000_000, 5000) == 0


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
