"""Things that a gripper can pick up."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import model_validator

from heft.drivers.options import NonNegative, Options, Positive
from heft.drivers.plant.inertia import Inertia

__all__ = ["ObjectOptions"]

Vector3 = tuple[float, float, float]


class ObjectOptions(Options):
    """Something to pick up, as it lies in the hand; frame: the flange's."""

    mass: Positive
    #: Centre of mass [m].
    com: Vector3
    #: Inertia about the centre of mass [kg m2]: xx, yy, zz, xy, xz, yz.
    inertia: tuple[float, float, float, float, float, float]
    #: Distance of the fingers when they touch it [m].
    width: NonNegative = 0.04

    @model_validator(mode="after")
    def _could_exist(self) -> Self:
        if not self.body.consistent:
            raise ValueError(
                "no body has this inertia: its principal moments break the triangle inequality; correct it"
            )
        return self

    @property
    def body(self) -> Inertia:
        """In the flange's frame."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return Inertia.of(self.mass, self.com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
