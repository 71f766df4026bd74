"""moteus controllers: their registers and modes, and what a reply frame says.

The `moteus` library does the talking; this is the table that a driver names registers from, and a decoder of
replies that owes nothing to that library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from drivers.codecs.layout import Layout
from drivers.errors import ProtocolError

__all__ = ["Mode", "Register", "Reply"]


class Register(IntEnum):
    MODE = 0x000
    POSITION = 0x001  # [rev]
    VELOCITY = 0x002  # [rev/s]
    TORQUE = 0x003  # [N m]
    Q_CURRENT = 0x004  # [A]
    D_CURRENT = 0x005
    ABSOLUTE_POSITION = 0x006
    POWER = 0x007  # [W]
    MOTOR_TEMPERATURE = 0x00A  # [deg C]
    TRAJECTORY_COMPLETE = 0x00B
    HOME_STATE = 0x00C
    VOLTAGE = 0x00D  # [V]
    TEMPERATURE = 0x00E
    FAULT = 0x00F
    COMMAND_POSITION = 0x020
    COMMAND_VELOCITY = 0x021
    COMMAND_TORQUE = 0x022
    KP_SCALE = 0x023
    KD_SCALE = 0x024
    MAXIMUM_TORQUE = 0x025
    STOP_POSITION = 0x026
    WATCHDOG = 0x027  # [s]
    VELOCITY_LIMIT = 0x028
    ACCELERATION_LIMIT = 0x029


class Mode(IntEnum):
    STOPPED = 0
    FAULT = 1
    POSITION = 10
    TIMEOUT = 11  # the watchdog has run out; only a stop clears it
    ZERO_VELOCITY = 12
    STAY_WITHIN = 13
    BRAKE = 15


_PLAIN = (1.0, 1.0, 1.0)
_POSITION = (0.01, 1e-4, 1e-5)
_VELOCITY = (0.1, 2.5e-4, 1e-5)
_TORQUE = (0.5, 0.01, 1e-3)
_CURRENT = (1.0, 0.1, 1e-3)
_TEMPERATURE = (1.0, 0.1, 1e-3)
_RATIO = (1 / 127, 1 / 32767, 1 / 2147483647)

#: What one step of an int8, int16, int32 stands for.
_SCALES = {
    Register.MODE: _PLAIN,
    Register.POSITION: _POSITION,
    Register.VELOCITY: _VELOCITY,
    Register.TORQUE: _TORQUE,
    Register.Q_CURRENT: _CURRENT,
    Register.D_CURRENT: _CURRENT,
    Register.ABSOLUTE_POSITION: _POSITION,
    Register.POWER: (10.0, 0.05, 1e-4),
    Register.MOTOR_TEMPERATURE: _TEMPERATURE,
    Register.TRAJECTORY_COMPLETE: _PLAIN,
    Register.HOME_STATE: _PLAIN,
    Register.VOLTAGE: (0.5, 0.1, 1e-3),
    Register.TEMPERATURE: _TEMPERATURE,
    Register.FAULT: _PLAIN,
    Register.COMMAND_POSITION: _POSITION,
    Register.COMMAND_VELOCITY: _VELOCITY,
    Register.COMMAND_TORQUE: _TORQUE,
    Register.KP_SCALE: _RATIO,
    Register.KD_SCALE: _RATIO,
    Register.MAXIMUM_TORQUE: _TORQUE,
    Register.STOP_POSITION: _POSITION,
    Register.WATCHDOG: (0.01, 1e-3, 1e-6),
    Register.VELOCITY_LIMIT: _VELOCITY,
    Register.ACCELERATION_LIMIT: (0.05, 1e-3, 1e-5),
}
_TYPES = tuple(
    Layout(f"moteus {name}", code)
    for name, code in (("i8", "<b"), ("i16", "<h"), ("i32", "<i"), ("f32", "<f"))
)
_NOP = 0x50


@dataclass(frozen=True, slots=True)
class Reply:
    """`values` by register, in the unit noted there (NaN: not set); `errors` by register: the controller's
    code.
    """

    values: dict[Register, float]
    errors: dict[int, int]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """All subframes of a reply."""
        values: dict[Register, float] = {}
        errors: dict[int, int] = {}
        place = 0
        while place < len(data):
            head, place = data[place], place + 1
            if head == _NOP:
                continue
            if head in (0x30, 0x31):
                refused, place = _varuint(data, place)
                errors[refused], place = _varuint(data, place)
                continue
            if head & 0xF0 != 0x20:
                raise ProtocolError(f"moteus: {head:#04x} at byte {place - 1} begins no subframe of a reply")
            kind, count = head >> 2 & 3, head & 3
            if count == 0:
                count, place = _varuint(data, place)
            first, place = _varuint(data, place)
            size = _TYPES[kind].size
            for number in range(first, first + count):
                register = _register(number)
                values[register] = _scaled(register, kind, data[place : place + size])
                place += size
        return cls(values, errors)


def _varuint(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned number in groups of seven bits, lowest first, and the place behind it."""
    value = 0
    for shift in range(0, 35, 7):
        if place >= len(data):
            raise ProtocolError("moteus: the reply ends inside a number")
        byte, place = data[place], place + 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
    raise ProtocolError("moteus: a number of more than 5 bytes in the reply")


def _register(number: int) -> Register:
    if number not in _SCALES:
        raise ProtocolError(f"moteus: register {number:#05x} is not in the table")
    return Register(number)


def _scaled(register: Register, kind: int, raw: bytes) -> float:
    layout = _TYPES[kind]
    (value,) = layout.unpack(raw)
    if kind == 3:
        return float(value)
    if value == -(1 << (8 * layout.size - 1)):
        return math.nan
    return float(value * _SCALES[register][kind])
