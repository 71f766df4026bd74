"""A delay estimated in windows of the data, to see whether it drifts."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.alignment.delay import Delay, DelayWindow
from heft.identify.information.long_run import long_run_variance

__all__ = ["delay_windows", "drift_warnings"]

PARTS = 8
LEAST_ROWS = 20  # of a window
MOVED = 1e-3  # chance of windows that differ as much if the delay does not move
MOVED_S = 1e-4  # and at least so far


def delay_windows(
    delay_s: float, influence: Array, curvature: Array, starts: Array
) -> tuple[DelayWindow, ...]:
    """The delay in equal parts of the rows: the whole one, moved by the local influence.

    `influence` on it [s], `curvature` of its cost [1/s2] and `starts` [s] of groups of rows, shape (G,) each.

    A part with a share c of the curvature knows the delay 1 / sqrt(c) less well. How well the whole one would be known
    is judged by what is left when every part has its own: a delay that moves must not hide in its own scatter.
    """
    count = min(PARTS, len(influence) // LEAST_ROWS)
    if count < 2 or not influence.any():
        return ()
    places, left = [], influence.copy()
    for part in np.array_split(np.arange(len(influence)), count):
        share = float(curvature[part].sum() / curvature.sum())
        if share > 0.2 / count:
            off = float(influence[part].sum()) / share
            left[part] -= off * curvature[part] / curvature.sum()
            places.append((part, off, share))
    variance, _ = long_run_variance(left[:, None])
    std = float(np.sqrt(variance[0] * count / (count - 1)))
    return tuple(
        DelayWindow(
            float(starts[part[0]]),
            float(starts[part[-1]]),
            delay_s + off,
            std / float(np.sqrt(share)),
        )
        for part, off, share in places
    )


def drift_warnings(delay: Delay) -> list[str]:
    """A warning where the delay differs between windows by more than chance; else nothing."""
    if len(delay.windows) < 2:
        return []
    off = np.array([window.value_s - delay.value_s for window in delay.windows])
    std = np.array([window.std_s for window in delay.windows])
    chance = float(chdtrc(len(off) - 1, float(((off / std) ** 2).sum())))
    reach = float(np.ptp(off))
    if chance > MOVED or reach < MOVED_S:
        return []
    early, late = (delay.windows[int(k)] for k in (np.argmin(off), np.argmax(off)))
    return [
        f"the delay of {delay.stream} moves during the session, from {early.value_s * 1e3:.2f} ms (about "
        f"{early.start_s:.0f} s) to {late.value_s * 1e3:.2f} ms (about {late.start_s:.0f} s): one value of "
        f"{delay.value_s * 1e3:.2f} ms was taken out; look for a clock that is not a line, or identify parts"
    ]
