"""How much a compressed file of measured numbers can unpack to."""

from __future__ import annotations

__all__ = ["BOMB_RATIO", "most_unpacked"]

BOMB_BYTES, BOMB_RATIO = 1 << 28, 200  # unpacked, and times the packed size: deflate reaches 1032 with zeros


def most_unpacked(packed: int) -> int:
    """Bytes that so many packed ones are believed to hold."""
    return max(BOMB_BYTES, BOMB_RATIO * packed)
