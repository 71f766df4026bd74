"""A CAN frame, apart from any CAN library."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.errors import ProtocolError

__all__ = ["CanFrame"]


@dataclass(frozen=True, slots=True)
class CanFrame:
    """A classic CAN frame. `remote` marks a remote transmission request, which carries no data."""

    id: int
    data: bytes = b""
    remote: bool = False
    extended: bool = False

    def __post_init__(self) -> None:
        limit = 0x1FFF_FFFF if self.extended else 0x7FF
        if not 0 <= self.id <= limit:
            raise ProtocolError(f"CAN identifier {self.id:#x} is outside 0..{limit:#x}")
        if len(self.data) > 8:
            raise ProtocolError(f"CAN frame {self.id:#x}: {len(self.data)} bytes of data, at most 8")
        if self.remote and self.data:
            raise ProtocolError(f"CAN frame {self.id:#x}: a remote request carries no data")
