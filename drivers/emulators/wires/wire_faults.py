"""What goes wrong on the wire of an emulated device, on command.

Those of simulated devices (`heft.drivers.plant.faults`: drop, burst, silence, corrupt, duplicate, late), acting on
whole frames as the device sends them, and these besides:

    truncate   frames end early
    status     bits in the device's own status or error word
    bus_off    a CAN controller leaves its bus: an error frame, then silence

`stuck`, `saturate` and `drive_fault` act inside the device model. What is wrong from the start (another serial number
or unit, a counter about to wrap) is an option of the emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field

from heft.drivers.plant.faults import (
    Burst,
    Corrupt,
    DriveFault,
    Drop,
    Duplicate,
    Fault,
    Late,
    Saturate,
    Silence,
    Stuck,
)
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.faults import Delivery, FaultInjector, Faults

__all__ = ["BusOff", "Status", "Truncate", "WireFault", "WireFaults", "active"]

_NO_FAULTS = Faults()
T = TypeVar("T", bytes, CanFrame)
F = TypeVar("F", bound=Fault)


class Truncate(Fault):
    """Each frame is cut short with probability `rate`."""

    kind: Literal["truncate"] = "truncate"
    rate: Annotated[float, Field(gt=0, le=1)] = 0.01


class Status(Fault):
    """These bits are set in the device's status or error word."""

    kind: Literal["status"] = "status"
    bits: Annotated[int, Field(gt=0)]


class BusOff(Fault):
    """The controller of the bus reports bus-off."""

    kind: Literal["bus_off"] = "bus_off"


WireFault = Annotated[
    Drop
    | Burst
    | Silence
    | Corrupt
    | Duplicate
    | Late
    | Stuck
    | Saturate
    | DriveFault
    | Truncate
    | Status
    | BusOff,
    Field(discriminator="kind"),
]


def active(faults: Sequence[Fault], kind: type[F], t: float) -> list[F]:
    """Those of one kind that act at t [s]."""
    return [fault for fault in faults if isinstance(fault, kind) and bool(fault.active(np.array([t]))[0])]


class WireFaults(Generic[T]):
    """Decides what becomes of each frame; reproducible by its seed. On a `checked` line corrupt frames are dropped."""

    def __init__(self, seed: int, *, checked: bool = False) -> None:
        self._checked = checked
        self._injector: FaultInjector[T] = FaultInjector(seed)
        self._bursts = np.random.default_rng(seed)
        self._bad = False

    def pass_on(self, item: T, t: float, now_ns: int, faults: Sequence[Fault]) -> Sequence[Delivery[T]]:
        """What arrives of a frame that is sent at t [s], host time `now_ns`, while `faults` are known."""
        acting = active(faults, Fault, t) if faults else ()
        if any(isinstance(fault, Burst) and self._burst(fault) for fault in acting):
            return ()
        wanted = self._combined(acting) if acting else _NO_FAULTS
        if wanted is not self._injector.faults:
            self._injector.faults = wanted
        return self._injector.pass_on(item, now_ns)

    def _burst(self, fault: Burst) -> bool:
        """Gilbert's line: lost in the bad state, whose share is `rate` and whose mean stay is `length` frames."""
        leave = 1.0 / fault.length
        enter = leave * fault.rate / (1.0 - fault.rate)
        x = self._bursts.random()
        self._bad = bool(x >= leave) if self._bad else bool(x < enter)
        return self._bad

    def _combined(self, faults: Sequence[Fault]) -> Faults:
        """All that act at once, as the faults of one line."""
        chance = {"drop": 0.0, "corrupt": 0.0, "truncate": 0.0, "duplicate": 0.0}
        delay_s, silence = 0.0, False
        for fault in faults:
            match fault:
                case Drop() | Corrupt() | Truncate() | Duplicate():
                    kind = "drop" if self._checked and isinstance(fault, Corrupt) else fault.kind
                    chance[kind] = 1.0 - (1.0 - chance[kind]) * (1.0 - fault.rate)
                case Late():
                    delay_s += fault.delay_s
                case Silence() | BusOff():
                    silence = True
        return Faults(
            drop=chance["drop"],
            corrupt=chance["corrupt"],
            truncate=chance["truncate"],
            duplicate=chance["duplicate"],
            delay_s=delay_s,
            silence=silence,
        )
