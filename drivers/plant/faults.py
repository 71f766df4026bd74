"""Faults on command: in the rig's file (`simulation: faults:`), or injected while it runs.

Each one says when it begins (`at_s`, seconds since the world's start), how long it lasts (`duration_s`, to the end if
left out) and which device it happens to. What the user sees of it:

    drop         single samples missing: gaps in the sequence, counted as lost
    burst        the same in runs (Gilbert's two-state line)
    silence      no samples at all; the driver raises DeviceLost after its `timeout_s`
    corrupt      frames that fail their check: values marked CORRUPT
    duplicate    frames that come twice: the second is dropped and counted
    stuck        the device's counter stands still: values marked STALE
    saturate     columns at full scale: values marked SATURATED
    late         frames that arrive late by `delay_s`
    drive_fault  the drive switches itself off, the brakes engage, the driver raises DeviceFault
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.options import Options

__all__ = [
    "AnyFault",
    "Burst",
    "Corrupt",
    "DriveFault",
    "Drop",
    "Duplicate",
    "Fault",
    "Late",
    "Saturate",
    "Silence",
    "Stuck",
]

Rate = Annotated[float, Field(gt=0, le=1)]


class Fault(Options):
    """Device, begin and duration of a fault."""

    device: str
    at_s: Annotated[float, Field(ge=0)] = 0.0
    duration_s: Annotated[float, Field(gt=0)] | None = None

    def active(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether it acts on samples taken at t [s], shape (N,)."""
        end = np.inf if self.duration_s is None else self.at_s + self.duration_s
        return (t >= self.at_s) & (t < end)


class Drop(Fault):
    """Each sample is lost with probability `rate`."""

    kind: Literal["drop"] = "drop"
    rate: Rate = 0.01


class Burst(Fault):
    """A share `rate` of the samples is lost, in runs of `length` samples on average."""

    kind: Literal["burst"] = "burst"
    rate: Annotated[float, Field(gt=0, lt=1)] = 0.01
    length: Annotated[float, Field(ge=1)] = 10.0


class Silence(Fault):
    """Nothing arrives."""

    kind: Literal["silence"] = "silence"


class Corrupt(Fault):
    """Each frame has a bit flipped with probability `rate`, and fails its check."""

    kind: Literal["corrupt"] = "corrupt"
    rate: Rate = 0.01


class Duplicate(Fault):
    """Each frame arrives twice with probability `rate`."""

    kind: Literal["duplicate"] = "duplicate"
    rate: Rate = 0.01


class Stuck(Fault):
    """The device's counter stands still."""

    kind: Literal["stuck"] = "stuck"


class Saturate(Fault):
    """One column of every integer stream (`column` counts from 0), or all of them, at full scale."""

    kind: Literal["saturate"] = "saturate"
    column: Annotated[int, Field(ge=0)] | None = None


class Late(Fault):
    """Frames arrive `delay_s` later than they should."""

    kind: Literal["late"] = "late"
    delay_s: Annotated[float, Field(gt=0)] = 0.05


class DriveFault(Fault):
    """The drive of `joint` finds a fault and switches all axes off; `arm` is refused while it lasts."""

    kind: Literal["drive_fault"] = "drive_fault"
    joint: str


AnyFault = Annotated[
    Drop | Burst | Silence | Corrupt | Duplicate | Stuck | Saturate | Late | DriveFault,
    Field(discriminator="kind"),
]
