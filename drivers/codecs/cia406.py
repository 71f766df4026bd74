"""Encoders (CiA 406): the position PDO and the words that describe the encoder's state.

TPDO1 holds object 6004, position, 4 bytes; it is sent by the cyclic timer 6200 or, as TPDO2, with SYNC.
Position wraps at the total measuring range 6002, which need not be a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Self

from heft.drivers.codecs.canopen import MappedObject, PdoMap

__all__ = ["POSITION", "Operating", "Position"]

POSITION = PdoMap("CiA 406 position", MappedObject(0x6004, 0, "I"))


class Operating(IntFlag):
    """Operating parameters (6000), to be written, and operating status (6500), to be read."""

    COUNTER_CLOCKWISE = 1 << 0  # the code rises when the shaft, seen from its end, turns counter-clockwise
    COMMISSIONING_DIAGNOSTICS = 1 << 1
    SCALING = 1 << 2  # units per revolution 6001 and range 6002 are in force


@dataclass(frozen=True, slots=True)
class Position:
    """Position in the encoder's units, 0 to range - 1, as sent (wrapping)."""

    counts: int

    def encode(self) -> bytes:
        return POSITION.pack(self.counts)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls(*POSITION.unpack(data))
