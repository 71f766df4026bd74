"""Sessions of the direct-drive arm, written straight into recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.robot import Robot

DAY_NS = 86_400_000_000_000
FIRST_NS = 1_780_000_000_000_000_000


@pytest.fixture(scope="session")
def robot() -> Robot:
    return Robot.load(CONFIGS / "robots" / "ddarm.yaml")


@pytest.fixture(scope="session")
def session_of(robot: Robot) -> Callable[..., WholeSession]:
    def make(night: int, arm: str = "arm1", seconds: float = 8.0, offset: float = 0.0) -> WholeSession:
        assert robot.prior is not None
        own = np.array([offset if name.endswith(".offset") else 0.0 for name in robot.parameter_names])
        return WholeSession(
            robot,
            arm,
            robot.prior + own,
            FIRST_NS + night * DAY_NS,
            seconds,
            temperature=np.full(len(robot.joints), 300.0 + night),
            seed=night,
            motion_seed=night,
            delay_s=0.0004 * night,
        )

    return make


@pytest.fixture(scope="session")
def recordings(
    session_of: Callable[..., WholeSession], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """Four sessions of one arm: other motion, noise, offsets and delays."""
    folder = tmp_path_factory.mktemp("recordings")
    return [session_of(i, offset=0.2 * i).write(folder / f"night{i}.mcap") for i in range(4)]
