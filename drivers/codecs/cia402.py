"""Drives (CiA 402): the state machine as pure functions, and the recommended PDOs.

TPDO1  statusword 6041 u16, position 6064 i32; for torque also 6077 i16 [per mille of rated torque 6076]
TPDO2  velocity 606C i32, error code 603F u16; for current also 6078 i16 [per mille of rated current 6075]
RPDO1  controlword 6040 u16, target position 607A i32, mode of operation 6060 i8
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, IntFlag
from typing import Self

from heft.drivers.codecs.canopen import MappedObject, PdoMap
from heft.drivers.errors import ProtocolError

__all__ = [
    "CURRENT_PDOS",
    "RPDO1",
    "TORQUE_PDOS",
    "Abort",
    "Controlword",
    "Feedback",
    "Mode",
    "Motion",
    "QuickStop",
    "Setpoint",
    "State",
    "Statusword",
    "controlword_toward",
    "describe_error",
    "interpolation_period",
    "state",
]

_STATUS, _POSITION, _TORQUE = (
    MappedObject(0x6041, 0, "H"),
    MappedObject(0x6064, 0, "i"),
    MappedObject(0x6077, 0, "h"),
)
_VELOCITY, _CURRENT, _ERROR = (
    MappedObject(0x606C, 0, "i"),
    MappedObject(0x6078, 0, "h"),
    MappedObject(0x603F, 0, "H"),
)
#: TPDO1 and TPDO2 by what torque is identified from: drives have one of 6077 and 6078, and not always both.
TORQUE_PDOS = (PdoMap("TPDO1", _STATUS, _POSITION, _TORQUE), PdoMap("TPDO2", _VELOCITY, _ERROR))
CURRENT_PDOS = (PdoMap("TPDO1", _STATUS, _POSITION), PdoMap("TPDO2", _VELOCITY, _ERROR, _CURRENT))
RPDO1 = PdoMap(
    "RPDO1", MappedObject(0x6040, 0, "H"), MappedObject(0x607A, 0, "i"), MappedObject(0x6060, 0, "b")
)


class State(Enum):
    """States of the drive."""

    NOT_READY = "not ready to switch on"
    SWITCH_ON_DISABLED = "switch on disabled"
    READY = "ready to switch on"
    SWITCHED_ON = "switched on"
    OPERATION_ENABLED = "operation enabled"
    QUICK_STOP = "quick stop active"
    FAULT_REACTION = "fault reaction active"
    FAULT = "fault"


class Controlword(IntEnum):
    """Commands. FAULT_RESET acts on the rising edge of bit 7."""

    DISABLE_VOLTAGE = 0x00
    QUICK_STOP = 0x02
    SHUTDOWN = 0x06
    SWITCH_ON = 0x07  # from operation enabled: disable operation
    ENABLE = 0x0F
    FAULT_RESET = 0x80


class Statusword(IntFlag):
    """Bits beside those that make up the state."""

    VOLTAGE_ENABLED = 1 << 4
    WARNING = 1 << 7
    REMOTE = 1 << 9
    TARGET_REACHED = 1 << 10
    INTERNAL_LIMIT = 1 << 11
    FOLLOWS_COMMAND = 1 << 12  # cyclic modes
    FOLLOWING_ERROR = 1 << 13  # position modes


class Mode(IntEnum):
    """Modes of operation (6060, 6061)."""

    NONE = 0
    PROFILE_POSITION = 1
    PROFILE_VELOCITY = 3
    TORQUE = 4
    HOMING = 6
    INTERPOLATED = 7
    CYCLIC_POSITION = 8
    CYCLIC_VELOCITY = 9
    CYCLIC_TORQUE = 10


class Abort(IntEnum):
    """What the drive does when communication is lost (6007)."""

    NOTHING = 0
    FAULT = 1
    DISABLE_VOLTAGE = 2
    QUICK_STOP = 3


class QuickStop(IntEnum):
    """What the drive does after a quick stop (605A), where this project minds."""

    SWITCH_OFF = 2
    STAY = 6  # in quick stop active: powered, at standstill


_STATES = (
    (0x4F, 0x00, State.NOT_READY),
    (0x4F, 0x40, State.SWITCH_ON_DISABLED),
    (0x6F, 0x21, State.READY),
    (0x6F, 0x23, State.SWITCHED_ON),
    (0x6F, 0x27, State.OPERATION_ENABLED),
    (0x6F, 0x07, State.QUICK_STOP),
    (0x4F, 0x0F, State.FAULT_REACTION),
    (0x4F, 0x08, State.FAULT),
)


def state(statusword: int) -> State:
    """The state that a statusword shows."""
    for mask, value, result in _STATES:
        if statusword & mask == value:
            return result
    raise ProtocolError(f"CiA 402: statusword {statusword:#06x} shows no state")


#: The ladder from off to on, with the command that climbs to each rung and keeps it.
_LADDER = (
    (State.SWITCH_ON_DISABLED, Controlword.DISABLE_VOLTAGE),
    (State.READY, Controlword.SHUTDOWN),
    (State.SWITCHED_ON, Controlword.SWITCH_ON),
    (State.OPERATION_ENABLED, Controlword.ENABLE),
)
_RUNG = {s: i for i, (s, _) in enumerate(_LADDER)}


def controlword_toward(present: State, target: State, *, previous: int = 0, reset_fault: bool = False) -> int:
    """The controlword that brings a drive one step nearer to `target`, or keeps it there.

    `target` is a rung between switch-on-disabled and operation-enabled, or quick stop. `previous` is the
    controlword sent last, for the edge that a fault reset needs. A drive in fault stays there unless
    `reset_fault`. A drive that has quick-stopped climbs again from the bottom: going straight back is
    optional in the profile.

    This climbs whenever it is asked to. Ask for operation-enabled only while arming: a drive that has left it
    by itself is a fault to report, not a step to repeat.
    """
    if target is not State.QUICK_STOP and target not in _RUNG:
        raise ProtocolError(f"CiA 402: a drive cannot be sent to {target.value!r}")
    if present is State.FAULT and reset_fault and not previous & Controlword.FAULT_RESET:
        return Controlword.FAULT_RESET
    if present in (State.FAULT, State.FAULT_REACTION, State.NOT_READY):
        return Controlword.DISABLE_VOLTAGE
    if target is State.QUICK_STOP:
        return Controlword.QUICK_STOP
    if present is State.QUICK_STOP:
        return Controlword.DISABLE_VOLTAGE
    rung, goal = _RUNG[present], _RUNG[target]
    return _LADDER[min(rung + 1, goal)][1]


@dataclass(frozen=True, slots=True)
class Feedback:
    """TPDO1. `position` in the drive's units, `torque` in per mille of the rated torque; None: it is not in it."""

    statusword: int
    position: int
    torque: int | None = None

    def encode(self) -> bytes:
        if self.torque is None:
            return CURRENT_PDOS[0].pack(self.statusword, self.position)
        return TORQUE_PDOS[0].pack(self.statusword, self.position, self.torque)

    @classmethod
    def decode(cls, data: bytes, *, torque: bool) -> Self:
        return cls(*(TORQUE_PDOS if torque else CURRENT_PDOS)[0].unpack(data))


