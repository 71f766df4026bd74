"""The regressor rounds alike where it has just been compiled and where its code comes from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib
import numpy as np
from heft.identify import Robot
from heft.identify.bodies.arrays import frozen

robot = Robot.load("configs/robots/wam7.yaml")
rng = np.random.default_rng(0)
motion = [rng.normal(size=(7, 500)) for _ in range(4)]
rows = np.zeros((100, robot.regressor.layout.width))
robot.regressor.decimate(*motion, frozen(np.hanning(81)), 4, 0, rows)
print(hashlib.sha256(rows.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiled_now_or_before_it_gives_the_same_bits(tmp_path: Path) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[4],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
        ).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
