"""Relative error of a model's torques against measured ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.information.reduction import Information

__all__ = ["RelativeError"]


@dataclass(frozen=True)
class RelativeError:
    """|tau - Y d| / |tau| on filtered torques (003, Eq. 84), unweighted, mean not removed; 0.0175 is 1.75 %.

    total       stacked over samples and joints. Torques [N m] and forces [N] are never stacked: where a robot has both
                (`mixed`), it is the root mean square of `per_joint` instead
    per_joint   of each row alone (`Robot.rows`), shape (rows,); infinite for a joint without torque. The three numbers
                of a force or torque vector are errors against that vector's size
    rms         of each row's error [N m, N], shape (rows,)
    rows        samples that went into each, shape (rows,)
    """

    total: float
    per_joint: Array
    rms: Array
    rows: NDArray[np.int64]
    mixed: bool = False

    @classmethod
    def of(
        cls,
        information: Information,
        parameters: Array,
        forces: NDArray[np.bool_],
        joints: int | None = None,
    ) -> RelativeError:
        """Of parameters (p,) on reduced data.

        forces   rows that are forces [N], shape (rows,)
        joints   rows that are joints', None: all; the others are of vectors, three each
        """
        factors, rows = information.factors, information.rows
        errors = ((factors @ np.append(parameters, -1.0)) ** 2).sum(axis=1)
        torques = (factors[:, :, -1] ** 2).sum(axis=1)
        used = rows > 0
        sizes = torques.copy()
        if joints is not None and joints < len(torques):
            sizes[joints:] = np.repeat(torques[joints:].reshape(-1, 3).sum(axis=1), 3)
        ratio = np.divide(errors, sizes, out=np.where(errors > 0, np.inf, 0.0), where=sizes > 0)
        mixed = bool(forces[used].any() and not forces[used].all())
        total = float(ratio[used].mean()) if mixed else float(errors.sum() / max(torques.sum(), 1e-300))
        rms = np.sqrt(errors / np.maximum(rows, 1))
        return cls(float(np.sqrt(total)), frozen(np.sqrt(ratio)), frozen(rms), rows, mixed)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what is infinite is null."""
        return {
            "total": self.total,
            "per_joint": [value if np.isfinite(value) else None for value in self.per_joint.tolist()],
            "rms": self.rms.tolist(),
            "rows": self.rows.tolist(),
            "mixed": self.mixed,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RelativeError:
        """Inverse of `to_dict`."""
        per_joint = np.array([np.inf if value is None else value for value in data["per_joint"]])
        rows = np.array(data["rows"], dtype=np.int64)
        return cls(data["total"], per_joint, np.array(data["rms"]), rows, data["mixed"])
