"""ROBOTIS Dynamixel, protocol 2.0: packets of a host and of its servos on one half-duplex line.

    FF FF FD 00 | id | length (2) | instruction | parameters | CRC (2)

Numbers are little-endian. `length` counts from the instruction to the CRC. Wherever instruction and parameters contain
FF FF FD, another FD follows, so that no header stands inside a packet. The CRC (x^16 + x^15 + x^2 + 1, high bit first,
from 0) is over everything before it, stuffing included. A status packet has instruction 0x55, and an error byte before
its data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from heft.drivers.codecs.servo_status import Status
from heft.drivers.errors import ProtocolError

__all__ = [
    "ALERT",
    "BROADCAST",
    "STATUS_BYTES",
    "Error",
    "Instruction",
    "Packet",
    "Parser",
    "bulk_read",
    "crc16",
    "ping",
    "read",
    "status",
    "sync_read",
    "sync_write",
    "write",
]

#: The id that all servos listen to, and none answers by itself.
BROADCAST = 0xFE
#: Bit of the error byte: `Hardware Error Status` is not zero.
ALERT = 0x80
#: Of a status packet without data and without stuffing.
STATUS_BYTES = 11

_HEADER = b"\xff\xff\xfd\x00"
_MARK, _STUFFED = b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"
_PREFIX = 7  # bytes up to the length
_LONGEST = 1024  # of what `length` counts: no packet of this project is as long
_IDS = range(0xFD)


class Instruction(IntEnum):
    """What a packet is."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REBOOT = 0x08
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    BULK_READ = 0x92


class Error(IntEnum):
    """Why a servo did not do what it was told: the lower seven bits of the error byte."""

    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


def _table() -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        crc = byte << 8
        for _ in range(8):
            crc = crc << 1 ^ 0x8005 if crc & 0x8000 else crc << 1
        rows.append(crc & 0xFFFF)
    return tuple(rows)


_CRC = _table()


def crc16(data: bytes) -> int:
    """CRC of a packet's bytes before its CRC."""
    crc = 0
    for byte in data:
        crc = (crc << 8 & 0xFF00) ^ _CRC[crc >> 8 ^ byte]
    return crc


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet: `id` 0 to 252 or `BROADCAST`, instruction 0 to 255, and its parameters without stuffing."""

    id: int
    instruction: int
    parameters: bytes = b""

    def encode(self) -> bytes:
        """As sent."""
        if self.id not in _IDS and self.id != BROADCAST:
            raise ProtocolError(f"Dynamixel: id {self.id}, expected 0 to 252, or {BROADCAST} for all")
        body = (bytes([self.instruction]) + self.parameters).replace(_MARK, _STUFFED)
        if len(body) + 2 > _LONGEST:
            raise ProtocolError(f"Dynamixel: packet of length {len(body) + 2}, bound {_LONGEST}")
        packet = _HEADER + bytes([self.id]) + (len(body) + 2).to_bytes(2, "little") + body
        return packet + crc16(packet).to_bytes(2, "little")

    @classmethod
    def decode(cls, data: bytes) -> Packet:
        """Exactly one packet; ProtocolError for anything else."""
        if len(data) < _PREFIX + 3 or not data.startswith(_HEADER):
            raise ProtocolError(f"Dynamixel: {data[:8].hex(' ')} is no packet")
        length = int.from_bytes(data[5:7], "little")
        if len(data) != _PREFIX + length:
            raise ProtocolError(f"Dynamixel: packet of {len(data)} bytes, its length says {_PREFIX + length}")
        sent, computed = int.from_bytes(data[-2:], "little"), crc16(data[:-2])
        if sent != computed:
            raise ProtocolError(f"Dynamixel: packet with CRC {sent:#06x}, computed {computed:#06x}")
        number, body = data[4], data[_PREFIX:-2]
        if number not in _IDS and number != BROADCAST:
            raise ProtocolError(f"Dynamixel: packet of id {number}, which no servo can have")
        if body.count(_MARK) != body.count(_STUFFED):
            raise ProtocolError(f"Dynamixel: {body.hex(' ')} has a header inside that is not stuffed")
        body = body.replace(_STUFFED, _MARK)
        return cls(number, body[0], body[1:])


# -- what a host sends ------------------------------------------------------------------------------------------------


def ping(servo: int) -> bytes:
    """Ask a servo for its model number (2 bytes) and firmware version (1)."""
    return Packet(servo, Instruction.PING).encode()


def read(servo: int, address: int, count: int) -> bytes:
    """Ask a servo for `count` bytes from `address` on."""
    return Packet(servo, Instruction.READ, _words(address, count)).encode()


def write(servo: int, address: int, data: bytes) -> bytes:
    """Write bytes from `address` on; the servo answers where its Status Return Level says so."""
    return Packet(servo, Instruction.WRITE, _words(address) + data).encode()


def sync_read(address: int, count: int, servos: Sequence[int]) -> bytes:
    """Ask several servos for the same registers: each answers in its turn."""
    return Packet(BROADCAST, Instruction.SYNC_READ, _words(address, count) + bytes(servos)).encode()


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Write the same registers of several servos, which do not answer; as many bytes for each."""
    (count,) = {len(part) for part in data.values()}
    parts = b"".join(bytes([servo]) + part for servo, part in data.items())
    return Packet(BROADCAST, Instruction.SYNC_WRITE, _words(address, count) + parts).encode()


def bulk_read(wanted: Sequence[tuple[int, int, int]]) -> bytes:
    """Ask several servos, each for registers of its own: id, address, count. Each answers in its turn."""
    parts = b"".join(bytes([servo]) + _words(address, count) for servo, address, count in wanted)
    return Packet(BROADCAST, Instruction.BULK_READ, parts).encode()


def status(servo: int, data: bytes = b"", error: int = 0) -> bytes:
    """What a servo answers."""
    return Packet(servo, Instruction.STATUS, bytes([error]) + data).encode()


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(2, "little") for number in numbers)


# -- what a host receives ---------------------------------------------------------------------------------------------


class Parser:
    """Finds status packets in what a line delivers, and finds them again after a corruption.

    refused   pieces that began like a packet and were none
    """

    def __init__(self) -> None:
        self.refused = 0
        self._buffer = b""

    def feed(self, data: bytes) -> list[Status]:
        """Status packets that are complete now, oldest first."""
        found: list[Status] = []
        buffer = self._buffer + data
        place = 0
        while True:
            start = buffer.find(_HEADER, place)
            if start < 0:
                place = max(place, len(buffer) - len(_HEADER) + 1)
                break
            place = start
            if len(buffer) - start < _PREFIX:
                break
            length = int.from_bytes(buffer[start + 5 : start + 7], "little")
            end = start + _PREFIX + length
            if 3 <= length <= _LONGEST:
                if end > len(buffer):
                    break
                try:
                    packet = Packet.decode(buffer[start:end])
                except ProtocolError:
                    pass
                else:
                    place = end
                    if packet.instruction == Instruction.STATUS and packet.parameters:
                        found.append(Status(packet.id, packet.parameters[0], packet.parameters[1:]))
                    continue
            self.refused += 1
            place = start + 1
        self._buffer = buffer[place:]
        return found
