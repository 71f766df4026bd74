"""Robotiq 2F and Hand-E grippers: what their six bytes of Modbus registers mean.

Three registers from 0x03E8 are written, three from 0x07D0 read; of each register the high byte comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = ["ACTION", "CURRENT_SCALE", "STATUS", "UNIT", "Action", "Activation", "Fault", "Object", "Status"]

UNIT = 9
#: First register and number of registers.
ACTION = (0x03E8, 3)
STATUS = (0x07D0, 3)
CURRENT_SCALE = 0.01  # [A] per count

_BYTES = Layout("Robotiq 2F registers", ">BBBBBB")
_REGISTERS = Layout("Robotiq 2F registers", ">HHH")


class Activation(IntEnum):
    """gSTA. A gripper that is not active must be, by a rising edge of `activate`, before it moves."""

    RESET = 0
    ACTIVATING = 1
    UNUSED = 2
    ACTIVE = 3


class Object(IntEnum):
    """gOBJ: why the fingers stand still. Means nothing while `going` is False."""

    MOVING = 0
    CONTACT_OPENING = 1
    CONTACT_CLOSING = 2
    AT_POSITION = 3  # there is no object, or it was lost


class Fault(IntEnum):
    """gFLT. From UNDER_VOLTAGE on the gripper must be activated anew."""

    NONE = 0x0
    ACTIVATION_PENDING = 0x5
    NOT_ACTIVATED = 0x7
    OVER_TEMPERATURE = 0x8
    NO_COMMUNICATION = 0x9  # for at least 1 s
    UNDER_VOLTAGE = 0xA
    RELEASING = 0xB
    INTERNAL = 0xC
    ACTIVATION = 0xD
    OVER_CURRENT = 0xE
    RELEASED = 0xF


@dataclass(frozen=True, slots=True)
class Action:
    """What is asked of the gripper. Position, speed and force from 0 to 255; position 0 is open.

    `release` drops what is held at once, slowly, and ends in a fault; `release_opens` is its direction.
    """

    activate: bool = False
    go: bool = False
    release: bool = False
    release_opens: bool = False
    position: int = 0
    speed: int = 0
    force: int = 0

    def encode(self) -> tuple[int, ...]:
        """The three registers to write at `ACTION`."""
        flags = self.activate | self.go << 3 | self.release << 4 | self.release_opens << 5
        return _REGISTERS.unpack(_BYTES.pack(flags, 0, 0, self.position, self.speed, self.force))

    @classmethod
    def decode(cls, registers: Sequence[int]) -> Self:
        flags, _, _, position, speed, force = _six(registers)
        return cls(
            bool(flags & 1), bool(flags & 8), bool(flags & 16), bool(flags & 32), position, speed, force
        )


@dataclass(frozen=True, slots=True)
class Status:
    """What the gripper says.

    activated, going   echo of what was asked
    requested          echo of the requested position: proves that the rest is an answer to that request
    position           of the fingers, 0 (open) to 255
    current            of the motor [10 mA]
    """

    activated: bool
    going: bool
    activation: Activation
    object: Object
    fault: int
    controller_fault: int
    requested: int
    position: int
    current: int

    def encode(self) -> tuple[int, ...]:
        flags = self.activated | self.going << 3 | self.activation << 4 | self.object << 6
        faults = self.fault | self.controller_fault << 4
        return _REGISTERS.unpack(_BYTES.pack(flags, 0, faults, self.requested, self.position, self.current))

    @classmethod
    def decode(cls, registers: Sequence[int]) -> Self:
        """The three registers read at `STATUS`."""
        flags, _, faults, requested, position, current = _six(registers)
        return cls(
            activated=bool(flags & 1),
            going=bool(flags >> 3 & 1),
            activation=Activation(flags >> 4 & 3),
            object=Object(flags >> 6),
            fault=faults & 0xF,
            controller_fault=faults >> 4,
            requested=requested,
            position=position,
            current=current,
        )

    @property
    def fault_name(self) -> str:
        """The fault in words."""
        known = self.fault in set(Fault)
        return Fault(self.fault).name.lower().replace("_", " ") if known else f"unknown fault {self.fault:#x}"


def _six(registers: Sequence[int]) -> tuple[int, ...]:
    if len(registers) != 3:
        raise ProtocolError(f"Robotiq 2F: {len(registers)} registers, expected 3")
    return _BYTES.unpack(_REGISTERS.pack(*registers))
