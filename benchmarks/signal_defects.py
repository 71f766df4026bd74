"""Defects of what was measured, each at three severities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from log_defect import Array, Case, column, computed, defect, least_squares
from scipy.signal import butter, lfilter

from heft.identify import Robot
from heft.identify.diagnosis.log import Log


@defect("dead torque column", "dead_column", joint=2)
def _dead(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    scale = float(np.std(log.tables["tau"].values[:, 2]))
    noise = (0.05, 0.001, 0.0)[s] * scale
    return column(log, "tau", 2, lambda x: noise * rng.standard_normal(len(x))), robot


@defect("clipped torques", "saturation", joint=1)
def _clipped(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    top = float(np.quantile(np.abs(log.tables["tau"].values[:, 1]), (0.99, 0.95, 0.75)[s]))
    return column(log, "tau", 1, lambda x: np.clip(x, -top, top)), robot


@defect("coarse torques", "quantisation")
def _coarse(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = log.tables["tau"].values
    step = (0.2, 0.5, 1.5)[s] * tau.std(axis=0)
    return log.with_values(tau=np.round(tau / step) * step), robot


@defect("coarse positions", "quantisation")
def _coarse_q(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    step = 2 * np.pi / 2 ** (12, 10, 8)[s]
    return log.with_values(q=np.round(log.tables["q"].values / step) * step), robot


@defect("spikes", "spikes", "garbage_rows")
def _spikes(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def change(x: Array) -> Array:
        x = x.copy()
        at = rng.choice(len(x), int(len(x) * (0.0005, 0.003, 0.02)[s]), replace=False)
        x[at] += rng.choice([-1.0, 1.0], len(at)) * (1 + rng.random(len(at))) * np.ptp(x)
        return x

    return column(log, "tau", 2, change), robot


@defect("garbage rows", "garbage_rows")
def _garbage(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tables = {}
    at = rng.choice(len(log.tables["q"]) - 1, (2, 20, 400)[s], replace=False)
    for key in ("q", "dq", "tau"):
        values = log.tables[key].values.copy()
        rows = at[at < len(values)]
        values[rows] = np.where(rng.random((len(rows), 1)) < 0.5, np.nan, 1e18)
        tables[key] = replace(log.tables[key], values=values)
    return log.with_tables(**tables), robot


@defect("rows of zeros", "garbage_rows")
def _zeros(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    at = rng.choice(len(log.tables["q"]) - 1, (2, 20, 400)[s], replace=False)
    tables = {}
    for key in ("q", "dq", "tau"):
        values = log.tables[key].values.copy()
        values[at[at < len(values)]] = 0.0
        tables[key] = replace(log.tables[key], values=values)
    return log.with_tables(**tables), robot


@defect("torques of a model", "model_output")
def _model(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = computed(log, robot)[3]
    noise = (0.01, 0.003, 0.0)[s] * tau.std(axis=0) * rng.standard_normal(tau.shape)
    return log.with_tables(tau=replace(log.tables["q"], values=tau + noise, stream="torque")), robot


@defect("gravity compensated", "gravity_compensated_effort")
def _compensated(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    smooth = computed(log, robot)[0]
    still = np.zeros_like(smooth)
    assert robot.prior is not None
    rigid = robot.prior.copy()
    rigid[10 * len(robot.links) :] = 0.0
    weight = robot.torque(smooth, still, still, rigid)
    tau, q = log.tables["tau"], log.tables["q"]
    there = np.stack([np.interp(tau.t, q.t, column) for column in weight.T], axis=1)
    return log.with_values(tau=tau.values - (0.9, 0.97, 1.0)[s] * there), robot


@defect("smoothed", "smoothed_before_recording")
def _smoothed(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    b, a = butter(2, (0.5, 0.2, 0.05)[s])
    return log.with_values(tau=lfilter(b, a, log.tables["tau"].values, axis=0)), robot


@defect("contact", "contact")
def _contact(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = log.tables["tau"]
    pulse = np.exp(-(((tau.t - tau.t[0] - 11.3) / 0.25) ** 2))[:, None]
    return log.with_values(tau=tau.values + (0.3, 0.6, 2.0)[s] * tau.values.std(axis=0) * pulse), robot


def _coulomb(log: Log, robot: Robot) -> Array:
    """Coulomb friction of each joint [N m]."""
    known = dict(zip(robot.parameter_names, least_squares(log, robot), strict=True))
    return np.array([abs(known.get(f"{joint}.coulomb", 0.0)) for joint in robot.joints])


@defect("friction drifts", "friction_drift")
def _friction(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau, dq = log.tables["tau"], log.tables["dq"]
    u = (tau.t - tau.t[0]) / np.ptp(tau.t)
    speed = np.stack([np.interp(tau.t, dq.t, column) for column in dq.values.T], axis=1)
    rub = _coulomb(log, robot)
    return log.with_values(
        tau=tau.values - (0.3, 0.6, 1.0)[s] * u[:, None] * rub * np.tanh(speed / 0.05)
    ), robot


@defect("bias drifts", "bias_drift", joint=1)
def _bias(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = log.tables["tau"]
    u = (tau.t - tau.t[0]) / np.ptp(tau.t)
    return column(log, "tau", 1, lambda x: x + (0.06, 0.2, 1.0)[s] * x.std() * u), robot
