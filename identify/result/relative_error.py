"""How far a model's torques are from measured ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from identify.arrays import Array, frozen

if TYPE_CHECKING:
    from identify.reduction import Information

__all__ = ["RelativeError"]


@dataclass(frozen=True)
class RelativeError:
    """|tau - Y d| / |tau| on filtered torques (003, Eq. 84), unweighted, mean not removed; 0.0175 is 1.75 %.

    total       stacked over samples and joints. Torques [N m] and forces [N] are never stacked: where a robot has both
                (`mixed`), it is the root mean square of `per_joint` instead
    per_joint   of each joint alone, shape (n,); infinite for a joint without torque
    rms         of each joint's error [N m, N], shape (n,)
    rows        that went into each, shape (n,)
    """

    total: float
    per_joint: Array
    rms: Array
    rows: NDArray[np.int64]
    mixed: bool = False

    @classmethod
    def of(cls, information: Information, parameters: Array, prismatic: NDArray[np.bool_]) -> RelativeError:
        """Of parameters (p,) on reduced data."""
        factors, rows = information.factors, information.rows
        errors = ((factors @ np.append(parameters, -1.0)) ** 2).sum(axis=1)
        torques = (factors[:, :, -1] ** 2).sum(axis=1)
        used = rows > 0
        ratio = np.divide(errors, torques, out=np.where(errors > 0, np.inf, 0.0), where=torques > 0)
        mixed = bool(prismatic.any() and not prismatic.all())
        total = float(ratio[used].mean()) if mixed else float(errors.sum() / max(torques.sum(), 1e-300))
        rms = np.sqrt(errors / np.maximum(rows, 1))
        return cls(float(np.sqrt(total)), frozen(np.sqrt(ratio)), frozen(rms), rows, mixed)
