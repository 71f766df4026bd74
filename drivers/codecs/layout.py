"""Packed structures whose only error is `ProtocolError`."""

from __future__ import annotations

import struct
from typing import Any

from heft.drivers.errors import ProtocolError

__all__ = ["Layout"]


class Layout:
    """A fixed arrangement of fields, in the notation of `struct`, with a name for the error message."""

    __slots__ = ("_struct", "name", "size")

    def __init__(self, name: str, fields: str) -> None:
        self.name = name
        self._struct = struct.Struct(fields)
        self.size: int = self._struct.size

    def pack(self, *values: Any) -> bytes:
        """The bytes of these values; a value that does not fit its field raises ProtocolError."""
        try:
            return self._struct.pack(*values)
        except (struct.error, OverflowError) as exc:
            raise ProtocolError(
                f"{self.name}: {values!r} does not fit the fields {self._struct.format!r} ({exc})"
            ) from exc

    def unpack(self, data: bytes | bytearray | memoryview) -> tuple[Any, ...]:
        """The values of exactly `size` bytes."""
        if len(data) != self.size:
            raise ProtocolError(f"{self.name}: {len(data)} bytes, expected {self.size}")
        return self._struct.unpack(data)
