"""What the rows of a joint leave of its torque: delay, drift of delay, of bias and of friction, contact, coupling."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.regression import Regression

__all__ = ["COUPLED", "check_disturbances", "torque_delay"]

LONGEST_S = 0.15
DELAY_S, LONG_S = 4e-3, 0.02
BETTER = 10.0  # nats
SAMPLES = 100.0  # that each joint counts for
SURE = 6.0  # standard deviations
BIAS, MUCH_BIAS = 0.03, 0.1  # of a joint's torque
FRICTION, MUCH_FRICTION = 0.15, 0.4  # of its friction
WINDOW_S = 0.25
OUT, SHARE = 6.0, 0.08  # times the usual residual, and of the joint's torque
MOST_OUT = 0.25  # of the windows: more is no contact, but a model that does not hold
COUPLED = 87.0  # weight of its finding, beside the share that it explains
TAKES = 0.3  # of the residual's square, that another joint's motion explains
LEFT = 0.04  # of the torque: smaller residuals are not asked
DRIFT_S, DRIFT_TAKES = 3e-3, 0.05  # of a delay over the log, and of the residual's square that it explains
REVERSALS = 4  # of a joint: with fewer, drift, friction and gravity look alike
HOLDS = 0.15  # of the torque left beside the drift: beyond, the model does not hold, and drift is not what is wrong
FAST = 0.1  # of the top speed: below, friction is not what the model says


def torque_delay(rows: Regression) -> tuple[float, float]:
    """Delay of torques that leaves least [s], and by how many nats it is better than none."""
    grid = np.arange(-LONGEST_S, LONGEST_S + 1e-9, max(rows.step_s, 2e-3))
    costs = np.array([_cost(rows, late) for late in grid])
    i = int(np.argmin(costs))
    best = float(grid[i])
    if 0 < i < len(grid) - 1:
        a, b, c = costs[i - 1 : i + 2]
        if a + c > 2 * b:
            best += float(0.5 * (a - c) / (a + c - 2 * b) * (grid[1] - grid[0]))
    return best, float(_cost(rows, 0.0) - costs[i])


def _cost(rows: Regression, late: float) -> float:
    t = rows.t + late
    tau = np.stack([np.interp(t, rows.dense_t, column) for column in rows.dense_tau.T], axis=1)
    tau = np.where(rows.kept, tau, 0.0)
    total = 0.0
    for j, basis in enumerate(rows.bases):
        whole = float(tau[:, j] @ tau[:, j])
        if whole > 0:
            rest = whole - float(((basis.T @ tau[:, j]) ** 2).sum())
            total += 0.5 * SAMPLES * float(np.log(max(rest / whole, 0.0) + 1e-5))
    return total


def check_disturbances(rows: Regression) -> list[Finding]:
    """All of them, on torques that are aligned first."""
    if np.mean(rows.reversals >= REVERSALS) < 0.5:
        return _coupled(rows)
    delay, better = torque_delay(rows)
    found: list[Finding] = []
    least = max(DELAY_S, 1.5 * rows.step_s)
    trusted = better > BETTER and abs(delay) < 0.95 * LONGEST_S
    if trusted:
        rows = rows.shifted(delay)
    if trusted and abs(delay) > least:
        severity: Severity = "serious" if abs(delay) > LONG_S else "note"
        found.append(
            Finding(
                "stream_delay",
                severity,
                "torque against position",
                f"torques lag positions by {1e3 * delay:.3g} ms (bound {1e3 * least:.2g} ms; {better:.0f} nats)",
                "friction and inertia are taken at another velocity and acceleration than the joint has",
                "a fit estimates it and takes it out; correct the stamps if it is not the drive's",
                None,
                43 + 1e2 * abs(delay),
                Place("tau"),
            )
        )
    found += _clock(rows)
    drifts = _drifts(rows)
    contact = _contact(rows)
    return [*found, *drifts, *contact, *_coupled(rows)]


def _clock(rows: Regression) -> list[Finding]:
    """A delay that grows along the log, from a column more: time times the torque's derivative; all joints together."""
    span = float(np.ptp(rows.t))
    u = (rows.t - rows.t.mean()) / span
    each = [rows.added(j, u * rows.dtau[:, j]) for j in range(rows.n) if rows.reversals[j] >= REVERSALS]
    drift, std = (np.array([one[k] for one in each]) for k in range(2))
    takes = np.array([one[2] for one in each])
    told = np.isfinite(std) & (std > 0)
    if told.sum() < 2:
        return []
    weight = 1 / std[told] ** 2
    moved = -float(np.average(drift[told], weights=weight))
    away = max(
        float(weight.sum() ** -0.5),
        float(np.sqrt(np.average((drift[told] + moved) ** 2, weights=weight) / told.sum())),
    )
    if abs(moved) < max(DRIFT_S, rows.step_s, SURE * away) or float(np.median(takes[told])) < DRIFT_TAKES:
        return []
    severity: Severity = "serious" if abs(moved) > 2 * DRIFT_S else "note"
    return [
        Finding(
            "clock_drift",
            severity,
            "torque against position",
            f"the delay of torques moves by {1e3 * moved:.3g} +- {1e3 * away:.2g} ms over the log "
            f"({1e6 * moved / span:.3g} ppm, "
            f"bound {1e3 * DRIFT_S:.2g} ms)",
            "streams of two clocks come apart with time; no single delay is right",
            "stamp all streams by one clock, or map device time to host time by a line",
            None,
            56.0,
            Place("tau"),
        )
    ]


