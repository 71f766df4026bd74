"""A participant of DDS on the loopback interface, with topics of ROS 2."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from heft.drivers.emulators.wires.wire import Wire
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.dds import DdsLine, DdsMessage, DdsTopic

__all__ = ["DdsWire"]

_INTERFACE = "lo"
_FIRST, _DOMAINS = 100, 120  # domains that people seldom use
_numbers = itertools.count()


class DdsWire(Wire[DdsMessage, bytes]):
    """Sends on topics: `send(message, topic)`. `domain` None: one that nobody else on this host has, most likely.

    DDS checks what goes over the network, and refuses to publish what is malformed: both are lost.
    """

    CHECKED = True

    def __init__(
        self,
        name: str,
        plant: Plant,
        domain: int | None,
        subscribed: Sequence[DdsTopic],
        published: Sequence[DdsTopic],
    ) -> None:
        own = _FIRST + (7 * os.getpid() + next(_numbers)) % _DOMAINS
        self._line = DdsLine(
            name,
            plant.clock,
            domain=own if domain is None else domain,
            subscribed=subscribed,
            published=published,
            interface=_INTERFACE,
        )
        super().__init__(name, plant, self._line)

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        return {"domain": self._line.domain, "interface": _INTERFACE}

    async def _transmit(self, item: bytes, to: Any) -> None:
        self._line.publish(to, item)
