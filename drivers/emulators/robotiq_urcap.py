"""An emulated Robotiq 2F gripper behind the port that Robotiq's URCap opens on a Universal Robots controller."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.fingers import FingerOptions, Fingers
from heft.drivers.emulators.base.urcap import UrcapServer
from heft.drivers.emulators.wires.tcp_wire import TcpWire
from heft.drivers.plant.plant import Plant

__all__ = ["RobotiqUrcap", "UrcapOptions"]


class UrcapOptions(FingerOptions):
    """One gripper; where it listens, the URCap's own port by default (0: any free one)."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, lt=65536)] = 63352


class RobotiqUrcap(Emulator[Any, TcpWire]):
    """Fingers behind a text protocol; the emulated controller has the same on a port of its own."""

    Options: ClassVar[type[UrcapOptions]] = UrcapOptions

    def __init__(self, name: str, options: UrcapOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self.fingers = Fingers(options, plant)
        self.declare({}, {"state": 0.0})

    def _make_wire(self) -> TcpWire:
        return TcpWire(self.name, self.plant, self.options.port, self.options.host)

    async def serve(self) -> None:
        await UrcapServer(self.fingers, lambda: self.status).serve(self.wire)

    def slip(self) -> None:
        """Lose what is held: the fingers close on nothing."""
        self.fingers.slip()
