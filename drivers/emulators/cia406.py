"""Emulated CiA 406 encoders: TPDO1 by a timer (6200), TPDO2 with SYNC, both with the position 6004."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated

import numpy as np
from pydantic import Field

from heft.drivers.emulators.base.drive_model import BusOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.protocols.canopen_node import CanopenNode
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Cia406", "Cia406Node", "Cia406Options"]

_SYNC = 0x080
_WATCH_NS = 10_000_000
_POSITION = 0x60040020
_ALARM = 0x5000


class Cia406Node(Options):
    """One encoder as it was set up."""

    node: Annotated[int, Field(ge=1, le=127)]
    counts_per_turn: Annotated[int, Field(gt=0)] = 1 << 18
    range: Annotated[int, Field(gt=0, lt=1 << 32)] = 1 << 18
    #: Position of the joint at which it reads zero [rad]; turns of the encoder per turn of the joint.
    zero: float = 0.0
    ratio: float = 1.0
    serial: int = 2000


class Cia406Options(BusOptions):
    """Encoders on one bus, by the joints that they are on."""

    #: Left out: one on every joint, nodes 11, 12, ...
    encoders: dict[str, Cia406Node] | None = None
    vendor: int = 0x4EF7
    profile: int = 406


class Cia406(Emulator[Cia406Options, CanWire]):
    """Encoders on the link side of the joints."""

    Options = Cia406Options

    def __init__(self, name: str, options: Cia406Options, plant: Plant) -> None:
        super().__init__(name, options, plant)
        given = options.encoders or {
            joint: Cia406Node(node=11 + i, serial=2001 + i) for i, joint in enumerate(plant.axes)
        }
        unknown = [joint for joint in given if joint not in plant.axes]
        if unknown:
            raise OptionError(f"{name}.encoders.{unknown[0]}: no such joint; known: {', '.join(plant.axes)}")
        self._encoders = [(plant.axes.index(j), c, self._make_node(c)) for j, c in given.items()]
        self._alarm = False
        self._outgoing: list[CanFrame] = []
        self.declare({}, {"position": 0.0})

    def _make_wire(self) -> CanWire:
        return CanWire(self.name, self.plant, self.options.settings())

    def _make_node(self, config: Cia406Node) -> CanopenNode:
        o = self.options
        node = CanopenNode(
            config.node,
            o.profile,
            identity=(o.vendor, 406, 1, config.serial),
            name="Emulated CiA 406 encoder",
            version="1.0",
        )
        add = node.objects.add
        add(0x6000, 0, "H", 0x0004, writable=True)
        add(0x6001, 0, "I", config.counts_per_turn, writable=True)
        add(0x6002, 0, "I", config.range, writable=True)
        add(0x6003, 0, "I", 0, writable=True)
        add(0x6004, 0, "I", 0)
        add(0x6200, 0, "H", 10, writable=True)
        add(0x6500, 0, "H", 0x0004)
        add(0x6501, 0, "I", config.counts_per_turn)
        add(0x6503, 0, "H", 0)
        node.preset_pdo(0x1800, (_POSITION,), 254)
        node.preset_pdo(0x1801, (_POSITION,), 1)
        return node

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} bus")
            tasks.create_task(self._watch(), name=f"emulator {self.name} timers")

    async def _listen(self) -> None:
        while True:
            for frame in await self.wire.receive():
                if frame.error or frame.extended or frame.remote:
                    continue
                self.plant.advance(frame.host_ns)
                t = self.plant.seconds(frame.host_ns)
                if frame.id == _SYNC:
                    self._read(t)
                    for _, _, node in self._encoders:
                        node.apply_latched()
                        self._outgoing += node.synchronous()
                else:
                    for _, _, node in self._encoders:
                        self._outgoing += node.receive(frame, t)
                await self._flush()

    def _read(self, t: float) -> None:
        """Sample the position of every encoder at t [s]."""
        position = self.plant.joint_positions(np.array([t]))[0]
        for axis, config, node in self._encoders:
            turns = (float(position[axis]) - config.zero) * config.ratio / (2.0 * math.pi)
            node.objects[0x6004, 0] = round(turns * config.counts_per_turn) % config.range

    async def _watch(self) -> None:
        """Heartbeats, the cyclic timer, and alarms on command."""
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _WATCH_NS)
            t = self.plant.now()
            self._read(t)
            alarm = bool(self.status)
            for _, _, node in self._encoders:
                node.objects[0x1800, 5] = node.objects[0x6200, 0]
                self._outgoing += node.events(t, timed=True)
                self._outgoing += node.heartbeats(t)
                if alarm != self._alarm:
                    node.objects[0x6503, 0] = int(alarm)
                    self._outgoing.append(node.emergency(_ALARM if alarm else 0, int(alarm)))
            self._alarm = alarm
            await self._flush()

    async def _flush(self) -> None:
        while self._outgoing:
            await self.wire.send(self._outgoing.pop(0))
