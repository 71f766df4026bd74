"""CRC-16 in the two forms that the devices use, of one message or of many rows at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["MODBUS", "X25", "Crc16"]


class Crc16:
    """A reflected CRC-16.

    `polynomial` is bit-reversed (0x8408 for 0x1021), `initial` the register before the first byte, `final` is
    XORed to the result.
    """

    def __init__(self, name: str, *, polynomial: int, initial: int, final: int) -> None:
        self.name = name
        self._initial = initial
        self._final = final
        table = []
        for byte in range(256):
            register = byte
            for _ in range(8):
                register = (register >> 1) ^ (polynomial if register & 1 else 0)
            table.append(register)
        self._table = tuple(table)
        self._by_length = lru_cache(maxsize=8)(self._affine)

    def __call__(self, data: bytes | bytearray | memoryview) -> int:
        """The checksum of `data`."""
        register, table = self._initial, self._table
        for byte in data:
            register = (register >> 8) ^ table[(register ^ byte) & 0xFF]
        return register ^ self._final

    def rows(self, messages: NDArray[np.uint8]) -> NDArray[np.uint16]:
        """The checksum of each row of `messages`, shape (N, L) to shape (N,).

        A CRC of a fixed length is affine over GF(2): each byte, by its value and place, contributes a
        constant to an exclusive or. So all rows are one table look-up and one reduction, with no loop over
        bytes.
        """
        contributions, places, constant = self._by_length(messages.shape[1])
        parts = contributions.take(messages + places)
        sums: NDArray[np.uint16] = np.bitwise_xor.reduce(parts, axis=1)
        return sums ^ constant

    def _affine(self, length: int) -> tuple[NDArray[np.uint16], NDArray[np.intp], np.uint16]:
        """What each byte contributes at each place (flat), where each place starts, and the constant."""
        table = np.array(self._table, dtype=np.uint16)
        contributions = np.empty((length, 256), dtype=np.uint16)
        part = table.copy()  # the last byte's contribution; an earlier byte is followed by zero bytes
        for place in reversed(range(length)):
            contributions[place] = part
            part = (part >> 8) ^ table[part & 0xFF]
        places = np.arange(length, dtype=np.intp) * 256
        return contributions.ravel(), places, np.uint16(self(bytes(length)))


#: CRC-16/X-25 (also IBM-SDLC); of b"123456789" it is 0x906E.
X25 = Crc16("X-25", polynomial=0x8408, initial=0xFFFF, final=0xFFFF)
#: CRC-16/MODBUS; of b"123456789" it is 0x4B37. Sent low byte first.
MODBUS = Crc16("Modbus", polynomial=0xA001, initial=0xFFFF, final=0x0000)
