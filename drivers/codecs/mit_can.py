"""The packed protocol of MIT's mini cheetah, as spoken by T-Motor (CubeMars) AK and Damiao actuators.

Command, 8 bytes, most significant bit first: position 16 | velocity 12 | kp 12 | kd 12 | torque 12.
Feedback, 6 or 8 bytes: motor | position 16 | velocity 12 | torque 12 | (two more bytes, by dialect).
Each number is a code between the ends of a range that is not in the bytes: a wrong range is silently a
wrong unit. The actuator answers commands only; its torque is current times a constant, an estimate without
friction; and what an AK motor sends wraps at the limits of its range, velocity and torque too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "RANGES",
    "TORQUE_GAINS",
    "Command",
    "Dialect",
    "Feedback",
    "Field",
    "Range",
    "Special",
    "describe_status",
    "is_fault",
]


@dataclass(frozen=True, slots=True)
class Field:
    """A number sent as a code of `bits` bits: value = scale * code + offset, from `low` to `high`."""

    name: str
    low: float
    high: float
    bits: int

    @property
    def scale(self) -> float:
        return (self.high - self.low) / ((1 << self.bits) - 1)

    @property
    def offset(self) -> float:
        return self.low

    def encode(self, value: float) -> int:
        """The code below `value`, as the vendors' libraries round; outside the range raises, never clamps."""
        if not self.low <= value <= self.high:
            raise ProtocolError(f"MIT: {self.name} {value} is outside {self.low:g} to {self.high:g}")
        # The millionth of a code keeps a decoded value from falling to the code below.
        return int((value - self.low) * ((1 << self.bits) - 1) / (self.high - self.low) + 1e-6)

    def decode(self, code: int) -> float:
        return code * (self.high - self.low) / ((1 << self.bits) - 1) + self.low


@dataclass(frozen=True, slots=True)
class Range:
    """What the codes of one motor type mean: position [rad], velocity [rad/s], torque [N m], gains."""

    position: Field
    velocity: Field
    torque: Field
    kp: Field = Field("kp", 0.0, 500.0, 12)
    kd: Field = Field("kd", 0.0, 5.0, 12)

    @classmethod
    def of(cls, position: float, velocity: float, torque: float) -> Self:
        """A range that goes from minus to plus these limits."""
        for limit in (position, velocity, torque):
            if not (limit > 0 and math.isfinite(limit)):
                raise ProtocolError(f"MIT: range {position}, {velocity}, {torque}; expected positive limits")
        return cls(
            Field("position", -position, position, 16),
            Field("velocity", -velocity, velocity, 12),
            Field("torque", -torque, torque, 12),
        )


#: Ranges at delivery. On Damiao motors compare with the registers PMAX, VMAX, TMAX (see `damiao`).
RANGES = {
    "AK80-9": Range.of(12.5, 50.0, 18.0),
    "AK10-9": Range.of(12.5, 50.0, 65.0),
    "AK60-6": Range.of(12.5, 50.0, 15.0),
    "AK70-10": Range.of(12.5, 50.0, 25.0),
    "AK80-6": Range.of(12.5, 76.0, 12.0),
    "AK80-64": Range.of(12.5, 8.0, 144.0),
    "DM4310": Range.of(12.5, 30.0, 10.0),
    "DM4310-48V": Range.of(12.5, 50.0, 10.0),
    "DM4340": Range.of(12.5, 8.0, 28.0),
    "DM4340-48V": Range.of(12.5, 10.0, 28.0),
    "DM6006": Range.of(12.5, 45.0, 20.0),
    "DM8006": Range.of(12.5, 45.0, 40.0),
    "DM8009": Range.of(12.5, 45.0, 54.0),
    "DM10010L": Range.of(12.5, 25.0, 200.0),
    "DM10010": Range.of(12.5, 20.0, 200.0),
}


#: True torque over what the firmware reports: for the AK80-9 0.59 x 0.115 / 0.091, its measured current factor and
#: torque constant over the constant that it computes with (TMotorCANControl). Of other models nothing is published.
TORQUE_GAINS = {"AK80-9": 0.59 * 0.115 / 0.091}


class Special(Enum):
    """Frames that are orders, not setpoints. After ZERO an AK motor is silent for about a second."""

    CLEAR_ERROR = b"\xff" * 7 + b"\xfb"  # Damiao only
    ENABLE = b"\xff" * 7 + b"\xfc"
    DISABLE = b"\xff" * 7 + b"\xfd"
    ZERO = b"\xff" * 7 + b"\xfe"


_SPECIALS = frozenset(s.value for s in Special)


