"""Messages of ODrive CANSimple. Angles are in turns of the motor; all fields are little-endian."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any, ClassVar, Self

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "AxisState",
    "ClearErrors",
    "ControlMode",
    "EncoderCount",
    "EncoderEstimates",
    "Heartbeat",
    "Heartbeat05",
    "InputMode",
    "InputPosition",
    "Iq",
    "Message",
    "SdoAnswer",
    "SdoRequest",
    "SetControllerMode",
    "SetState",
    "Version",
]


class AxisState(IntEnum):
    IDLE = 1
    FULL_CALIBRATION = 3
    CLOSED_LOOP = 8


class ControlMode(IntEnum):
    VOLTAGE = 0
    TORQUE = 1
    VELOCITY = 2
    POSITION = 3


class InputMode(IntEnum):
    INACTIVE = 0
    PASSTHROUGH = 1
    VELOCITY_RAMP = 2
    POSITION_FILTER = 3
    TRAPEZOIDAL = 5
    TORQUE_RAMP = 6


def _four(value: bytes) -> bytes:
    if len(value) != 4:
        raise ProtocolError(f"ODrive SDO: a value of {len(value)} bytes, expected 4 (pad with zeros behind)")
    return value


@dataclass(frozen=True, slots=True)
class Message:
    """A message whose fields stand one after the other in `layout`.

    `command` is its number, `length` the bytes that the vendor's library sends; those after the fields are
    zero, and on receipt they may be missing.
    """

    command: ClassVar[int]
    layout: ClassVar[Layout]
    length: ClassVar[int] = 8

    def encode(self) -> bytes:
        return self.layout.pack(*self._fields()).ljust(self.length, b"\0")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        size = cls.layout.size
        if not size <= len(data) <= max(size, cls.length):
            raise ProtocolError(f"{cls.layout.name}: {len(data)} bytes, expected {size} to {cls.length}")
        return cls._from(*cls.layout.unpack(data[:size]))

    def _fields(self) -> tuple[Any, ...]:
        return astuple(self)

    @classmethod
    def _from(cls, *fields: Any) -> Self:
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class Version(Message):
    """Firmware 0.6."""

    command: ClassVar[int] = 0x00
    layout: ClassVar[Layout] = Layout("ODrive version", "<8B")
    protocol: int
    hardware_major: int
    hardware_minor: int
    hardware_variant: int
    firmware_major: int
    firmware_minor: int
    firmware_revision: int
    unreleased: int


@dataclass(frozen=True, slots=True)
class Heartbeat(Message):
    """Firmware 0.6; every 100 ms by default."""

    command: ClassVar[int] = 0x01
    layout: ClassVar[Layout] = Layout("ODrive heartbeat (0.6)", "<IBBB")
    error: int
    state: int
    procedure_result: int
    trajectory_done: bool

    @classmethod
    def _from(cls, *fields: Any) -> Self:
        error, state, result, done = fields
        return cls(error, state, result, bool(done & 1))


@dataclass(frozen=True, slots=True)
class Heartbeat05(Message):
    """Firmware 0.5: no result of procedures, but which part of the axis has an error."""

    command: ClassVar[int] = 0x01
    layout: ClassVar[Layout] = Layout("ODrive heartbeat (0.5)", "<IBBBB")
    error: int
    state: int
    motor_error: bool
    encoder_error: bool
    controller_error: bool
    trajectory_done: bool

    def _fields(self) -> tuple[Any, ...]:
        controller = self.controller_error | self.trajectory_done << 7
        return self.error, self.state, self.motor_error, self.encoder_error, controller

    @classmethod
    def _from(cls, *fields: Any) -> Self:
        error, state, motor, encoder, controller = fields
        return cls(
            error, state, bool(motor & 1), bool(encoder & 1), bool(controller & 1), bool(controller & 0x80)
        )


@dataclass(frozen=True, slots=True)
class SdoRequest(Message):
    """Firmware 0.6: read (opcode 0) or write (1) any parameter by its endpoint.

    Endpoint numbers belong to one firmware version; the vendor publishes them as `flat_endpoints.json`.
    """

    command: ClassVar[int] = 0x04
    layout: ClassVar[Layout] = Layout("ODrive SDO request", "<BHx4s")
    opcode: int
    endpoint: int
    value: bytes = bytes(4)

    def _fields(self) -> tuple[Any, ...]:
        return self.opcode, self.endpoint, _four(self.value)


@dataclass(frozen=True, slots=True)
class SdoAnswer(Message):
    """Firmware 0.6: the value of an endpoint, little-endian, in the first of the four bytes."""

    command: ClassVar[int] = 0x05
    layout: ClassVar[Layout] = Layout("ODrive SDO answer", "<xHx4s")
    endpoint: int
    value: bytes

    def _fields(self) -> tuple[Any, ...]:
        return self.endpoint, _four(self.value)


@dataclass(frozen=True, slots=True)
class SetState(Message):
    command: ClassVar[int] = 0x07
    layout: ClassVar[Layout] = Layout("ODrive axis state", "<I")
    state: int


@dataclass(frozen=True, slots=True)
class EncoderEstimates(Message):
    """Position [turn] and velocity [turn/s]; every 10 ms by default."""

    command: ClassVar[int] = 0x09
    layout: ClassVar[Layout] = Layout("ODrive encoder estimates", "<ff")
    position: float
    velocity: float


@dataclass(frozen=True, slots=True)
class EncoderCount(Message):
    """Counts of the encoder since it was switched on, and within one turn; on request, firmware 0.5 only."""

    command: ClassVar[int] = 0x0A
    layout: ClassVar[Layout] = Layout("ODrive encoder count", "<ii")
    shadow: int
    in_turn: int


@dataclass(frozen=True, slots=True)
class SetControllerMode(Message):
    command: ClassVar[int] = 0x0B
    layout: ClassVar[Layout] = Layout("ODrive controller mode", "<ii")
    control: int
    input: int


@dataclass(frozen=True, slots=True)
class InputPosition(Message):
    """Position [turn], velocity [turn/s] and torque [N m] ahead of it; the last two in steps of 0.001."""

    command: ClassVar[int] = 0x0C
    layout: ClassVar[Layout] = Layout("ODrive input position", "<fhh")
    position: float
    velocity: float = 0.0
    torque: float = 0.0

    def _fields(self) -> tuple[Any, ...]:
        low, high = -32.768, 32.767
        if not (low <= self.velocity <= high and low <= self.torque <= high):
            raise ProtocolError(
                f"{self.layout.name}: feed-forward {self.velocity} turn/s, {self.torque} N m; "
                f"expected {low} to {high}"
            )
        return self.position, round(self.velocity * 1000), round(self.torque * 1000)

    @classmethod
    def _from(cls, *fields: Any) -> Self:
        position, velocity, torque = fields
        return cls(position, velocity / 1000, torque / 1000)


@dataclass(frozen=True, slots=True)
class Iq(Message):
    """Torque-producing current [A]: asked for, and measured."""

    command: ClassVar[int] = 0x14
    layout: ClassVar[Layout] = Layout("ODrive Iq", "<ff")
    setpoint: float
    measured: float


@dataclass(frozen=True, slots=True)
class ClearErrors(Message):
    command: ClassVar[int] = 0x18
    layout: ClassVar[Layout] = Layout("ODrive clear errors", "<")
    length: ClassVar[int] = 1
