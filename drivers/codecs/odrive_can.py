"""ODrive CANSimple, firmware 0.5 and 0.6.

The identifier is node << 5 | command, data are little-endian. Angles are in turns of the motor. A value is
asked for by a remote request with the identifier of its answer; but any frame addressed to an axis feeds its
watchdog, a request too, so a running controller reads the cyclic messages instead.
"""

from __future__ import annotations

from enum import StrEnum

from heft.drivers.codecs.odrive_messages import (
    ClearErrors,
    EncoderCount,
    EncoderEstimates,
    Heartbeat,
    Heartbeat05,
    InputPosition,
    Iq,
    Message,
    SdoAnswer,
    SdoRequest,
    SetControllerMode,
    SetState,
    Version,
)
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame

__all__ = [
    "UNREAD",
    "WATCHDOG",
    "Firmware",
    "decode",
    "describe_error",
    "encode",
    "feed",
    "request",
    "split_id",
]

_SUPPLY = 0x17


class Firmware(StrEnum):
    V05 = "0.5"
    V06 = "0.6"


_ONLY_05: tuple[type[Message], ...] = (Heartbeat05, EncoderCount)
_BOTH: tuple[type[Message], ...] = (
    SetState,
    EncoderEstimates,
    SetControllerMode,
    InputPosition,
    Iq,
    ClearErrors,
)
_ONLY_06: tuple[type[Message], ...] = (
    Version,
    Heartbeat,
    SdoRequest,
    SdoAnswer,
)
#: Commands that exist and that nothing here reads or sends: emergency stop, errors, address, velocity and torque input,
#: limits, temperatures, reboot, supply, torques, powers.
_UNREAD_BOTH = frozenset({0x02, 0x0D, 0x0E, 0x0F, 0x16, 0x17})
UNREAD = {
    Firmware.V05: _UNREAD_BOTH,
    Firmware.V06: _UNREAD_BOTH | {0x03, 0x06, 0x15, 0x1C, 0x1D},
}
_MESSAGES: dict[Firmware, dict[int, type[Message]]] = {
    Firmware.V05: {m.command: m for m in (*_BOTH, *_ONLY_05)},
    Firmware.V06: {m.command: m for m in (*_BOTH, *_ONLY_06)},
}


def encode(node: int, message: Message) -> CanFrame:
    """The frame that carries `message` to or from `node`."""
    return CanFrame(_identifier(node, message.command), message.encode())


def request(node: int, kind: type[Message]) -> CanFrame:
    """Ask `node` for a message of this kind (feeds the axis watchdog)."""
    return CanFrame(_identifier(node, kind.command), remote=True)


def feed(node: int) -> CanFrame:
    """A frame that does nothing but feed the watchdog of `node`: it asks for the supply's voltage, which is not
    read.
    """
    return CanFrame(_identifier(node, _SUPPLY), remote=True)


def decode(frame: CanFrame, firmware: Firmware) -> tuple[int, Message]:
    """Node and message of a frame."""
    node, command = split_id(frame.id)
    kind = _MESSAGES[firmware].get(command)
    if kind is None or frame.remote or frame.extended or frame.error:
        raise ProtocolError(
            f"ODrive: frame {frame.id:#x} (node {node}, command {command:#04x}) is no message of {firmware}"
        )
    return node, kind.decode(frame.data)


def split_id(identifier: int) -> tuple[int, int]:
    """Node and command of an identifier."""
    if not 0 <= identifier <= 0x7FF:
        raise ProtocolError(f"ODrive: identifier {identifier:#x}, expected 11 bits")
    return identifier >> 5, identifier & 0x1F


def _identifier(node: int, command: int) -> int:
    if not 0 <= node <= 63:
        raise ProtocolError(f"ODrive: node {node}, expected 0 to 63")
    return node << 5 | command


_BITS: dict[Firmware, dict[int, str]] = {
    Firmware.V05: {
        0x0000_0001: "invalid state",
        0x0000_0040: "motor failed",
        0x0000_0080: "sensorless estimator failed",
        0x0000_0100: "encoder failed",
        0x0000_0200: "controller failed",
        0x0000_0800: "watchdog expired",
        0x0000_1000: "lower end stop",
        0x0000_2000: "upper end stop",
        0x0000_4000: "emergency stop requested",
        0x0002_0000: "homing without end stop",
        0x0004_0000: "over-temperature",
        0x0008_0000: "unknown position",
    },
    Firmware.V06: {
        0x0000_0001: "initialising",
        0x0000_0002: "system level",
        0x0000_0004: "timing",
        0x0000_0008: "missing estimate",
        0x0000_0010: "bad configuration",
        0x0000_0020: "gate driver fault",
        0x0000_0040: "missing input",
        0x0000_0100: "supply over-voltage",
        0x0000_0200: "supply under-voltage",
        0x0000_0400: "supply over-current",
        0x0000_0800: "supply regeneration over-current",
        0x0000_1000: "current limit violated",
        0x0000_2000: "motor over-temperature",
        0x0000_4000: "inverter over-temperature",
        0x0000_8000: "velocity limit violated",
        0x0001_0000: "position limit violated",
        0x0100_0000: "watchdog expired",
        0x0200_0000: "emergency stop requested",
        0x0400_0000: "spin-out detected",
        0x0800_0000: "brake resistor disarmed",
        0x1000_0000: "thermistor disconnected",
        0x4000_0000: "calibration",
    },
}
WATCHDOG = {Firmware.V05: 0x0000_0800, Firmware.V06: 0x0100_0000}


def describe_error(error: int, firmware: Firmware) -> str:
    """The bits that are set, in words."""
    names = _BITS[firmware]
    words = [names.get(1 << b, f"bit {b}") for b in range(32) if error >> b & 1]
    return ", ".join(words) or "no error"
