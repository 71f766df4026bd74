"""ODrive CANSimple, firmware 0.5 and 0.6.

The identifier is node << 5 | command, data are little-endian. Angles are in turns of the motor. A value is
asked for by a remote request with the identifier of its answer; but any frame addressed to an axis feeds its
watchdog, a request too, so a running controller reads the cyclic messages instead.
"""

from __future__ import annotations

from enum import StrEnum

from drivers.codecs.odrive_messages import (
    Address,
    BusPower,
    ClearErrors,
    EncoderEstimates,
    Errors,
    Estop,
    Heartbeat,
    Heartbeat05,
    InputPosition,
    InputTorque,
    InputVelocity,
    Iq,
    Limits,
    Message,
    Powers,
    Reboot,
    SdoAnswer,
    SdoRequest,
    SetControllerMode,
    SetState,
    Temperatures,
    Torques,
    Version,
)
from drivers.errors import ProtocolError
from drivers.transports.can_frame import CanFrame

__all__ = ["Firmware", "decode", "encode", "request", "split_id"]


class Firmware(StrEnum):
    V05 = "0.5"
    V06 = "0.6"


_ONLY_05: tuple[type[Message], ...] = (Heartbeat05,)
_BOTH: tuple[type[Message], ...] = (
    Estop,
    SetState,
    EncoderEstimates,
    SetControllerMode,
    InputPosition,
    InputVelocity,
    InputTorque,
    Limits,
    Iq,
    Reboot,
    BusPower,
    ClearErrors,
)
_ONLY_06: tuple[type[Message], ...] = (
    Version,
    Heartbeat,
    Errors,
    SdoRequest,
    SdoAnswer,
    Address,
    Temperatures,
    Torques,
    Powers,
)
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
