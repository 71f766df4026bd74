"""UDP on the loopback interface."""

from __future__ import annotations

from typing import Any

from heft.drivers.emulators.wires.wire import Wire
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.transport import Datagram
from heft.drivers.transports.udp import UdpLink

__all__ = ["HOST", "UdpWire"]

HOST = "127.0.0.1"


class UdpWire(Wire[Datagram, bytes]):
    """A socket on `port` of the loopback interface; 0: any free one. `send` needs the peer."""

    CHECKED = True

    def __init__(self, name: str, plant: Plant, port: int = 0) -> None:
        self._link = UdpLink(name, plant.clock, remote=None, local=(HOST, port))
        super().__init__(name, plant, self._link)

    @property
    def endpoint(self) -> dict[str, str | int]:
        return {"host": HOST, "port": self._link.address[1]}

    async def _transmit(self, item: bytes, to: Any) -> None:
        await self._link.reply(item, to)
