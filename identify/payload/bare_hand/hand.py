"""The bare hand as a value: everything beyond the wrist sensor when nothing is held, and how late the sensor is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.uncertainty import GRAVITY_DIFFERS
from heft.identify.payload.estimation.wrist_sensor import WristSensor

__all__ = ["Hand", "with_hand_doubt"]


@dataclass(frozen=True)
class Hand:
    """What one way of estimating or another says of the hand.

    ten         m, mx my mz, xx xy yy xz yz zz about the sensor's origin, in its frame, shape (10,)
    covariance  of these, shape (10, 10); infinite where the wrenches say nothing
    delay_s     of the wrench against the joints, and its standard deviation
    sensor      noise of the wrist sensor, as its samples show it
    gravity     [m/s2] in the world's frame, where its direction was found with the hand; None: as the robot's file says
    tilt_std    standard deviation of the direction that was found [rad]
    notes       what to know about it, as sentences
    """

    ten: Array
    covariance: Array
    delay_s: float
    delay_std_s: float
    sensor: WristSensor
    gravity: Array | None = None
    tilt_std: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.ten[0])

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "ten": self.ten.tolist(),
            "covariance": self.covariance.tolist(),
            "delay_s": self.delay_s,
            "delay_std_s": self.delay_std_s,
            "sensor": asdict(self.sensor),
            "gravity": None if self.gravity is None else self.gravity.tolist(),
            "tilt_std": self.tilt_std,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hand:
        """Inverse of `to_dict`."""
        names = ("ten", "covariance", "gravity")
        arrays = {name: frozen(data[name]) for name in names if data.get(name) is not None}
        sensor, notes = WristSensor(**data["sensor"]), tuple(data.get("notes", ()))
        return cls(**{**data, **arrays, "sensor": sensor, "notes": notes})


def with_hand_doubt(estimate: PayloadEstimate, hand: Hand) -> PayloadEstimate:
    """The load with the doubt about the hand that was taken off: what one of them has more, the other has less."""
    by_ten = np.linalg.inv(estimate.body.derivative_by_moments())
    doubt = by_ten @ hand.covariance @ by_ten.T
    if hand.gravity is not None:
        doubt[0, 0] += (GRAVITY_DIFFERS * estimate.mass) ** 2
        doubt[1:4, 1:4] += np.eye(3) * (hand.tilt_std * float(np.linalg.norm(estimate.com))) ** 2
    return replace(estimate, covariance=frozen(estimate.covariance + doubt))