def _drifts(rows: Regression) -> list[Finding]:
    """Bias and friction that change along the log, of each joint."""
    found = []
    span = float(np.ptp(rows.t))
    u = (rows.t - rows.t.mean()) / span  # from -0.5 to 0.5
    sizes = np.sqrt(
        (np.where(rows.kept, rows.tau, 0.0) ** 2).sum(axis=0) / np.maximum(rows.kept.sum(axis=0), 1)
    )
    for j in range(rows.n):
        if rows.reversals[j] < REVERSALS or not np.isfinite(rows.left[j]):
            continue
        joint, top = rows.robot.joints[j], float(np.quantile(np.abs(rows.dq[:, j]), 0.95))
        turn = np.tanh(rows.dq[:, j] / max(0.05 * top, 1e-9))
        braking = _friction(rows, j, turn)
        bias, std, takes = rows.added(j, u)
        rub, rub_std, rub_takes = rows.added(j, u * turn)
        if not rows.left[j] * np.sqrt(1 - max(takes, rub_takes)) < HOLDS:
            continue
        if abs(bias) > max(SURE * std, BIAS * sizes[j]) and takes > max(rub_takes, 0.1):
            severity: Severity = "serious" if abs(bias) > MUCH_BIAS * sizes[j] else "note"
            found.append(
                Finding(
                    "bias_drift",
                    severity,
                    f"torque of {joint}",
                    f"its offset moves by {bias:.3g} +- {std:.2g} N m over {span:.3g} s, "
                    f"{100 * abs(bias) / sizes[j]:.2g} % of the torque's rms",
                    "what drifts is taken for gravity of postures that came late",
                    "let the sensor warm up, zero it again, or cut the log into parts with offsets of their own",
                    None,
                    35 + abs(bias) / sizes[j],
                    Place("tau", (j,)),
                )
            )
        elif abs(rub) > max(SURE * rub_std, FRICTION * braking, 0.01 * sizes[j]) and rub_takes > 0.1:
            share = abs(rub) / max(braking, 1e-12)
            severity = "serious" if share > MUCH_FRICTION else "note"
            found.append(
                Finding(
                    "friction_drift",
                    severity,
                    joint,
                    f"its friction changes by {rub:.3g} +- {rub_std:.2g} N m over {span:.3g} s, "
                    f"{100 * share:.2g} % of it",
                    "friction depends on temperature; the identified value is that of the middle of the log",
                    "warm the arm up first, or record temperatures and let friction depend on them",
                    None,
                    34 + share,
                    Place("tau", (j,)),
                )
            )
    return found