@dataclass(frozen=True, slots=True)
class Motion:
    """TPDO2. `velocity` in the drive's units, `current` in per mille of the rated current; None: it is not in it."""

    velocity: int
    error_code: int
    current: int | None = None

    def encode(self) -> bytes:
        if self.current is None:
            return TORQUE_PDOS[1].pack(self.velocity, self.error_code)
        return CURRENT_PDOS[1].pack(self.velocity, self.error_code, self.current)

    @classmethod
    def decode(cls, data: bytes, *, current: bool) -> Self:
        return cls(*(CURRENT_PDOS if current else TORQUE_PDOS)[1].unpack(data))


@dataclass(frozen=True, slots=True)
class Setpoint:
    """RPDO1. `position` in the drive's units."""

    controlword: int
    position: int
    mode: int = Mode.CYCLIC_POSITION

    def encode(self) -> bytes:
        return RPDO1.pack(self.controlword, self.position, self.mode)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls(*RPDO1.unpack(data))


def interpolation_period(period_us: int) -> tuple[int, int]:
    """Value u8 and exponent i8 of object 60C2: the period is value * 10**exponent seconds, exactly."""
    value, exponent = period_us, -6
    while value and value % 10 == 0:
        value, exponent = value // 10, exponent + 1
    if not 1 <= value <= 255:
        raise ProtocolError(f"CiA 402: a period of {period_us} us is not 1..255 times a power of ten")
    return value, exponent


_ERRORS = (
    (0xFFFF, 0x0000, "no error"),
    (0xFF00, 0x8100, "communication"),
    (0xFF00, 0x8600, "positioning or following error"),
    (0xFF00, 0x8700, "SYNC controller"),
    (0xF000, 0x1000, "generic"),
    (0xF000, 0x2000, "current"),
    (0xF000, 0x3000, "voltage"),
    (0xF000, 0x4000, "temperature"),
    (0xF000, 0x5000, "device hardware"),
    (0xF000, 0x6000, "device software"),
    (0xF000, 0x7000, "additional modules"),
    (0xF000, 0x8000, "monitoring"),
    (0xF000, 0x9000, "external"),
    (0xF000, 0xF000, "additional functions"),
)


def describe_error(code: int) -> str:
    """The class of an error code (603F or EMCY); the rest of the code is in the drive's manual."""
    for mask, value, text in _ERRORS:
        if code & mask == value:
            return f"{code:#06x} ({text})"
    return f"{code:#06x} (manufacturer's)"
