"""Listening to a CAN bus before anything is sent on it: another master may be at work there, also on another host."""

from __future__ import annotations

import asyncio
from typing import Any

from heft.drivers.clock import Clock
from heft.drivers.codecs.can_masters import MASTERS, master_word
from heft.drivers.devices.bus.can_options import CanOptions
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.can_link import CanLink

__all__ = ["LISTEN_S", "other_master"]

#: Long enough for a heartbeat's period, and for some cycles of the slowest session [s].
LISTEN_S = 0.25


async def other_master(device: str, kind: str, options: CanOptions, clock: Clock, *, fd: bool) -> str | None:
    """What another master says to this device's nodes, in words; None where none is heard for `LISTEN_S`.

    A bus that cannot be opened is for the device's driver to tell of.
    """
    nodes = _nodes(options)
    if kind not in MASTERS or not nodes:
        return None
    try:
        async with CanLink(device, clock, options.settings(fd=fd)) as link, asyncio.timeout(LISTEN_S):
            while True:
                for frame in await link.receive():
                    word = master_word(kind, frame, nodes)
                    if word is not None:
                        return word
    except (TimeoutError, ConnectError, DeviceLost):
        return None


def _nodes(options: CanOptions) -> set[int]:
    """Numbers under which the device's nodes are spoken to, and do not answer."""
    entries: dict[str, Any] = getattr(options, "axes", None) or getattr(options, "encoders", None) or {}
    numbers = {
        getattr(e, key) for e in entries.values() for key in ("node", "motor", "number") if hasattr(e, key)
    }
    return numbers - {e.reply for e in entries.values() if hasattr(e, "reply")}
