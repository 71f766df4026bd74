"""The answering side of Modbus RTU: unit, function, data, CRC-16 low byte first; registers are big-endian."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from heft.drivers.emulators.protocols.checksums import modbus

__all__ = ["IllegalAddress", "ModbusSlave"]

_READ_HOLDING, _READ_INPUT, _WRITE_ONE, _WRITE_MULTIPLE = 3, 4, 6, 16
_ILLEGAL_FUNCTION, _ILLEGAL_ADDRESS = 1, 2
_SILENCE_NS = 20_000_000  # a frame has no longer pause inside


class IllegalAddress(Exception):
    """There are no such registers."""


class ModbusSlave:
    """Takes bytes, finds requests to its unit in them, and gives the responses.

    read    gives `count` registers from an address on, or raises IllegalAddress
    write   takes registers at an address, or raises IllegalAddress
    """

    def __init__(
        self,
        unit: int,
        read: Callable[[int, int], Sequence[int]],
        write: Callable[[int, Sequence[int]], None],
    ) -> None:
        self.unit = unit
        self._read = read
        self._write = write
        self._pending = b""
        self._fed_ns = 0

    def feed(self, data: bytes, now_ns: int) -> list[bytes]:
        """Responses to the requests that are complete now."""
        if now_ns - self._fed_ns > _SILENCE_NS:
            self._pending = b""
        self._fed_ns = now_ns
        self._pending += data
        responses = []
        while (length := self._length()) is not None and len(self._pending) >= length:
            frame, rest = self._pending[:length], self._pending[length:]
            if modbus(frame[:-2]) != int.from_bytes(frame[-2:], "little"):
                self._pending = self._pending[1:]  # noise, or the middle of something
                continue
            self._pending = rest
            if frame[0] == self.unit:
                responses.append(self._answer(frame[:-2]))
        return responses

    def _length(self) -> int | None:
        """Length of the request at the start of the pending bytes; None: not known yet."""
        head = self._pending
        if len(head) < 2:
            return None
        if head[1] == _WRITE_MULTIPLE:
            return 9 + head[6] if len(head) > 6 else None
        return 8

    def _answer(self, body: bytes) -> bytes:
        unit, function = body[0], body[1]
        try:
            if function in (_READ_HOLDING, _READ_INPUT):
                address, count = struct.unpack(">HH", body[2:6])
                registers = self._read(address, count)
                return self._checked(
                    struct.pack(f">BBB{count}H", unit, function, 2 * count, *(r & 0xFFFF for r in registers))
                )
            if function == _WRITE_MULTIPLE:
                address, count = struct.unpack(">HH", body[2:6])
                self._write(address, struct.unpack(f">{count}H", body[7:]))
                return self._checked(body[:6])
            if function == _WRITE_ONE:
                address, value = struct.unpack(">HH", body[2:6])
                self._write(address, (value,))
                return self._checked(body[:6])
        except IllegalAddress:
            return self._checked(bytes([unit, function | 0x80, _ILLEGAL_ADDRESS]))
        return self._checked(bytes([unit, function | 0x80, _ILLEGAL_FUNCTION]))

    @staticmethod
    def _checked(body: bytes) -> bytes:
        return body + modbus(body).to_bytes(2, "little")
