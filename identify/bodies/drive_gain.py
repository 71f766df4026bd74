"""How far the torque scales of the joints may be off, as one covariance.

A drive that reports g times its torque (a wrong torque constant or gear, a magnet that is warm) is put right by its
gain kappa = 1 / g (002, Eq. 5):

    torque = kappa * reported torque,   cov(log kappa) = s s' + diag(s^2) / 4

with s (n,) the stated relative standard deviations; gains that are off by at most b, and by anything within it, have
s = b / sqrt(3). A stated spread does not say how much of it is common to all
drives, and a payload's mass takes the common part in full, while parts of their own average out over the joints that
carry it. Drives of one series, read by one driver, err mostly alike. So the spread counts in full as common, and half
of it again as each joint's own: mass intervals then hold whether the true error is all common, as much common as own
with the stated spread each, or in all (`benchmarks/gains.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError

__all__ = ["OWN", "gain_covariance", "gain_spreads"]

OWN = 0.5  # of the stated spread: what each joint has on top of the common part


def gain_spreads(spread: ArrayLike, joints: int) -> Array:
    """Relative standard deviations (n,) from one number for all joints, or from one for each."""
    values = np.asarray(spread, dtype=np.float64)
    if values.shape not in ((), (joints,)):
        raise ProblemError(
            f"gain spread of shape {values.shape}; give one number, or one for each of {joints} joints"
        )
    if not np.all((values >= 0) & (values < 1)):
        raise ProblemError(
            f"gain spread {values.tolist()}: must be 0 or more and below 1; 0.1 is a standard deviation of 10 %, "
            "0.06 says that torques are at most 10 % off"
        )
    return np.broadcast_to(values, (joints,)).copy()


def gain_covariance(spreads: Array) -> Array:
    """Covariance of the log gains, shape (n, n), from relative standard deviations (n,)."""
    return np.asarray(np.outer(spreads, spreads) + np.diag((OWN * spreads) ** 2))
