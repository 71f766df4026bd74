"""A small arm with known parameters, and problems made of its motion."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from heft.identify.bodies import grid, mass_point_matrix
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

ROWS = (
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.3, "theta": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.0, "theta": 0.0},
    {"alpha": np.pi / 2, "a": 0.05, "d": 0.0, "theta": 0.0},
    {"alpha": 0.0, "a": 0.0, "d": 0.35, "theta": 0.0},
)


@dataclass(frozen=True)
class Arm:
    """Four joints; every link is made of the 27 mass points in its box, so that each method can reach the truth."""

    robot: Robot
    truth: Array
    boxes: dict[str, tuple[Array, Array]]
    regressor: Array
    torque: Array
    step_s: float = 10 / 399

    @property
    def base(self) -> Array:
        return np.asarray(base_parameters(self.robot).matrix @ self.truth)

    def reduced(
        self, torque: Array, weights: Array | None = None, samples: slice = slice(None)
    ) -> Information:
        """Factors of [Y_j tau_j] with weights (T, n) on the squares."""
        rows = np.concatenate([self.regressor, torque[:, :, None]], axis=2)[samples]
        if weights is not None:
            rows = rows * np.sqrt(weights)[samples, :, None]
        factors = np.stack([np.linalg.qr(rows[:, j], mode="r") for j in range(rows.shape[1])])
        return Information(factors, np.full(rows.shape[1], len(rows)), self.robot.parameter_names)

    def problem(self, torque: Array | None = None, **options: Any) -> Problem:
        torque = self.torque if torque is None else torque

        def reweight(weigh: Callable[[Array, Array, Array], Array], parameters: Array) -> Information:
            index = np.arange(len(torque), dtype=float)
            age = self.step_s * index[::-1]
            return self.reduced(torque, weigh(index, age, torque - self.regressor @ parameters))

        return Problem(
            options.pop("information", None) or self.reduced(torque),
            base_parameters(self.robot),
            Layout(self.robot.parameter_names),
            reweight=reweight,
            **options,
        )

    def noisy(self, share: float, seed: int = 0) -> Array:
        """The torque with noise, by joint a share of its standard deviation [N m]."""
        noise = np.random.default_rng(seed).normal(size=self.torque.shape)
        return np.asarray(self.torque + share * self.torque.std(axis=0) * noise)


@pytest.fixture(scope="session")
def arm() -> Arm:
    robot = Robot.from_dh(ROWS)
    rng = np.random.default_rng(7)
    boxes, links = {}, {}
    for i, link in enumerate(robot.links):
        centre, half = rng.uniform(-0.1, 0.1, 3), rng.uniform(0.03, 0.15, 3)
        boxes[link] = (centre - half, centre + half)
        shares = rng.uniform(0.2, 1.0, 27)
        links[link] = mass_point_matrix(grid(*boxes[link])) @ (6.0 / (i + 1) * shares / shares.sum())
    terms = {
        f"{joint}.{term}": value / (i + 1)
        for i, joint in enumerate(robot.joints)
        for term, value in {"drive_inertia": 0.2, "viscous": 1.5, "coulomb": 1.0, "offset": -0.3}.items()
    }
    truth = Layout(robot.parameter_names).pack({**links, **terms})
    time = np.linspace(0, 10, 400)
    q, dq, ddq = np.zeros((3, len(time), 4))
    for k in range(1, 6):
        w = 2 * np.pi * k / 10
        a, b = rng.normal(size=(2, 4)) / k
        q += np.outer(np.sin(w * time), a) + np.outer(np.cos(w * time), b)
        dq += w * (np.outer(np.cos(w * time), a) - np.outer(np.sin(w * time), b))
        ddq -= w**2 * (np.outer(np.sin(w * time), a) + np.outer(np.cos(w * time), b))
    regressor = robot.regressor.dense(q, dq, ddq)
    return Arm(robot, truth, boxes, regressor, np.asarray(regressor @ truth))
