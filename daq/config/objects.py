"""Known objects: what they weigh, how their mass is spread, and how a gripper should hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from heft.daq.config.reader import Label, Model, read
from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError

__all__ = ["GraspConfig", "ObjectConfig", "load_object", "load_objects"]

Positive = Annotated[float, Field(gt=0)]
Vector3 = tuple[float, float, float]
Inertia6 = tuple[float, float, float, float, float, float]


class GraspConfig(Model):
    """How the object should sit in the gripper: the pose of its frame in the flange's.

    `position` [m], `rpy` [rad] (turned about x, then y, then z of the flange); `tolerance` [m] of the centre of mass
    and `angle_tolerance` [rad] of the principal axes.
    """

    position: Vector3
    rpy: Vector3 = (0.0, 0.0, 0.0)
    tolerance: Positive = 0.005  # what fingers of a parallel gripper place an object to
    angle_tolerance: Positive = 0.2  # [rad]; a part that has turned between the fingers shows more


class ObjectConfig(Model):
    """One object, in its own frame.

    `mass` [kg]; `com` [m]; `inertia` [kg m2] about the centre of mass: xx yy zz xy xz yz; `dimensions` [m] of its box.
    `mass_spread` and `inertia_spread` are how much two of the kind differ, relative standard deviations.
    """

    path: Path
    name: Label
    mass: Positive
    com: Vector3 = (0.0, 0.0, 0.0)
    inertia: Inertia6
    dimensions: tuple[Positive, Positive, Positive] | None = None
    mass_spread: Positive = 0.005  # machined and packaged goods
    inertia_spread: Positive = 0.03  # the same in length and filling
    grasp: GraspConfig | None = None

    @property
    def inertia_matrix(self) -> list[list[float]]:
        """About the centre of mass [kg m2], 3x3."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]

    @model_validator(mode="after")
    def _can_exist(self) -> Self:
        moments = np.linalg.eigvalsh(np.array(self.inertia_matrix))
        if moments[0] <= 0:
            raise ValueError(f"inertia: smallest principal moment {moments[0]:.3g} kg m2, must be above zero")
        if moments[0] + moments[1] <= moments[2]:
            raise ValueError(
                f"inertia: principal moments {moments[0]:.3g} + {moments[1]:.3g} must exceed {moments[2]:.3g} kg m2 "
                "(triangle inequality); no body has these, correct them"
            )
        return self


def load_object(path: Path | str) -> ObjectConfig:
    """Read an object's file."""
    return read(locate(path), ObjectConfig)


def load_objects(directory: Path | str) -> tuple[ObjectConfig, ...]:
    """Read every object's file (*.yaml) in a directory, in the order of their file names."""
    directory = locate(directory, what="the directory of a library of objects")
    files = sorted(directory.glob("*.yaml"))
    if not files:
        raise ConfigError(
            f"{directory}: no object files (*.yaml) here; give the directory of a library of objects"
        )
    objects = tuple(load_object(file) for file in files)
    seen: dict[str, Path] = {}
    for one in objects:
        if one.name in seen:
            raise ConfigError(
                f"{one.path}: name: {one.name} is taken by {seen[one.name]}; give each its own name"
            )
        seen[one.name] = one.path
    return objects
