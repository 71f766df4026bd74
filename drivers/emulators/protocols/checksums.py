"""The checksums that devices put into their frames, bit by bit as their definitions say."""

from __future__ import annotations

__all__ = ["modbus", "x25"]


def modbus(data: bytes) -> int:
    """CRC-16/MODBUS: x^16 + x^15 + x^2 + 1, low bit first, from 0xFFFF. Sent low byte first."""
    return _reflected(data, 0xA001)


def x25(data: bytes) -> int:
    """CRC-16/X-25: x^16 + x^12 + x^5 + 1, low bit first, from 0xFFFF, inverted at the end. Sent low byte first."""
    return _reflected(data, 0x8408) ^ 0xFFFF


def _reflected(data: bytes, polynomial: int) -> int:
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ polynomial if crc & 1 else crc >> 1
    return crc
