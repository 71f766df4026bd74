"""Defects of the motion and of the robot's model, each at three severities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from log_defect import Array, Case, computed, defect, least_squares

from heft.identify import Robot
from heft.identify.diagnosis.log import Log


def _moved(log: Log, robot: Robot, q: Array, t: Array, rng: np.random.Generator) -> Log:
    """Other motion of the same arm: torques of its file, with the friction and the noise of the log."""
    dq = np.gradient(q, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    tau = robot.torque(q, dq, ddq, _rubbing(log, robot))
    size = 0.02 * log.tables["tau"].values.std(axis=0)
    tau = tau + size * rng.standard_normal(tau.shape)
    fine = q + 1e-5 * rng.standard_normal(q.shape)
    return Log.of_arrays(t, fine, tau, dq + 1e-3 * rng.standard_normal(dq.shape), joints=log.joints)


def _rubbing(log: Log, robot: Robot) -> Array:
    """Parameters of the file, with friction as least squares of the healthy log have it: files seldom tell it."""
    assert robot.prior is not None
    values, fitted = robot.prior.copy(), least_squares(log, robot)
    for i, name in enumerate(robot.parameter_names):
        if i >= 10 * len(robot.links) and not name.endswith(".drive_inertia"):
            values[i] = fitted[i]
    return values


@defect("an axis that does not move", "unexcited_axis", joint=3)
def _still(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = computed(log, robot)[0].copy()
    q[:, 3] = q[:, 3].mean() + (0.03, 0.005, 0.0)[s] * (q[:, 3] - q[:, 3].mean())
    return _moved(log, robot, q, log.tables["q"].t, rng), robot


@defect("axes in step", "synchronous_axes")
def _step(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = computed(log, robot)[0].copy()
    one = q[:, 1] - q[:, 1].mean()
    for j in range(2, (3, 5, log.n)[s]):
        q[:, j] = q[:, j].mean() + one * (0.5 + 0.1 * j)
    return _moved(log, robot, q, log.tables["q"].t, rng), robot


@defect("slow motion", "slow_motion")
def _slow_motion(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    t = log.tables["q"].t * (5.0, 10.0, 30.0)[s]
    return _moved(log, robot, computed(log, robot)[0], t, rng), robot


@defect("a motion that shows little", "unidentifiable")
def _little(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = computed(log, robot)[0].copy()
    for j in range((2, 4, log.n)[s]):
        q[:, j] = q[:, j].mean() + 0.08 * (q[:, j] - q[:, j].mean())
    return _moved(log, robot, q, log.tables["q"].t, rng), robot


@defect("another length of a link", "model_kinematics", "joint_offset")
def _length(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    places = np.array(robot.tree.joint_in_parent, dtype=np.float64)
    a = np.radians((10.0, 30.0, 90.0)[s])
    turn = np.eye(4)
    turn[:3, :3] = [[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]]
    places[2] = places[2] @ turn
    return log, replace(robot, tree=replace(robot.tree, joint_in_parent=places))


@defect("an impossible link", "model_inconsistent")
def _impossible(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    assert robot.prior is not None
    prior = robot.prior.copy()
    ten = prior[20:30]
    ten[[4, 6, 9]] = [(ten[6] + ten[9]) * (1.1, 2.0, 10.0)[s], ten[6], ten[9]]
    return log, replace(robot, prior=prior)
