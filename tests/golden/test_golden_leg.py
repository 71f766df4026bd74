"""001's protocol on a leg with a sensor inside it: minimum-jerk moves between random postures, slow to fast."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.bodies import transform
from heft.identify.bodies.consistency import consistency
from heft.identify.fit import Signals
from heft.identify.robot.base import base_parameters

LEG = Path(__file__).parents[2] / "configs" / "robots" / "leg.yaml"
EACH_S = (10.0, 5.0, 2.0, 1.0, 0.5)
SECONDS, RATE_HZ = 60.0, 200.0
INERTIA = ("xx", "xy", "yy", "xz", "yz", "zz")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(LEG)


@pytest.fixture(scope="module")
def truth(robot: Robot) -> np.ndarray:
    """A leg that is about 20 % heavier or lighter in each link than its file, and its centres moved by 5 mm."""
    rng = np.random.default_rng(4)
    assert robot.prior is not None
    links = robot.prior[: 10 * len(robot.links)].reshape(-1, 10)
    moved = [
        transform(ten * np.exp(0.2 * rng.normal()), np.eye(3), 0.005 * rng.normal(size=3)) for ten in links
    ]
    return np.concatenate(moved)


def postures(robot: Robot, each_s: float, seed: int) -> tuple[np.ndarray, ...]:
    """Times, positions, velocities and accelerations of minimum-jerk moves between random postures."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, SECONDS, 1 / RATE_HZ)
    assert robot.limits is not None
    low, high = robot.limits.position.T
    middle, half = (low + high) / 2, 0.4 * (high - low)
    points = middle + half * rng.uniform(-1, 1, (int(SECONDS / each_s) + 2, len(middle)))
    number = np.minimum((t / each_s).astype(int), len(points) - 2)
    s = (t / each_s - number)[:, None]
    way = points[number + 1] - points[number]
    q = points[number] + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
    dq = way * (30 * s**2 - 60 * s**3 + 30 * s**4) / each_s
    ddq = way * (60 * s - 180 * s**2 + 120 * s**3) / each_s**2
    return t, q, dq, ddq


def recorded(robot: Robot, truth: np.ndarray, each_s: float) -> Dataset:
    t, q, dq, ddq = postures(robot, each_s, int(10 * each_s))
    rng = np.random.default_rng(int(100 * each_s))
    felt = robot.measuring(("thigh",))
    bias = np.array([1.0, -0.5, 0.8, 0.05, 0.02, -0.04])
    parameters = np.append(truth, np.stack([bias, np.zeros(6)], axis=1))  # the sensor's, and no drift of it
    wrench = felt.regressor.torque(q, dq, ddq, parameters)[:, -6:]
    wrench += rng.normal(size=wrench.shape) * np.array([0.1] * 3 + [0.005] * 3)
    return Dataset.from_arrays(t, q + 5e-6 * rng.normal(size=q.shape), wrenches={"thigh": wrench})


@pytest.fixture(scope="module")
def results(robot: Robot, truth: np.ndarray) -> dict[tuple[float, str], Result]:
    found = {}
    for each_s in EACH_S:
        data = recorded(robot, truth, each_s)
        for method in ("ols", "manifold", "sdp"):
            found[each_s, method] = fit(robot, data, method, cutoff_hz=10.0, signals=Signals(delay_s=0.0))
    return found


def impossible(result: Result) -> int:
    return sum(not consistency(link.ten, "full").ok for link in result.parameters.links)


@pytest.mark.slow
def test_least_squares_is_inconsistent_when_slow_and_the_others_never(
    results: dict[tuple[float, str], Result],
) -> None:
    for each_s in EACH_S:
        if each_s >= 5.0:
            assert impossible(results[each_s, "ols"]) > 0, each_s
        for method in ("manifold", "sdp"):
            assert impossible(results[each_s, method]) == 0, (each_s, method)


@pytest.mark.slow
def test_inertia_is_found_when_fast(
    robot: Robot, truth: np.ndarray, results: dict[tuple[float, str], Result]
) -> None:
    """At one and at half a second a posture the inertias lie within their intervals, far narrower ones than at ten."""
    base = base_parameters(robot.measuring(("thigh",)))
    count = len(truth)
    own = [
        i
        for i, k in enumerate(base.independent)
        if k < count and base.parameters[k].rpartition(".")[2] in INERTIA
    ]
    real = base.matrix[own][:, :count] @ truth
    for method in ("manifold", "sdp"):
        for each_s in (1.0, 0.5):
            fast = results[each_s, method].base
            inside = np.abs(fast.values[own] - real) <= 2.0 * fast.std[own] + 1e-9
            assert inside.mean() >= 0.85, (method, each_s)
        slow = results[10.0, method].base
        assert np.median(slow.std[own] / fast.std[own]) > 10
