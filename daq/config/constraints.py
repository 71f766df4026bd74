"""The section `constraints` of a robot's file: what is known exactly of its links, or as exactly as a scale says."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from heft.daq.config.reader import Model

__all__ = ["ConstraintsConfig", "LineConfig", "MirrorConfig", "WeighedConfig"]

Vector3 = tuple[float, float, float]
Links = Annotated[tuple[str, ...], Field(min_length=2)]


class WeighedConfig(Model):
    """What a scale says [kg], and how well it knows it."""

    value: Annotated[float, Field(gt=0)]
    std: Annotated[float, Field(ge=0)] = 0.0


def _has_length(value: Vector3) -> Vector3:
    if not any(value):
        raise ValueError("a direction cannot be zero; give a vector that points along it")
    return value


class MirrorConfig(Model):
    """Two links that are mirror images, each in its own frame, in the plane through the origin with this normal."""

    links: tuple[str, str]
    normal: Vector3

    _directed = field_validator("normal")(_has_length)


class LineConfig(Model):
    """A line in a link's frame [m]."""

    point: Vector3 = (0.0, 0.0, 0.0)
    direction: Vector3

    _directed = field_validator("direction")(_has_length)


class ConstraintsConfig(Model):
    """Linear equalities between parameters: see docs/constraints.md.

    `total_mass` is that of all links that move, without the base. Links that are `equal` have the same ten numbers,
    each in its own frame; `pinned` links are as the file says; `com_on_line` has a line by link.
    """

    total_mass: WeighedConfig | None = None
    equal: tuple[Links, ...] = ()
    pinned: tuple[str, ...] = ()
    mirrored: tuple[MirrorConfig, ...] = ()
    com_on_line: dict[str, LineConfig] = Field(default_factory=dict)

    @field_validator("total_mass", mode="before")
    @classmethod
    def _number_alone(cls, value: object) -> object:
        return {"value": value} if isinstance(value, int | float) else value
