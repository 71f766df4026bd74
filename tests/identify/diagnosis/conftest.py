"""A healthy log of the WAM, computed from its file: motion, friction, noise and steps of encoders."""

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot
from heft.identify.diagnosis.log import Log

CONFIGS = Path(__file__).parents[3] / "configs"
RATE, SECONDS = 250.0, 20.0


@pytest.fixture(scope="session")
def wam7() -> Robot:
    return Robot.load(CONFIGS / "robots" / "wam7.yaml")


def healthy_log(robot: Robot, seed: int = 0) -> Log:
    """Motion as in the default session; masses some percent off the file, noise of 2 % on torques."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, SECONDS, 1 / RATE)
    n = len(robot.joints)
    assert robot.limits is not None
    assert robot.prior is not None
    low, high = robot.limits.position.T
    k = np.arange(1, 6)[:, None] * 2 * np.pi / SECONDS
    a, b = rng.standard_normal((2, n, 5))
    scale = 0.3 * (high - low) / np.sqrt((a**2 + b**2).sum(axis=1) * 2)
    phase = k * t
    q = 0.5 * (low + high) + ((a @ np.sin(phase) + b @ np.cos(phase)) * scale[:, None]).T
    dq = ((a @ (k * np.cos(phase)) - b @ (k * np.sin(phase))) * scale[:, None]).T
    ddq = ((-a @ (k**2 * np.sin(phase)) - b @ (k**2 * np.cos(phase))) * scale[:, None]).T
    truth = robot.prior.copy()
    for i in range(n):
        truth[10 * i : 10 * i + 10] *= 1 + 0.03 * rng.standard_normal()
    tau = robot.torque(q, dq, ddq, truth)
    tau = tau + 0.02 * tau.std(axis=0) * rng.standard_normal(tau.shape)
    step = 2 * np.pi / 2**19
    return Log.of_arrays(
        t,
        np.round(q / step) * step,
        tau,
        dq + 1e-3 * rng.standard_normal(dq.shape),
        joints=robot.joints,
    )


@pytest.fixture(scope="session")
def healthy(wam7: Robot) -> Log:
    return healthy_log(wam7)