def _friction(rows: Regression, j: int, turn: Array) -> float:
    """Coulomb and viscous friction of a joint at usual speed [N m]: half its change from one way to the other."""
    kept, speed = rows.kept[:, j], rows.dq[:, j]
    columns = rows.rows[:, j] * kept[:, None]
    size = np.sqrt((columns**2).sum(axis=0))
    live = size > 0
    A = columns[:, live] / size[live]
    x = least_norm(A, np.where(kept, rows.tau[:, j], 0.0), 1e-6)
    names = np.array([name.split(".")[-1] in ("viscous", "coulomb") for name in rows.robot.parameter_names])[
        live
    ]
    part = A[:, names] @ x[names]
    return float(abs(np.mean((part * np.sign(speed))[kept]))) if kept.any() else 0.0


def _contact(rows: Regression) -> list[Finding]:
    """Stretches in which residuals are far larger than usual, of joints together."""
    rest = rows.residual(rows.tau)
    sizes = np.sqrt((np.where(rows.kept, rows.tau, 0.0) ** 2).mean(axis=0))
    number = ((rows.t - rows.t[0]) / WINDOW_S).astype(np.int64)
    count = int(number[-1]) + 1
    loud = np.zeros((count, rows.n))
    coupling = rows.robot.drives.coupling
    speeds = np.abs(rows.dq @ coupling.T)  # of motors: one that turns round is rubbed by its own friction
    turning = speeds >= FAST * speeds.max(axis=0)
    for j in range(rows.n):
        if rows.reversals[j] < REVERSALS:
            continue
        fast = rows.kept[:, j] & turning[:, coupling[:, j] != 0].all(axis=1)
        filled = np.bincount(number, fast.astype(float), count)
        square = np.bincount(number, (rest[:, j] * fast) ** 2, count)
        loud[:, j] = np.sqrt(np.divide(square, filled, out=np.zeros(count), where=filled > 2))
    with np.errstate(invalid="ignore"):
        usual = np.array([np.median(one[one > 0]) if (one > 0).any() else np.inf for one in loud.T])
    ratio = loud / np.maximum(usual, 1e-300)
    out = (ratio > OUT) & (loud > SHARE * sizes)
    hit = out.any(axis=1)
    if not hit.any() or hit.mean() > MOST_OUT:
        return []
    worst = np.unravel_index(int(np.argmax(np.where(out, ratio, 0.0))), ratio.shape)
    joints = [rows.robot.joints[j] for j in np.flatnonzero(out.any(axis=0))]
    at = float(rows.t[0]) + WINDOW_S * float(worst[0])
    seconds = WINDOW_S * int(hit.sum())
    severity: Severity = "serious" if seconds > 0.005 * float(np.ptp(rows.t)) else "note"
    return [
        Finding(
            "contact",
            severity,
            ", ".join(joints),
            f"at {at:.2f} s what the model leaves of {rows.robot.joints[int(worst[1])]}'s torque is "
            f"{float(ratio[worst]):.0f} times the usual (bound {OUT:g}), for {seconds:.2g} s in all",
            "something else than the arm's own motion acted on it: a touch, a stop, a cable",
            "look at these times, and leave them out",
            None,
            48.0,
            Place("tau", (int(worst[1]),), (at - 1, at + 1)),
        )
    ]


def _coupled(rows: Regression) -> list[Finding]:
    """Joints whose torque follows the friction of another joint: a motor that turns with both."""
    found = []
    for j in range(rows.n):
        if not rows.left[j] > LEFT or rows.reversals[j] < REVERSALS:
            continue
        best: tuple[float, int, float] | None = None
        for i in range(rows.n):
            if i == j or not rows.kept[:, i].any():
                continue
            top = float(np.quantile(np.abs(rows.dq[:, i]), 0.95))
            b, std, takes = rows.added(j, np.tanh(rows.dq[:, i] / max(0.05 * top, 1e-9)))
            if takes > TAKES and abs(b) > SURE * std and (best is None or takes > best[0]):
                best = (takes, i, b)
        if best is not None:
            takes, i, b = best
            names = rows.robot.joints
            found.append(
                Finding(
                    "coupled_joints",
                    "serious",
                    f"{names[j]}, {names[i]}",
                    f"friction of {names[i]} ({b:.3g} N m) is in the torque of {names[j]}, and explains "
                    f"{100 * takes:.0f} % of what the model leaves of it",
                    "a motor turns with both joints, and the model has each turn with its own",
                    "write the `coupling` of motors and joints into the robot's file",
                    None,
                    COUPLED + takes,
                    Place("tau", (j, i)),
                )
            )
    return found