@dataclass(frozen=True, slots=True)
class Command:
    """The motor's torque is kp (position - q) + kd (velocity - dq) + torque. All zero: it moves freely, and
    answers.
    """

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0

    def encode(self, of: Range) -> bytes:
        word = of.position.encode(self.position)
        word = word << 12 | of.velocity.encode(self.velocity)
        word = word << 12 | of.kp.encode(self.kp)
        word = word << 12 | of.kd.encode(self.kd)
        word = word << 12 | of.torque.encode(self.torque)
        data = word.to_bytes(8, "big")
        if data in _SPECIALS:
            raise ProtocolError(
                f"MIT: {self} has the bytes of {Special(data).name}; lower a gain or the torque a little"
            )
        return data

    @classmethod
    def decode(cls, data: bytes, of: Range) -> Self:
        if len(data) != 8:
            raise ProtocolError(f"MIT command: {len(data)} bytes, expected 8")
        if data in _SPECIALS:
            raise ProtocolError(f"MIT command: {data.hex(' ')} is the order {Special(data).name}")
        word = int.from_bytes(data, "big")
        return cls(
            position=of.position.decode(word >> 48),
            velocity=of.velocity.decode(word >> 36 & 0xFFF),
            kp=of.kp.decode(word >> 24 & 0xFFF),
            kd=of.kd.decode(word >> 12 & 0xFFF),
            torque=of.torque.decode(word & 0xFFF),
        )


class Dialect(StrEnum):
    """What stands around the packed numbers of a feedback frame."""

    AK = "ak"  # byte 0 the motor; bytes 6 and 7, which old firmware leaves out: temperature, error
    DAMIAO = (
        "damiao"  # byte 0 the low four bits of the motor, and the status above them; bytes 6, 7: temperatures
    )


_AK_TAIL = Layout("AK feedback", "<bB")
_DAMIAO_TAIL = Layout("Damiao feedback", "<BB")


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a motor answers; position, velocity and torque are raw codes (see `Range` for scale and offset).

    status          AK: error code; Damiao: status (0 disabled, 1 enabled, else a fault); None: not sent
    temperatures_c  AK: driver; Damiao: transistors, windings; empty: not sent
    """

    motor: int
    position: int
    velocity: int
    torque: int
    status: int | None = None
    temperatures_c: tuple[int, ...] = ()

    def encode(self, dialect: Dialect) -> bytes:
        head = self.motor
        tail = b""
        try:
            if dialect is Dialect.DAMIAO:
                tail = _DAMIAO_TAIL.pack(*self.temperatures_c)
                head = _within(self.motor, 4) | _within(self.status or 0, 4) << 4
            elif self.status is not None:
                tail = _AK_TAIL.pack(*self.temperatures_c, self.status)
            word = (
                _within(self.position, 16) << 24 | _within(self.velocity, 12) << 12 | _within(self.torque, 12)
            )
            return _within(head, 8).to_bytes(1, "big") + word.to_bytes(5, "big") + tail
        except OverflowError:
            raise ProtocolError(f"MIT feedback: {self} does not fit its fields") from None

    @classmethod
    def decode(cls, data: bytes, dialect: Dialect) -> Self:
        lengths = (8,) if dialect is Dialect.DAMIAO else (6, 8)
        if len(data) not in lengths:
            raise ProtocolError(f"MIT feedback: {len(data)} bytes, expected {' or '.join(map(str, lengths))}")
        motor, word = data[0], int.from_bytes(data[1:6], "big")
        status: int | None = None
        temperatures: tuple[int, ...] = ()
        if dialect is Dialect.DAMIAO:
            motor, status = motor & 0xF, motor >> 4
            temperatures = _DAMIAO_TAIL.unpack(data[6:])
        elif len(data) == 8:
            temperature, status = _AK_TAIL.unpack(data[6:])
            temperatures = (temperature,)
        return cls(motor, word >> 24, word >> 12 & 0xFFF, word & 0xFFF, status, temperatures)


def _within(value: int, bits: int) -> int:
    if not 0 <= value < 1 << bits:
        raise OverflowError
    return value


_STATUS = {
    Dialect.AK: {
        0: "no error",
        1: "over-temperature",
        2: "over-current",
        3: "over-voltage",
        4: "under-voltage",
        5: "encoder",
        6: "phase current unbalanced",
    },
    Dialect.DAMIAO: {
        0x0: "disabled",
        0x1: "enabled",
        0x5: "sensor",
        0x6: "parameter",
        0x8: "over-voltage",
        0x9: "under-voltage",
        0xA: "over-current",
        0xB: "transistors over-temperature",
        0xC: "windings over-temperature",
        0xD: "communication lost",
        0xE: "overload",
    },
}


def is_fault(dialect: Dialect, status: int | None) -> bool:
    """True where the status says that the motor is in trouble."""
    return status is not None and status > (1 if dialect is Dialect.DAMIAO else 0)


def describe_status(dialect: Dialect, status: int | None) -> str:
    """The status in words."""
    if status is None:
        return "not sent"
    return _STATUS[dialect].get(status, f"unknown status {status}")
