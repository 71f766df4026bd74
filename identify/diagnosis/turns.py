"""Positions that start anew after a whole turn: 0 to 360 degrees, where the joint goes on."""

from __future__ import annotations

import numpy as np

from heft.daq.importing.turns import starts_anew
from heft.identify.diagnosis.finding import Finding, Place
from heft.identify.diagnosis.log import Log

__all__ = ["check_turns"]

TURN = 2 * np.pi


def check_turns(log: Log) -> list[Finding]:
    """Joints whose positions never leave one turn, and jump from one of its ends to the other."""
    q = log.tables["q"]
    anew = np.flatnonzero(starts_anew(q.values, TURN))
    if not len(anew):
        return []
    worst = int(anew[0])
    steps = np.abs(np.diff(q.values[:, worst]))
    at = float(q.t[int(np.nanargmax(steps))])
    return [
        Finding(
            "angle_wrap",
            "fatal",
            ", ".join(log.joints[j] for j in anew),
            f"{log.joints[worst]} jumps by {np.nanmax(steps):.4g} rad from one sample to the next, and never leaves "
            f"one turn of {TURN:.4g} rad: its positions start anew after a turn",
            "each jump is an acceleration that no arm has",
            "let positions go on where they jump",
            {"position": {"wrapped": True}},
            390.0,
            Place("q", (worst,), (at - 0.5, at + 0.5) if np.isfinite(at) else None),
        )
    ]
