"""Where the rows of the regression went: on the grid, left out and why, used."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from heft.identify.data.processing import Processing
from heft.identify.data.rows import extents, within
from heft.identify.data.survey import Survey

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["ENDS", "GAPS", "GRID", "GUARD", "REST", "TRIMMED", "UNMEASURED", "USED", "row_account"]

GRID, USED = "on the grid", "used"
GAPS = "in gaps"
ENDS = "at the filters' ends"
TRIMMED = "trimmed"
GUARD = "beside bridged gaps"
REST = "at rest"
UNMEASURED = "of joints whose torque is not measured"


def row_account(robot: Robot, surveyed: Survey, processing: Processing, delay_s: float) -> dict[str, int]:
    """Rows of all joints together: `on the grid` = `used` + all others. Empty for averaged periods.

    The grid has a row every `decimation` samples, from the first sample to the last, gaps between pieces included.
    A row for which there are two reasons counts for the first of: gap, trimmed, filters' ends, beside a bridge,
    unmeasured, rest.
    """
    if processing.derivative == "fourier":
        return {}
    step, pieces = surveyed.sampling.step_s, surveyed.sampling.pieces
    decimation, joints = processing.decimation(1 / step), len(surveyed.rest)
    spacing, margin_s = decimation * step, 0.5 / processing.cutoff_hz
    counts = dict.fromkeys((GRID, USED, GAPS, TRIMMED, ENDS, GUARD, REST), 0)
    counts |= {UNMEASURED: 0} if robot.unmeasured else {}
    for one, other in pairwise(pieces):
        between = other.start_s - (one.start_s + (one.count - 1) * step)
        counts[GAPS] += joints * max(round(between / spacing) - 1, 0)
    plain = Processing(**{**processing.to_dict(), "trim_s": (0.0, 0.0)})
    both = zip(pieces, extents(surveyed, processing, delay_s), extents(surveyed, plain, delay_s), strict=True)
    for piece, (first, last), (untrimmed_first, untrimmed_last) in both:
        slots = (piece.count - 1) // decimation + 1
        rows, untrimmed = max(last - first + 1, 0), max(untrimmed_last - untrimmed_first + 1, 0)
        counts[ENDS] += joints * (slots - untrimmed)
        counts[TRIMMED] += joints * (untrimmed - rows)
        if rows == 0:
            continue
        time = piece.start_s + spacing * np.arange(first, last + 1, dtype=np.float64)
        guarded = within(time, surveyed.gaps, margin_s)
        counts[GUARD] += joints * int(guarded.sum())
        for joint, rest in zip(robot.joints, surveyed.rest, strict=True):
            if joint in robot.unmeasured:
                counts[UNMEASURED] += rows - int(guarded.sum())
                continue
            resting = int((within(time, rest, margin_s) & ~guarded).sum())
            counts[REST] += resting
            counts[USED] += rows - resting - int(guarded.sum())
    counts[GRID] = sum(counts.values())
    return counts
