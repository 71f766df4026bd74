"""Feetech STS, SMS and SCS servos: packets of a host and of its servos on one half-duplex line.

    FF FF | id | length | instruction or error | parameters | checksum

`length` counts from the instruction to the checksum; the checksum is the inverted sum of all bytes from the id on.
Frames are those of Dynamixel's protocol 1.0, with two instructions more (sync read 0x82, sync write 0x83). Eight bits
of checksum let one garbled frame in 256 pass, and nothing but its place tells an answer from a request: whoever reads
also compares id and length with what was asked. STS and SMS put the low byte of a word first, SCS the high byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from heft.drivers.codecs.servo_status import Status
from heft.drivers.errors import ProtocolError

__all__ = [
    "BROADCAST",
    "STATUS_BYTES",
    "Instruction",
    "Packet",
    "Parser",
    "from_sign_magnitude",
    "ping",
    "read",
    "status",
    "sync_read",
    "sync_write",
    "to_sign_magnitude",
    "word",
    "write",
]

#: The id that all servos listen to.
BROADCAST = 0xFE
#: Of a status without data.
STATUS_BYTES = 6

_HEADER = b"\xff\xff"
_LONGEST = 250  # of what `length` counts
_IDS = range(0xFE)

ByteOrder = Literal["little", "big"]


class Instruction(IntEnum):
    """What a host asks for."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet: `id` 0 to 253 or `BROADCAST`; `code` is an instruction, or the error byte of a status."""

    id: int
    code: int
    parameters: bytes = b""

    def encode(self) -> bytes:
        """As sent."""
        if self.id not in _IDS and self.id != BROADCAST:
            raise ProtocolError(f"Feetech: id {self.id}, expected 0 to 253, or {BROADCAST} for all")
        length = len(self.parameters) + 2
        if length > _LONGEST:
            raise ProtocolError(
                f"Feetech: packet of length {length}, bound {_LONGEST}; ask fewer servos at once"
            )
        body = bytes([self.id, length, self.code]) + self.parameters
        return _HEADER + body + bytes([_checksum(body)])

    @classmethod
    def decode(cls, data: bytes) -> Packet:
        """Exactly one packet; ProtocolError for anything else."""
        if len(data) < STATUS_BYTES or not data.startswith(_HEADER):
            raise ProtocolError(f"Feetech: {data[:8].hex(' ')} is no packet")
        number, length = data[2], data[3]
        if number not in _IDS and number != BROADCAST:
            raise ProtocolError(f"Feetech: packet of id {number}, which no servo can have")
        if len(data) != length + 4 or length > _LONGEST:
            raise ProtocolError(f"Feetech: packet of {len(data)} bytes, its length says {length + 4}")
        if data[-1] != _checksum(data[2:-1]):
            raise ProtocolError(
                f"Feetech: packet with checksum {data[-1]:#04x}, computed {_checksum(data[2:-1]):#04x}"
            )
        return cls(number, data[4], data[5:-1])


def _checksum(body: bytes) -> int:
    return ~sum(body) & 0xFF


# -- what a host sends ------------------------------------------------------------------------------------------------


def ping(servo: int) -> bytes:
    """Ask a servo whether it is there."""
    return Packet(servo, Instruction.PING).encode()


def read(servo: int, address: int, count: int) -> bytes:
    """Ask a servo for `count` bytes from `address` on."""
    return Packet(servo, Instruction.READ, bytes([address, count])).encode()


def write(servo: int, address: int, data: bytes) -> bytes:
    """Write bytes from `address` on; the servo answers where its response level says so."""
    return Packet(servo, Instruction.WRITE, bytes([address]) + data).encode()


def sync_read(address: int, count: int, servos: Sequence[int]) -> bytes:
    """Ask several servos for the same registers: each answers in its turn. STS and SMS only."""
    return Packet(BROADCAST, Instruction.SYNC_READ, bytes([address, count, *servos])).encode()


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Write the same registers of several servos, which do not answer; as many bytes for each."""
    (count,) = {len(part) for part in data.values()}
    parts = b"".join(bytes([servo]) + part for servo, part in data.items())
    return Packet(BROADCAST, Instruction.SYNC_WRITE, bytes([address, count]) + parts).encode()


def status(servo: int, data: bytes = b"", error: int = 0) -> bytes:
    """What a servo answers."""
    return Packet(servo, error, data).encode()


# -- numbers ----------------------------------------------------------------------------------------------------------


def word(data: bytes, place: int, order: ByteOrder) -> int:
    """The two bytes at `place`, 0 to 65535."""
    return int.from_bytes(data[place : place + 2], order)


def from_sign_magnitude(value: int, bit: int) -> int:
    """The number whose size stands below `bit`, and whose sign is `bit`; bits above mean nothing."""
    size = value & ((1 << bit) - 1)
    return -size if value >> bit & 1 else size


def to_sign_magnitude(value: int, bit: int) -> int:
    """Its inverse; ProtocolError where the size does not fit."""
    if abs(value) >= 1 << bit:
        raise ProtocolError(f"Feetech: {value}, expected {1 - (1 << bit)} to {(1 << bit) - 1}")
    return -value | 1 << bit if value < 0 else value


# -- what a host receives ---------------------------------------------------------------------------------------------


class Parser:
    """Finds packets in what a line delivers, and finds them again after a corruption.

    refused   pieces that began like a packet and were none
    """

    def __init__(self) -> None:
        self.refused = 0
        self._buffer = b""

    def feed(self, data: bytes) -> list[Status]:
        """Packets that are complete now, oldest first."""
        found: list[Status] = []
        buffer = self._buffer + data
        place = 0
        while True:
            start = buffer.find(_HEADER, place)
            if start < 0:
                place = max(place, len(buffer) - 1)
                break
            place = start
            if len(buffer) - start < 4:
                break
            number, length = buffer[start + 2], buffer[start + 3]
            end = start + length + 4
            if number == 0xFF:  # the header begins one byte later
                place = start + 1
                continue
            if 2 <= length <= _LONGEST:
                if end > len(buffer):
                    break
                try:
                    packet = Packet.decode(buffer[start:end])
                except ProtocolError:
                    pass
                else:
                    place = end
                    found.append(Status(packet.id, packet.code, packet.parameters))
                    continue
            self.refused += 1
            place = start + 1
        self._buffer = buffer[place:]
        return found
