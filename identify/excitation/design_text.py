"""The file of a design: a trajectory that `design:` of a session's step names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.design import Design

__all__ = ["design_text"]


def design_text(made: Design, version: str) -> str:
    """YAML (`heft.daq.config.design_file`); numbers to the last bit, so that rest is rest. Equal designs give equal
    files."""
    request, worst = made.request, made.worst_limit
    lines = [
        f"# Made by heft design {version} for {request.config.name}: {request.seconds:g} s, for {request.target}, "
        f"criterion {request.criterion}.",
        f"robot: {request.config.name}",
        f"joints: [{', '.join(request.limits.axes)}]",
    ]
    if made.poses is not None:
        lines += ["chain:", f"  fraction: {made.fraction!r}", f"  rest_s: {made.rest_s!r}", "  poses:"]
        lines += [f"    - {_row(pose)}" for pose in made.poses]
    else:
        series = made.series
        lines += ["fourier:                # 003, Eq. 78: a and b [rad/s], q0 [rad], one row per joint"]
        lines += [f"  period_s: {series.period_s!r}", "  a:", *(f"    - {_row(row)}" for row in series.a)]
        lines += ["  b:", *(f"    - {_row(row)}" for row in series.b), f"  q0: {_row(series.q0)}"]
    lines += [
        "made:",
        f"  heft: {version}",
        f"  criterion: {request.criterion}",
        f"  for: {request.target}",
        f"  seed: {request.seed}",
        f"  condition_number: {_number(made.condition_number)}",
        f"  random_condition_number: {_number(made.before.condition_number)}",
        f"  closest_limit: {worst.quantity} of {worst.joint}, {100 * worst.share:.1f} % of {worst.bound:.4g}",
    ]
    if np.isfinite(made.closest.distance):
        lines.append(f"  closest_approach: {made.closest}, {made.closest.distance:.4f} m")
    return "\n".join(lines) + "\n"


def _row(values: Iterable[float] | Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"


def _number(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) and value < 1e6 else "unbounded"
