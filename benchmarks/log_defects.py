"""Defects of logs, each at three severities (0 mild, 1 moderate, 2 severe), made from a healthy one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter

from heft.identify import Robot
from heft.identify.diagnosis.log import Log, Table

__all__ = ["DEFECTS", "Defect", "defect"]

Case = tuple[Log, Robot]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Defect:
    """A name, the findings that name it, the mistake, whether a fix cures it, and joints that must be named."""

    name: str
    ids: tuple[str, ...]
    make: Callable[[Log, Robot, int, np.random.Generator], Case]
    curable: bool = False
    joint: int | None = None


DEFECTS: list[Defect] = []


def defect(
    name: str, *ids: str, curable: bool = False, joint: int | None = None
) -> Callable[[Callable[[Log, Robot, int, np.random.Generator], Case]], None]:
    """Enter a function as a defect."""

    def enter(make: Callable[[Log, Robot, int, np.random.Generator], Case]) -> None:
        DEFECTS.append(Defect(name, ids, make, curable, joint))

    return enter


def _stamped(log: Log, change: Callable[[Array], Array]) -> Log:
    return replace(log, tables={key: replace(one, t=change(one.t)) for key, one in log.tables.items()})


def _rows(log: Log, keep: NDArray[np.bool_]) -> Log:
    return replace(
        log,
        tables={
            k: replace(one, t=one.t[keep[: len(one)]], values=one.values[keep[: len(one)]], host=None)
            for k, one in log.tables.items()
        },
    )


def _column(log: Log, key: str, j: int, change: Callable[[Array], Array]) -> Log:
    values = log.tables[key].values.copy()
    values[:, j] = change(values[:, j])
    return log.with_values(**{key: values})


def _without(log: Log, *keys: str) -> Log:
    return replace(log, tables={key: one for key, one in log.tables.items() if key not in keys})


def _scaled(log: Log, **factors: float | Array) -> Log:
    return log.with_values(**{key: log.tables[key].values * factor for key, factor in factors.items()})


def _late(table: Table, late_s: float | Array) -> Array:
    return np.stack([np.interp(table.t - late_s, table.t, column) for column in table.values.T], axis=1)


@defect("rate wrong", "rate_mismatch", curable=True)
def _rate(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _stamped(log, lambda t: t * (1.02, 1.1, 2.0)[s]), robot


@defect("rate wrong, no velocities", "rate_mismatch", curable=True)
def _rate_blind(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _stamped(_without(log, "dq"), lambda t: t * (1.3, 2.0, 5.0)[s]), robot


@defect("rate too high, no velocities", "rate_mismatch", curable=True)
def _rate_high(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _stamped(_without(log, "dq"), lambda t: t / (1.3, 2.0, 5.0)[s]), robot


@defect("time in other units", "rate_mismatch", curable=True)
def _time_unit(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _stamped(log, lambda t: t * (1e3, 1e6, 1e9)[s]), robot


@defect("repeated stamps", "stamps")
def _repeated(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def change(t: Array) -> Array:
        t = t.copy()
        at = np.sort(rng.choice(len(t) - 1, int(len(t) * (0.0005, 0.005, 0.05)[s]), replace=False)) + 1
        t[at] = t[at - 1]
        return t

    return _shared(log, change), robot


def _shared(log: Log, change: Callable[[Array], Array]) -> Log:
    """The same change of stamps in every table."""
    done: dict[int, Array] = {}
    tables = {}
    for key, one in log.tables.items():
        if id(one.t) not in done:
            done[id(one.t)] = change(one.t)
        tables[key] = replace(one, t=done[id(one.t)])
    return replace(log, tables=tables)


@defect("backward stamps", "stamps")
def _backward(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def change(t: Array) -> Array:
        t = t.copy()
        at = rng.choice(len(t) - 60, (2, 20, 200)[s], replace=False) + 50
        t[at] = t[at - 40]
        return t

    return _shared(log, change), robot


@defect("stamps of arrival", "stamps")
def _arrival(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def change(t: Array) -> Array:
        step = float(np.median(np.diff(t)))
        return np.maximum.accumulate(
            t + rng.exponential((0.15, 0.3, 0.6)[s] * step, len(t)) + 1e-9 * np.arange(len(t))
        )

    return _shared(log, change), robot


@defect("lost samples", "gaps")
def _lost(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _rows(log, rng.random(max(len(one) for one in log.tables.values())) > (0.003, 0.02, 0.1)[s]), robot


@defect("a long gap", "gaps")
def _gap(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    length = int((0.12, 0.5, 3.0)[s] / log.tables["q"].step_s)
    keep = np.ones(max(len(one) for one in log.tables.values()), dtype=bool)
    keep[8000 : 8000 + length] = False
    return _rows(log, keep), robot


@defect("stale rows", "stale_rows")
def _stale(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = log.tables["q"]
    at = np.sort(rng.choice(len(q) - 8, int(len(q) * (0.003, 0.02, 0.1)[s]), replace=False)) + 4
    tables = {}
    for key, one in log.tables.items():
        values = one.values.copy()
        for i in at[at < len(values)]:
            values[i] = values[i - 1]
        tables[key] = replace(one, values=values)
    return replace(log, tables=tables), robot


def _hold(values: Array, k: int) -> Array:
    return values[np.arange(len(values)) // k * k]


@defect("held torques", "held_samples", "slow_stream")
def _held(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(tau=_hold(log.tables["tau"].values, (2, 5, 20)[s])), robot


@defect("held velocities", "held_samples", "slow_stream")
def _held_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(dq=_hold(log.tables["dq"].values, (2, 5, 20)[s])), robot


@defect("held positions", "held_samples", "slow_stream")
def _held_q(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(q=_hold(log.tables["q"].values, (2, 5, 20)[s])), robot


@defect("one held column", "held_samples", joint=1)
def _held_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _column(log, "tau", 1, lambda x: x[np.arange(len(x)) // (2, 5, 20)[s] * (2, 5, 20)[s]]), robot


@defect("slow stream, interpolated", "slow_stream")
def _slow(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    k, tau = (3, 5, 20)[s], log.tables["tau"]
    rows = np.arange(len(tau))
    knots = rows[::k]
    values = np.stack([np.interp(rows, knots, column[knots]) for column in tau.values.T], axis=1)
    return log.with_values(tau=values), robot


@defect("clock of torques drifts", "clock_drift")
def _drift(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = log.tables["tau"]
    return log.with_values(tau=_late(tau, (3e-4, 1e-3, 5e-3)[s] * (tau.t - tau.t.mean()))), robot


@defect("clock of velocities drifts", "clock_drift")
def _drift_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    dq = log.tables["dq"]
    return log.with_values(dq=_late(dq, (3e-4, 1e-3, 5e-3)[s] * (dq.t - dq.t.mean()))), robot


@defect("device and host clocks drift apart", "clock_drift")
def _two_clocks(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def clocks(one: Table) -> Table:
        return replace(one, host=one.t * (1 + (5e-4, 2e-3, 1e-2)[s]) + 1e-3 + rng.exponential(2e-4, len(one)))

    return replace(log, tables={key: clocks(one) for key, one in log.tables.items()}), robot


@defect("torques late", "stream_delay")
def _delay(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(tau=_late(log.tables["tau"], (0.006, 0.02, 0.08)[s])), robot


@defect("velocities late", "stream_delay")
def _delay_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(dq=_late(log.tables["dq"], (0.005, 0.02, 0.1)[s])), robot


@defect("positions in degrees", "angle_unit", curable=True)
def _degrees(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    log = (log, _scaled(log, dq=180 / np.pi), _without(log, "dq"))[s]
    return _scaled(log, q=180 / np.pi), robot


@defect("positions converted twice", "angle_unit", curable=True)
def _twice(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    log = (log, log, _without(log, "dq"))[s]
    return _scaled(log, q=np.pi / 180), robot


@defect("one joint in degrees", "angle_unit", "gear_ratio", curable=True, joint=3)
def _degree_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _column(log, "q", 3, lambda x: x * 180 / np.pi), robot


@defect("velocities in degrees", "velocity_unit", curable=True)
def _velocity(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, dq=180 / np.pi), robot


@defect("velocities in rpm", "velocity_unit", curable=True)
def _rpm(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, dq=60 / (2 * np.pi)), robot


@defect("velocities of the motors", "gear_ratio", "velocity_unit", curable=True)
def _motor_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = np.ones(log.n)
    gear[: (1, 3, log.n)[s]] = np.linspace(60, 120, log.n)[: (1, 3, log.n)[s]]
    return _scaled(log, dq=gear), robot


@defect("positions of the motors", "gear_ratio", "angle_unit", curable=True)
def _motor_q(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = np.ones(log.n)
    gear[: (1, 3, log.n)[s]] = np.linspace(60, 120, log.n)[: (1, 3, log.n)[s]]
    return _scaled(log, q=gear), robot


@defect("torque in N mm", "torque_unit", curable=True)
def _mm(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, tau=1e3), robot


@defect("torque scale", "torque_scale", "torque_unit", curable=True)
def _gain(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, tau=(1.3, 2.0, 8.0)[s]), robot


@defect("torque scale of one joint", "torque_scale", "gear_ratio", curable=True, joint=1)
def _gain_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _column(log, "tau", 1, lambda x: x * (1.6, 3.0, 8.0)[s]), robot


@defect("missing gear ratio", "gear_ratio", "torque_scale", curable=True, joint=3)
def _gearless(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    gear = abs(float(robot.gear[3])) if abs(float(robot.gear[3])) > 1.5 else 50.0
    return _column(log, "tau", 3, lambda x: x / gear), robot


@defect("torque sign", "torque_sign", curable=True)
def _sign(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, tau=-1.0), robot


@defect("torque sign of one joint", "torque_sign", curable=True)
def _sign_one(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _column(log, "tau", (4, 3, 1)[s], lambda x: -x), robot


@defect("gravity elsewhere", "gravity_direction", curable=True)
def _gravity(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    a = np.radians((20.0, 90.0, 180.0)[s])
    turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    return log, replace(robot, tree=replace(robot.tree, gravity=turn @ robot.gravity))


def _swapped(log: Log, keys: tuple[str, ...], i: int, j: int) -> Log:
    order = np.arange(log.n)
    order[[i, j]] = j, i
    return log.with_values(**{key: log.tables[key].values[:, order] for key in keys if key in log.tables})


PAIRS = ((4, 5), (2, 4), (1, 3))


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
    return _column(log, "q", 1, lambda x: x + np.radians((6.0, 20.0, 60.0)[s])), robot


@defect("wrench sign", "wrench_sign", curable=True)
def _wrench_sign(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return _scaled(log, wrench=-1.0), robot


@defect("wrench turned", "wrench_frame", curable=True)
def _wrench_turn(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    a = np.radians((12.0, 45.0, 120.0)[s])
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    w = log.tables["wrench"].values
    return log.with_values(wrench=np.concatenate([w[:, :3] @ turn.T, w[:, 3:] @ turn.T], axis=1)), robot


@defect("dead torque column", "dead_column", joint=2)
def _dead(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    scale = float(np.std(log.tables["tau"].values[:, 2]))
    noise = (0.05, 0.001, 0.0)[s] * scale
    return _column(log, "tau", 2, lambda x: noise * rng.standard_normal(len(x))), robot


@defect("clipped torques", "saturation", joint=1)
def _clipped(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    top = float(np.quantile(np.abs(log.tables["tau"].values[:, 1]), (0.99, 0.95, 0.75)[s]))
    return _column(log, "tau", 1, lambda x: np.clip(x, -top, top)), robot


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

    return _column(log, "tau", 2, change), robot


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


def _computed(log: Log, robot: Robot, gravity: bool = True) -> tuple[Array, Array, Array, Array]:
    """Smooth motion of the log, and the torque of the file's rigid body on it, at the rows of torques."""
    q = log.tables["q"]
    t, step = q.t, q.step_s
    b, a = butter(3, 12 * 2 * step)
    from scipy.signal import filtfilt

    smooth = filtfilt(b, a, q.values, axis=0)
    dq = np.gradient(smooth, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    assert robot.prior is not None
    rigid = robot.prior.copy()
    rigid[10 * len(robot.links) :] = 0.0
    arm = robot if gravity else replace(robot, tree=replace(robot.tree, gravity=np.zeros(3)))
    return smooth, dq, ddq, arm.torque(smooth, dq, ddq, rigid)


@defect("torques of a model", "model_output")
def _model(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = _computed(log, robot)[3]
    noise = (0.01, 0.003, 0.0)[s] * tau.std(axis=0) * rng.standard_normal(tau.shape)
    return log.with_tables(tau=replace(log.tables["q"], values=tau + noise, stream="torque")), robot


@defect("gravity compensated", "gravity_compensated_effort")
def _compensated(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    smooth = _computed(log, robot)[0]
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


@defect("friction drifts", "friction_drift")
def _friction(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau, dq = log.tables["tau"], log.tables["dq"]
    u = (tau.t - tau.t[0]) / np.ptp(tau.t)
    speed = np.stack([np.interp(tau.t, dq.t, column) for column in dq.values.T], axis=1)
    assert robot.prior is not None
    known = dict(zip(robot.parameter_names, robot.prior, strict=True))
    rub = np.array(
        [
            max(known.get(f"{j}.coulomb", 0.0), 0.02 * x)
            for j, x in zip(robot.joints, tau.values.std(axis=0), strict=True)
        ]
    )
    return log.with_values(
        tau=tau.values - (0.3, 0.6, 1.0)[s] * u[:, None] * rub * np.tanh(speed / 0.05)
    ), robot


@defect("bias drifts", "bias_drift", joint=1)
def _bias(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    tau = log.tables["tau"]
    u = (tau.t - tau.t[0]) / np.ptp(tau.t)
    return _column(log, "tau", 1, lambda x: x + (0.06, 0.2, 1.0)[s] * x.std() * u), robot


def _moved(log: Log, robot: Robot, q: Array, t: Array, rng: np.random.Generator) -> Log:
    """Other motion of the same arm: torques of its file, with friction and the log's noise."""
    dq = np.gradient(q, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    assert robot.prior is not None
    tau = robot.torque(q, dq, ddq, robot.prior)
    size = 0.02 * log.tables["tau"].values.std(axis=0)
    tau = tau + size * rng.standard_normal(tau.shape)
    fine = q + 1e-5 * rng.standard_normal(q.shape)
    return Log.of_arrays(t, fine, tau, dq + 1e-3 * rng.standard_normal(dq.shape), joints=log.joints)


@defect("an axis that does not move", "unexcited_axis", joint=3)
def _still(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = _computed(log, robot)[0].copy()
    q[:, 3] = q[:, 3].mean() + (0.03, 0.005, 0.0)[s] * (q[:, 3] - q[:, 3].mean())
    return _moved(log, robot, q, log.tables["q"].t, rng), robot


@defect("axes in step", "synchronous_axes")
def _step(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = _computed(log, robot)[0].copy()
    one = q[:, 1] - q[:, 1].mean()
    for j in range(2, (3, 5, log.n)[s]):
        q[:, j] = q[:, j].mean() + one * (0.5 + 0.1 * j)
    return _moved(log, robot, q, log.tables["q"].t, rng), robot


@defect("slow motion", "slow_motion")
def _slow_motion(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    t = log.tables["q"].t * (5.0, 10.0, 30.0)[s]
    return _moved(log, robot, _computed(log, robot)[0], t, rng), robot


@defect("a motion that shows little", "unidentifiable")
def _little(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    q = _computed(log, robot)[0].copy()
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
