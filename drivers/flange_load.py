"""The load on a flange that a robot's controller reckons with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["FlangeLoad", "LoadHolder"]


@dataclass(frozen=True, slots=True)
class FlangeLoad:
    """All that hangs on the flange, hand included, in the flange's frame.

    mass      [kg]
    com       centre of mass [m]
    inertia   about it [kg m2]: xx, yy, zz, xy, xz, yz; None: not told
    """

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float] | None = None


@runtime_checkable
class LoadHolder(Protocol):
    """A device whose controller holds the load on its flange."""

    name: str

    async def load(self) -> FlangeLoad:
        """What the controller holds; CommandError where it does not tell."""
        ...

    async def set_load(self, load: FlangeLoad) -> None:
        """Let the controller hold another one, and see that it does; CommandError where it does not."""
        ...
