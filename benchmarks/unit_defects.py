"""Defects of units, signs, order and frames, each at three severities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from log_defect import Case, column, defect, scaled, without

from heft.identify import Robot
from heft.identify.diagnosis.log import Log


@defect("positions in degrees", "angle_unit", curable=True)
def _degrees(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    log = (log, scaled(log, dq=180 / np.pi), without(log, "dq"))[s]
    return scaled(log, q=180 / np.pi), robot


@defect("positions converted twice", "angle_unit", curable=True)
def _twice(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    log = (log, log, without(log, "dq"))[s]
    return scaled(log, q=np.pi / 180), robot


@defect("one joint in degrees", "angle_unit", "gear_ratio", curable=True, joint=3)
def _degree_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return column(log, "q", 3, lambda x: x * 180 / np.pi), robot


@defect("positions that start anew after a turn", "angle_wrap", curable=True)
def _anew(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    joints = np.argsort(np.ptp(log.tables["q"].values, axis=0))[::-1][: (1, 3, log.n)[s]]
    for j in joints:
        log = column(log, "q", int(j), lambda x: (x - np.median(x)) % (2 * np.pi) + np.median(x))
    return log, robot


@defect("velocities in degrees", "velocity_unit", curable=True)
def _velocity(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, dq=180 / np.pi), robot


@defect("velocities in rpm", "velocity_unit", curable=True)
def _rpm(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, dq=60 / (2 * np.pi)), robot


@defect("velocities of the motors", "gear_ratio", "velocity_unit", curable=True)
def _motor_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = np.ones(log.n)
    gear[: (1, 3, log.n)[s]] = np.linspace(60, 120, log.n)[: (1, 3, log.n)[s]]
    return scaled(log, dq=gear), robot


@defect("positions of the motors", "gear_ratio", "angle_unit", curable=True)
def _motor_q(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = np.ones(log.n)
    gear[: (1, 3, log.n)[s]] = np.linspace(60, 120, log.n)[: (1, 3, log.n)[s]]
    return scaled(log, q=gear), robot


@defect("torque in N mm", "torque_unit", curable=True)
def _mm(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, tau=1e3), robot


@defect("torque scale", "torque_scale", "torque_unit", curable=True)
def _gain(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, tau=(1.3, 2.0, 8.0)[s]), robot


@defect("torque scale of one joint", "torque_scale", "gear_ratio", curable=True, joint=1)
def _gain_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return column(log, "tau", 1, lambda x: x * (1.6, 3.0, 8.0)[s]), robot


@defect("missing gear ratio", "gear_ratio", "torque_scale", curable=True, joint=3)
def _gearless(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = abs(float(robot.gear[3])) if abs(float(robot.gear[3])) > 1.5 else 50.0
    return column(log, "tau", 3, lambda x: x / gear), robot


@defect("torque sign", "torque_sign", curable=True)
def _sign(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, tau=-1.0), robot


@defect("torque sign of one joint", "torque_sign", curable=True)
def _sign_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return column(log, "tau", (4, 3, 1)[s], lambda x: -x), robot


@defect("gravity elsewhere", "gravity_direction", curable=True)
def _gravity(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    a = np.radians((20.0, 90.0, 180.0)[s])
    turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    return log, replace(robot, tree=replace(robot.tree, gravity=turn @ robot.gravity))


def _swapped(log: Log, keys: tuple[str, ...], i: int, j: int) -> Log:
    order = np.arange(log.n)
    order[[i, j]] = j, i
    return log.with_values(**{key: log.tables[key].values[:, order] for key in keys if key in log.tables})


PAIRS = ((-3, -2), (2, 4), (1, 3))


@defect("torques exchanged", "joint_order", curable=True)
def _order_tau(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _swapped(log, ("tau",), *PAIRS[s]), robot


@defect("positions exchanged", "joint_order", curable=True)
def _order_q(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _swapped(log, ("q", "dq"), *PAIRS[s]), robot


@defect("columns exchanged", "joint_order", curable=True)
def _order(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _swapped(log, ("q", "dq", "tau"), *PAIRS[s]), robot


@defect("velocities exchanged", "joint_order", curable=True)
def _order_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _swapped(log, ("dq",), *PAIRS[s]), robot


@defect("joint offset", "joint_offset", curable=True, joint=1)
def _offset(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return column(log, "q", 1, lambda x: x + np.radians((6.0, 20.0, 60.0)[s])), robot


@defect("wrench sign", "wrench_sign", curable=True)
def _wrench_sign(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return scaled(log, wrench=-1.0), robot


@defect("wrench turned", "wrench_frame", curable=True)
def _wrench_turn(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    a = np.radians((12.0, 45.0, 120.0)[s])
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    w = log.tables["wrench"].values
    return log.with_values(wrench=np.concatenate([w[:, :3] @ turn.T, w[:, 3:] @ turn.T], axis=1)), robot
