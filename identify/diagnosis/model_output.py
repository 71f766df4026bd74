"""Torques that were computed, not measured: a rigid body's without friction, and hardly anything left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.regression import Regression

__all__ = ["QUIET", "check_model_output", "friction_shares"]

GOOD = 0.03  # of the torque left: the best measurements reach this
NO_FRICTION = 0.01  # of the torque
QUIET = 0.01  # white noise over the torque's rms
PERFECT, SILENT = 2e-3, 1e-3  # left, and noise: whatever friction there is, no sensor is that good
MOST = 0.7  # of the joints
REVERSALS = 4  # of a joint: with fewer, friction cannot be told from gravity


def friction_shares(rows: Regression) -> Array:
    """Friction's part of each joint's torque, by rms: negative where it drives; shape (n,), NaN where unknown."""
    names = rows.robot.parameter_names
    rub = np.array([name.split(".")[-1] in ("viscous", "coulomb") for name in names])
    shares = np.full(rows.n, np.nan)
    for j in range(rows.n):
        kept = rows.kept[:, j]
        if kept.sum() < 50:
            continue
        columns = rows.rows[kept, j]
        size = np.sqrt((columns**2).sum(axis=0))
        live = size > 1e-9 * max(float(size.max()), 1e-300)
        A = columns[:, live] / size[live]
        tau = rows.tau[kept, j]
        whole = float(np.sqrt((tau**2).mean()))
        if not (live & rub).any() or not whole > 0:
            continue
        x = least_norm(A, tau, 1e-4)
        part = A[:, rub[live]] @ x[rub[live]]
        power = float(np.sign(np.mean(part * rows.dq[kept, j])))
        shares[j] = power * float(np.sqrt((part**2).mean())) / whole
    return shares


def check_model_output(rows: Regression, noise: Array) -> list[Finding]:
    """Nothing where friction is seen in the torques, as in measured ones.

    noise   white noise of each joint's torque as recorded, over its rms, shape (n,)
    """
    shares, left = friction_shares(rows), rows.left
    told = np.isfinite(shares) & np.isfinite(left) & np.isfinite(noise)
    if told.sum() < 2:
        return []
    turned = told & (rows.reversals >= REVERSALS)
    rigid = turned & (np.abs(shares) < NO_FRICTION) & (left < GOOD)
    perfect = told & (left < PERFECT) & (noise < SILENT)
    quiet = float(np.median(left[told])) < GOOD and float(np.median(noise[told])) < QUIET
    usual = f"what a rigid body leaves of the torques is {100 * float(np.median(left[told])):.2g} %"
    if turned.sum() >= 2 and rigid.sum() >= MOST * turned.sum():
        why = f"friction makes {100 * float(np.median(np.abs(shares[turned]))):.2g} % of the torques, and {usual}"
        return [_finding("fatal", why, rigid)]
    if perfect.sum() >= MOST * told.sum() or (turned.sum() < 2 and quiet):
        why = f"{usual}, and their noise {100 * float(np.median(noise[told])):.2g} % of their rms"
        return [_finding("fatal" if perfect.any() else "serious", why, told)]
    return []


def _finding(severity: Severity, why: str, joints: NDArray[np.bool_]) -> Finding:
    return Finding(
        "model_output",
        severity,
        "torque",
        f"{why} (bounds {100 * NO_FRICTION:.0f} % for friction, {100 * GOOD:.0f} % for what is left, "
        f"{100 * QUIET:.0f} % for "
        "noise): too good for a measurement",
        "what is identified is the model that computed them, not the arm",
        "use the column that was measured: motor current or a joint torque sensor",
        None,
        420.0,
        Place("tau", (int(np.flatnonzero(joints)[0]),)),
    )
