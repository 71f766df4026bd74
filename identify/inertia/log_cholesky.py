"""Ten free numbers for every body that can exist: the logarithmic Cholesky factor of its pseudo-inertia.

    J = U U',   U = exp(a) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]]

The map from (a, d1, d2, d3, s12, s23, s13, t1, t2, t3) to positive definite J is one to one and smooth both
ways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from identify.arrays import Array
from identify.errors import ParameterError
from identify.inertia.pseudo import from_pseudo_inertia, pseudo_inertia

__all__ = ["from_log_cholesky", "to_log_cholesky"]


def from_log_cholesky(free: ArrayLike) -> Array:
    """The body's ten numbers."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.asarray(free, dtype=np.float64)
    U = np.exp(a) * np.array(
        [
            [np.exp(d1), s12, s13, t1],
            [0.0, np.exp(d2), s23, t2],
            [0.0, 0.0, np.exp(d3), t3],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    return from_pseudo_inertia(U @ U.T)


def to_log_cholesky(ten: ArrayLike) -> Array:
    """The ten free numbers of a body that is consistent at level `full`."""
    J = pseudo_inertia(ten)
    try:
        U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        low = float(np.linalg.eigvalsh(J)[0])
        raise ParameterError(
            f"pseudo-inertia with smallest eigenvalue {low:.3g}, must be positive; correct the body first"
        ) from None
    a = np.log(U[3, 3])
    V = U / U[3, 3]
    d = np.log(np.diag(V)[:3])
    return np.array([a, *d, V[0, 1], V[1, 2], V[0, 2], *V[:3, 3]])
