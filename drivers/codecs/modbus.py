"""Modbus RTU, as far as the devices here use it: read registers, write registers, and their responses.

A frame is unit | function | data | CRC-16/Modbus, low byte first; registers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from heft.drivers.codecs.checksums import MODBUS
from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "READ_HOLDING",
    "READ_INPUT",
    "WRITE_MULTIPLE",
    "decode_read_response",
    "decode_write_response",
    "read_request",
    "response_bytes",
    "write_request",
]

READ_HOLDING, READ_INPUT, WRITE_MULTIPLE = 3, 4, 16

_READ = Layout("Modbus read request", ">BBHH")
_WRITE = Layout("Modbus write request", ">BBHHB")
_WRITTEN = Layout("Modbus write response", ">BBHH")

_EXCEPTIONS = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledged, still working",
    6: "device busy",
}


def read_request(unit: int, address: int, count: int, *, function: int = READ_HOLDING) -> bytes:
    """Ask `unit` for `count` registers from `address`."""
    if function not in (READ_HOLDING, READ_INPUT):
        raise ProtocolError(f"Modbus: function {function} does not read registers; 3 and 4 do")
    if not 1 <= count <= 125:
        raise ProtocolError(f"Modbus: {count} registers in one request, expected 1 to 125")
    return _checked(_READ.pack(unit, function, address, count))


def write_request(unit: int, address: int, registers: Sequence[int]) -> bytes:
    """Write `registers` from `address` on (function 16)."""
    if not 1 <= len(registers) <= 123:
        raise ProtocolError(f"Modbus: {len(registers)} registers in one request, expected 1 to 123")
    head = _WRITE.pack(unit, WRITE_MULTIPLE, address, len(registers), 2 * len(registers))
    return _checked(head + Layout("Modbus registers", f">{len(registers)}H").pack(*registers))


def decode_read_response(
    frame: bytes, unit: int, count: int, *, function: int = READ_HOLDING
) -> tuple[int, ...]:
    """The registers in a response to `read_request` with the same arguments."""
    body = _body(frame, unit, function)
    if len(body) != 3 + 2 * count or body[2] != 2 * count:
        raise ProtocolError(f"Modbus: response {frame.hex(' ')} does not hold {count} registers")
    return struct.unpack(f">{count}H", body[3:])


def decode_write_response(frame: bytes, unit: int, address: int, count: int) -> None:
    """Check that a response confirms a `write_request` of `count` registers at `address`."""
    _, _, written, number = _WRITTEN.unpack(_body(frame, unit, WRITE_MULTIPLE))
    if (written, number) != (address, count):
        raise ProtocolError(
            f"Modbus: response confirms {number} registers at {written}, asked for {count} at {address}"
        )


def response_bytes(head: bytes) -> int | None:
    """Length of the response that begins with `head`, or None while `head` is too short to know."""
    if len(head) < 2:
        return None
    if head[1] & 0x80:
        return 5
    if head[1] == WRITE_MULTIPLE:
        return 8
    if head[1] in (READ_HOLDING, READ_INPUT):
        return 5 + head[2] if len(head) > 2 else None
    raise ProtocolError(f"Modbus: response {head.hex(' ')} has the unknown function {head[1]}")


def _checked(body: bytes) -> bytes:
    return body + MODBUS(body).to_bytes(2, "little")


def _body(frame: bytes, unit: int, function: int) -> bytes:
    """A response without its CRC, once unit, function and CRC are right."""
    if len(frame) < 5:
        raise ProtocolError(f"Modbus: response of {len(frame)} bytes, at least 5 expected")
    body, sent = frame[:-2], int.from_bytes(frame[-2:], "little")
    if (crc := MODBUS(body)) != sent:
        raise ProtocolError(f"Modbus: CRC {sent:#06x}, computed {crc:#06x}")
    if body[0] != unit:
        raise ProtocolError(f"Modbus: response of unit {body[0]}, asked unit {unit}")
    if body[1] == function | 0x80:
        reason = _EXCEPTIONS.get(body[2], "unknown exception")
        raise ProtocolError(f"Modbus: unit {unit} refuses function {function}: {body[2]} ({reason})")
    if body[1] != function:
        raise ProtocolError(f"Modbus: response to function {body[1]}, asked function {function}")
    return body
