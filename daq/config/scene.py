"""What stands around an arm: obstacles, the plane it is mounted on, and the box its flange stays in."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from heft.daq.config.reader import Model, Name

__all__ = ["MountingConfig", "ObstacleConfig", "SceneConfig"]

Positive = Annotated[float, Field(gt=0)]
Vector3 = tuple[float, float, float]
MOST_OBSTACLES = 100


class CylinderConfig(Model):
    """A cylinder or capsule along its own z axis [m]; `length` is that of the straight part."""

    radius: Positive
    length: Positive


class PlaneConfig(Model):
    """All that is on the other side of a plane than where its normal points: normal . x < offset [m]."""

    normal: Vector3
    offset: float = 0.0

    @model_validator(mode="after")
    def _has_a_direction(self) -> Self:
        if np.linalg.norm(self.normal) < 1e-9:
            raise ValueError("normal: has no direction; give a vector that points to where the arm may be")
        return self


class ObstacleConfig(Model):
    """One solid, in the frame of the robot's base: exactly one shape, where it is [m], and how it is turned.

    `rpy` [rad]: about the base's x, then its y, then its z axis. A plane has its place in itself.
    """

    box: tuple[Positive, Positive, Positive] | None = None  # lengths of its sides
    sphere: Positive | None = None  # its radius
    capsule: CylinderConfig | None = None
    cylinder: CylinderConfig | None = None
    plane: PlaneConfig | None = None
    at: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        shapes = ("box", "sphere", "capsule", "cylinder", "plane")
        given = [name for name in shapes if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an obstacle is one of {', '.join(shapes)}; this one has {given or 'none'}")
        if self.plane is not None and (any(self.at) or any(self.rpy)):
            raise ValueError("a plane is placed by its `normal` and `offset`; remove `at` and `rpy`")
        return self


class MountingConfig(Model):
    """The plane that the base is screwed to, z = `height` [m] in the frame of the base; the arm stays above it.

    `plane: false` where there is none: on a column, on a ceiling that is open.
    """

    height: float = 0.0
    plane: bool = True


class SceneConfig(Model):
    """What stands around an arm. A rig adds to its robot's, a session to its rig's; of `mounting` and `workspace` the
    last one that is said counts.

    clearance   between the arm and everything, itself included [m]
    workspace   box that the flange stays in: lowest and highest corner in the base's frame [m]
    separate    pairs of links that never meet, whatever their shapes say: not looked at
    """

    obstacles: Annotated[dict[Name, ObstacleConfig], Field(max_length=MOST_OBSTACLES)] = Field(
        default_factory=dict
    )
    mounting: MountingConfig | None = None
    workspace: tuple[Vector3, Vector3] | None = None
    clearance: Annotated[float, Field(ge=0, le=1)] | None = None
    separate: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _low_before_high(self) -> Self:
        if self.workspace is not None and any(low >= high for low, high in zip(*self.workspace, strict=True)):
            raise ValueError("workspace: is [lowest corner, highest corner]; swap them")
        return self

    def extended(self, other: Self) -> Self:
        """This scene with what another one adds; of two obstacles of one name the other's."""
        return type(self)(
            obstacles={**self.obstacles, **other.obstacles},
            mounting=other.mounting or self.mounting,
            workspace=other.workspace or self.workspace,
            clearance=self.clearance if other.clearance is None else other.clearance,
            separate=(*self.separate, *other.separate),
        )
