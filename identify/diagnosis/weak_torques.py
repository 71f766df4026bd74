"""Torques that the motion does not explain: columns without a signal, and kinematics that are not the arm's."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.diagnosis.finding import Finding, Place
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.regression import Regression
from heft.identify.diagnosis.values import lattice

__all__ = ["KINEMATICS", "check_kinematics", "check_weak_torques", "coarse_torques"]

UNEXPLAINED, COARSE_UNEXPLAINED = 0.9, 0.5  # of a joint's torque left: of any column, of one with few steps
KINEMATICS = 130.0  # weight of its finding, beside the share that it explains
LEVELS = 64  # steps in a column's whole range
POOR = 0.05  # of a joint's torque left, that functions of the postures are asked to explain
TAKES = 0.6  # of the residual's square, that they explain: as much is a wrong lever


def coarse_torques(rows: Regression, log: Log) -> dict[int, float]:
    """Joints whose torque has few steps and little to do with the motion, and how many steps."""
    tau, found = log.tables["tau"], {}
    for j in np.flatnonzero(rows.left > COARSE_UNEXPLAINED).tolist():
        values = tau.values[np.isfinite(tau.values[:, j]), j]
        step = lattice(values)
        if step is not None and float(np.ptp(values)) < LEVELS * step:
            found[j] = float(np.ptp(values)) / step
    return found


def check_weak_torques(rows: Regression, log: Log) -> list[Finding]:
    """Dead columns, by what motion explains of them."""
    found, coarse = [], coarse_torques(rows, log)
    for j in np.flatnonzero(rows.left > COARSE_UNEXPLAINED).tolist():
        if j not in coarse and not rows.left[j] > UNEXPLAINED:
            continue
        levels = f", and it has {coarse[j]:.0f} steps in all" if j in coarse else ""
        found.append(
            Finding(
                "dead_column",
                "serious",
                f"torque of {log.joints[j]}",
                f"motion explains {100 * (1 - rows.left[j] ** 2):.0f} % of its variance (other joints: "
                f"{100 * (1 - float(np.nanmedian(rows.left)) ** 2):.0f} %){levels}",
                "the column carries hardly a signal of this joint; its parameters rest on what was known before",
                "find the column that was meant, or leave the joint's torque out (--set unmeasured=JOINT)",
                None,
                140.0,
                Place("tau", (j,)),
            )
        )
    return found


def check_kinematics(rows: Regression) -> list[Finding]:
    """Joints whose residual is a function of the postures: lengths or axes of the model are not the arm's."""
    found = []
    for j in np.flatnonzero(rows.left > POOR).tolist():
        kept, basis = rows.kept[:, j], rows.bases[j]
        e = np.where(kept, rows.tau[:, j], 0.0)
        e = e - basis @ (basis.T @ e)
        shapes = _postures(rows) * kept[:, None]
        half = np.arange(len(e)) % 40 < 20  # fitted on every other stretch, judged on the rest
        x = least_norm(shapes[half], e[half], 1e-3)
        rest = e[~half] - shapes[~half] @ x
        takes = 1 - float(rest @ rest) / max(float(e[~half] @ e[~half]), 1e-300)
        if takes > TAKES:
            found.append(
                Finding(
                    "model_kinematics",
                    "serious",
                    rows.robot.joints[j],
                    f"the model leaves {100 * rows.left[j]:.0f} % of its torque, and functions of the "
                    "joints' angles explain "
                    f"{100 * takes:.0f} % of that on data they were not fitted to",
                    "gravity acts on other levers or axes than the model's: every parameter behind this "
                    "joint is wrong",
                    "compare lengths, axes and zero positions of the file with the arm",
                    None,
                    KINEMATICS + takes,
                    Place("tau", (j,)),
                )
            )
    return found


def _postures(rows: Regression) -> Array:
    """1, sines and cosines of all angles, and of sums and differences of any two of them."""
    moving = [k for k in range(rows.n) if rows.kept[:, k].any() and not rows.robot.tree.prismatic[k]]
    angles = [rows.q[:, k] for k in moving]
    for a, b in combinations(moving, 2):
        angles += [rows.q[:, a] + rows.q[:, b], rows.q[:, a] - rows.q[:, b]]
    return np.stack([np.ones(len(rows.t)), *(f(a) for a in angles for f in (np.sin, np.cos))], axis=1)
