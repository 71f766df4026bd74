"""Defects of stamps, rates, clocks and delays, each at three severities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from log_defect import Array, Case, column, defect, late, rows, stamped, without

from heft.identify import Robot
from heft.identify.diagnosis.log import Log, Table


@defect("rate wrong", "rate_mismatch", curable=True)
def _rate(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return stamped(log, lambda t: t * (1.02, 1.1, 2.0)[s]), robot


@defect("rate wrong, no velocities", "rate_mismatch", curable=True)
def _rate_blind(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return stamped(without(log, "dq"), lambda t: t * (1.3, 2.0, 5.0)[s]), robot


@defect("rate too high, no velocities", "rate_mismatch", curable=True)
def _rate_high(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return stamped(without(log, "dq"), lambda t: t / (1.3, 2.0, 5.0)[s]), robot


@defect("time in other units", "rate_mismatch", curable=True)
def _time_unit(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return stamped(log, lambda t: t * (1e3, 1e6, 1e9)[s]), robot


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
    return rows(log, rng.random(max(len(one) for one in log.tables.values())) > (0.003, 0.02, 0.1)[s]), robot


@defect("a long gap", "gaps")
def _gap(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    length = int((0.12, 0.5, 3.0)[s] / log.tables["q"].step_s)
    keep = np.ones(max(len(one) for one in log.tables.values()), dtype=bool)
    start = 2 * len(keep) // 5
    keep[start : start + length] = False
    return rows(log, keep), robot


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
    return column(log, "tau", 1, lambda x: x[np.arange(len(x)) // (2, 5, 20)[s] * (2, 5, 20)[s]]), robot


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
    return log.with_values(tau=late(tau, (3e-4, 1e-3, 5e-3)[s] * (tau.t - tau.t.mean()))), robot


@defect("clock of velocities drifts", "clock_drift")
def _drift_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    dq = log.tables["dq"]
    return log.with_values(dq=late(dq, (3e-4, 1e-3, 5e-3)[s] * (dq.t - dq.t.mean()))), robot


@defect("device and host clocks drift apart", "clock_drift")
def _two_clocks(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    def clocks(one: Table) -> Table:
        return replace(one, host=one.t * (1 + (5e-4, 2e-3, 1e-2)[s]) + 1e-3 + rng.exponential(2e-4, len(one)))

    return replace(log, tables={key: clocks(one) for key, one in log.tables.items()}), robot


@defect("torques late", "stream_delay")
def _delay(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(tau=late(log.tables["tau"], (0.006, 0.02, 0.08)[s])), robot


@defect("velocities late", "stream_delay")
def _delay_dq(log: Log, robot: Robot, s: int, rng: np.random.Generator) -> Case:
    return log.with_values(dq=late(log.tables["dq"], (0.005, 0.02, 0.1)[s])), robot
