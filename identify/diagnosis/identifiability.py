"""Base parameters that the motion cannot tell, and which motion would."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.regression import Regression
from heft.identify.robot.base import base_parameters

__all__ = ["check_identifiability"]

RANK = 1e-4  # of the largest singular value of scaled columns: less is not shown
REVERSALS = 4  # of the usual joint
CONDITION = 500.0  # a good motion has about 100 (003)


def check_identifiability(rows: Regression) -> list[Finding]:
    """Columns of the base parameters that are missing, or that others imitate."""
    base = base_parameters(rows.robot)
    sizes = np.sqrt((np.where(rows.kept, rows.tau, 0.0) ** 2).mean(axis=0))
    weight = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    Y = (rows.rows * (rows.kept * weight)[:, :, None]).reshape(-1, rows.rows.shape[2])[
        :, list(base.independent)
    ]
    size = np.sqrt((Y**2).sum(axis=0))
    live = size > 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    if not live.any():
        return []
    scaled = Y[:, live] / size[live]
    values, vectors = np.linalg.svd(scaled, full_matrices=False)[1:]
    weak = values < RANK * values[0]
    condition = float(values[0] / max(values[-1], 1e-300))
    names = np.array([base.parameters[i] for i in base.independent])
    missing = [str(name) for name in names[~live]]
    poor = _named(names[live], vectors[values < values[0] / CONDITION])
    lost = len(missing) + int(weak.sum())
    if not lost and condition < CONDITION:
        return []
    few = float(np.median(rows.reversals)) < REVERSALS  # friction then looks like gravity
    severe = lost > 0.1 * len(names) or condition > 20 * CONDITION or few
    severity: Severity = "serious" if severe else "note"
    listed = ", ".join([*missing, *poor][:6])
    axes = sorted({joint for joint in rows.robot.joints for name in [*missing, *poor] if joint in name})
    links = dict(zip(rows.robot.links, rows.robot.joints, strict=True))
    axes = axes or list(
        dict.fromkeys(links[link] for link in links for name in [*missing, *poor] if link in name)
    )
    return [
        Finding(
            "unidentifiable",
            severity,
            ", ".join(axes) or "arm",
            f"{lost} of {len(names)} base parameters are not shown by the motion, condition number "
            f"{condition:.3g} (good "
            f"motions have about 100, bound {CONDITION:.0f}), joints turn round "
            f"{float(np.median(rows.reversals)):.0f} times; "
            f"weakest: {listed}",
            "these parameters rest on what was known before; the torques they make in other postures are "
            "not predicted",
            f"move {', '.join(axes[:4]) or 'all joints'} over more of the range, at different "
            "frequencies, with faster reversals",
            None,
            65.0 + lost,
            Place("q"),
        )
    ]


def _named(names: Array, directions: Array) -> list[str]:
    """The parameters with the largest part in these directions."""
    if not len(directions):
        return []
    share = (directions**2).sum(axis=0)
    order = np.argsort(-share)
    return [str(names[i]) for i in order[:4]]
