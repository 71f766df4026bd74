"""Limits of the joints: position, velocity, acceleration, torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from heft.identify.bodies.arrays import Array, frozen

__all__ = ["Limits"]


@dataclass(frozen=True, eq=False)
class Limits:
    """Per joint: position [rad, m] (n, 2), velocity, acceleration, torque (n,); infinite where unknown."""

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array

    def __post_init__(self) -> None:
        for name in ("position", "velocity", "acceleration", "torque"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def none(cls, joints: int) -> Self:
        """No limits at all."""
        free = np.full(joints, np.inf)
        return cls(np.stack([-free, free], axis=1), free, free, free)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; None where there is no limit."""

        def plain(value: Any) -> Any:
            if isinstance(value, list):
                return [plain(item) for item in value]
            return value if np.isfinite(value) else None

        return {name: plain(getattr(self, name).tolist()) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""

        def upper(name: str) -> Array:
            return np.array([np.inf if value is None else value for value in data[name]])

        low_high = [
            [-np.inf if low is None else low, np.inf if high is None else high]
            for low, high in data["position"]
        ]
        return cls(np.array(low_high), upper("velocity"), upper("acceleration"), upper("torque"))
