"""A three-joint arm that moves for half a minute, and what is identified from it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.bodies import grid, mass_point_matrix
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout

ROWS = (
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.3, "theta": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.0, "theta": 0.0},
    {"alpha": np.pi / 2, "a": 0.05, "d": 0.0, "theta": 0.0},
)
NOISE = 0.05  # [N m]


@dataclass(frozen=True)
class Bench:
    robot: Robot
    truth: Array

    def dataset(
        self, seed: int, noise: float = NOISE, seconds: float = 30.0, rate_hz: float = 200.0
    ) -> Dataset:
        """A motion of five harmonics of 0.1 Hz, with torques of the true parameters and white noise [N m]."""
        rng = np.random.default_rng(seed)
        t = np.arange(0, seconds, 1 / rate_hz)
        q, dq, ddq = np.zeros((3, len(t), 3))
        for k in range(1, 6):
            w = 2 * np.pi * k / 10
            a, b = rng.normal(size=(2, 3)) / k
            sine, cosine = np.sin(w * t), np.cos(w * t)
            q += np.outer(sine, a) + np.outer(cosine, b)
            dq += w * (np.outer(cosine, a) - np.outer(sine, b))
            ddq -= w**2 * (np.outer(sine, a) + np.outer(cosine, b))
        tau = self.robot.torque(q, dq, ddq, self.truth)
        return Dataset.from_arrays(t, q, tau + noise * rng.normal(size=tau.shape))


@pytest.fixture(scope="session")
def bench() -> Bench:
    plain = Robot.from_dh(ROWS)
    rng = np.random.default_rng(11)
    values: dict[str, Array | float] = {}
    boxes = {}
    for link in plain.links:
        low = rng.uniform(-0.2, 0.0, 3)
        boxes[link] = np.array([low, low + rng.uniform(0.1, 0.3, 3)])
        shares = rng.uniform(0.2, 1.0, 27)
        values[link] = mass_point_matrix(grid(*boxes[link])) @ (4.0 * shares / shares.sum())
    for joint in plain.joints:
        values |= {f"{joint}.drive_inertia": 0.1, f"{joint}.viscous": 0.8, f"{joint}.coulomb": 0.6}
        values[f"{joint}.offset"] = 0.1
    truth = Layout(plain.parameter_names).pack(values)
    return Bench(replace(plain, prior=truth, boxes=boxes, total_mass=(8.0, 16.0)), truth)


@pytest.fixture(scope="session")
def result(bench: Bench) -> Result:
    return fit(bench.robot, bench.dataset(1), cutoff_hz=5.0, validate=bench.dataset(2))
