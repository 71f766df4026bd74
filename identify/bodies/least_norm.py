"""The smallest of all least-squares solutions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq

from heft.identify.bodies.arrays import Array

__all__ = ["least_norm"]


def least_norm(A: Array, b: Array, share: float) -> Array:
    """x of the least norm that makes |A x - b| small, without directions whose singular value is below `share` of the
    largest; b may have columns.

    LAPACK's divide and conquer now and then does not converge on finite numbers (seen with the rows of a joint that
    turns about the vertical): then by a rank-revealing QR, which does not iterate.
    """
    try:
        return np.asarray(np.linalg.lstsq(A, b, rcond=share)[0])
    except np.linalg.LinAlgError:
        return np.asarray(lstsq(A, b, cond=share, lapack_driver="gelsy")[0])
