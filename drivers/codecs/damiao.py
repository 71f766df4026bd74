"""Registers of Damiao actuators: how to ask for them, write them, and read the answer.

Requests go to identifier 0x7FF: motor u16 little-endian | operation | register | value (4 bytes, little-
endian). The answer comes from the motor's own feedback identifier in the same arrangement. A feedback frame
near the lower end of the position range can look like one: decode an answer only while one is due.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame

__all__ = [
    "REQUEST_ID",
    "TIMEOUT_TICK_S",
    "Answer",
    "Operation",
    "Register",
    "query",
    "refresh",
    "write",
]

REQUEST_ID = 0x7FF
#: Unit of the register TIMEOUT, the motor's own watchdog on the bus [s]; 0 switches it off.
TIMEOUT_TICK_S = 50e-6


class Operation(IntEnum):
    QUERY = 0x33
    WRITE = 0x55  # until power off
    SAVE = 0xAA  # to flash; the motor must be disabled
    REFRESH = 0xCC  # send a feedback frame


class Register(IntEnum):
    UNDER_VOLTAGE = 0
    TORQUE_CONSTANT = 1
    OVER_TEMPERATURE = 2
    OVER_CURRENT = 3
    MASTER_ID = 7  # identifier of the feedback
    MOTOR_ID = 8
    TIMEOUT = 9
    CONTROL_MODE = 10  # 1: MIT
    DAMPING = 11
    INERTIA = 12
    HARDWARE_VERSION = 13
    SOFTWARE_VERSION = 14
    SERIAL_NUMBER = 15
    POLE_PAIRS = 16
    RESISTANCE = 17
    INDUCTANCE = 18
    FLUX = 19
    GEAR_RATIO = 20
    POSITION_MAX = 21  # PMAX [rad]
    VELOCITY_MAX = 22  # VMAX [rad/s]
    TORQUE_MAX = 23  # TMAX [N m]
    CAN_BAUD = 35
    SUB_VERSION = 36
    MOTOR_POSITION = 80
    OUTPUT_POSITION = 81


#: Registers that hold whole numbers; all others hold a float.
_WHOLE = frozenset({7, 8, 9, 10, 13, 14, 15, 16, 35, 36})

_HEAD = Layout("Damiao register", "<HBB4s")
_FLOAT = Layout("Damiao register (float)", "<f")
_COUNT = Layout("Damiao register (u32)", "<I")


def query(motor: int, register: int) -> CanFrame:
    """Ask for a register."""
    return _frame(motor, Operation.QUERY, register)


def write(motor: int, register: int, value: float) -> CanFrame:
    """Write a register; it counts at once and until the power goes."""
    return _frame(motor, Operation.WRITE, register, _encode(register, value))


def refresh(motor: int) -> CanFrame:
    """Ask for a feedback frame without commanding anything."""
    return _frame(motor, Operation.REFRESH, 0x00)


@dataclass(frozen=True, slots=True)
class Answer:
    """A register's value; `operation` says what it answers."""

    motor: int
    operation: int
    register: int
    value: float | int

    def encode(self) -> bytes:
        return _HEAD.pack(self.motor, self.operation, self.register, _encode(self.register, self.value))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        motor, operation, register, value = _HEAD.unpack(data)
        if operation not in (Operation.QUERY, Operation.WRITE):
            raise ProtocolError(f"Damiao: {data.hex(' ')} does not answer a query or a write")
        layout = _COUNT if register in _WHOLE else _FLOAT
        return cls(motor, operation, register, *layout.unpack(value))


def _encode(register: int, value: float) -> bytes:
    if register not in _WHOLE:
        return _FLOAT.pack(value)
    if not math.isfinite(value) or value != int(value):
        raise ProtocolError(f"Damiao: register {register} holds a whole number, not {value}")
    return _COUNT.pack(int(value))


def _frame(motor: int, operation: int, register: int, value: bytes = bytes(4)) -> CanFrame:
    return CanFrame(REQUEST_ID, _HEAD.pack(motor, operation, register, value))
