"""How long a stop may take, and when an arm counts as being at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import RestError
from heft.drivers.playback.stop_ramp import StopRamp

__all__ = ["REST_RAD_S", "REST_S", "not_at_rest", "rest_bound_s"]

#: An axis that moves less than this is at rest [rad/s] ...
REST_RAD_S = 0.02
#: ... once it has done so for this long [s]: an axis that turns back is slow for an instant, too.
REST_S = 0.02

_MARGIN = 1.2  # of the ramp's duration: a late host plays it that much longer
_SETTLE_S = 1.0  # what a servo may tremble after the ramp


def rest_bound_s(velocity: NDArray[np.float64], deceleration: NDArray[np.float64]) -> float:
    """Longest time [s] that axes may take to come to rest from `velocity` at `deceleration`, shape (n,) each."""
    ramp = StopRamp.stopping(np.zeros_like(velocity), velocity, deceleration)
    return _MARGIN * ramp.duration_s + _SETTLE_S


def not_at_rest(
    device: str,
    axes: Sequence[str],
    velocity: NDArray[np.float64],
    rest: NDArray[np.float64],
    bound_s: float,
    consequence: str,
) -> RestError:
    """The error that names the axis which is furthest from rest; `rest` is the bound of each [rad/s], shape (n,)."""
    worst = int((np.abs(velocity) - rest).argmax())
    return RestError(
        device,
        f"not at rest {bound_s:.2f} s after the stop began: {axes[worst]} moves at {velocity[worst]:.3f} rad/s, bound "
        f"{rest[worst]:.3f} rad/s; {consequence}. Use the emergency stop if the arm does not stand, then look for "
        "what drives it (a deceleration or a torque limit that is too low, a load, a failed drive)",
    )
