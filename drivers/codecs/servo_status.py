"""What a servo on a serial line answers, whatever its protocol."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Status"]


class Status(NamedTuple):
    """Answer of one servo: its id, its error byte, and the registers that were asked for."""

    id: int
    error: int
    data: bytes
