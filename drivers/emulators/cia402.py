"""Emulated CiA 402 drives: one CANopen node per joint, on one bus.

At SYNC every drive takes up the target that it was sent since the last one, goes there within one interpolation period,
samples position, velocity and current, and answers with its TPDOs, those with the lowest identifiers first.
"""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Literal

from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.drive_model import DriveModel, DriveOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.cia402_drive import Cia402Drive
from heft.drivers.emulators.protocols.canopen_node import CanopenNode
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options, Positive
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Cia402", "Cia402Node", "Cia402Options"]

_WATCH_NS = 10_000_000
_SYNC = 0x080
_LOCK = 0.002  # part of SYNC's lateness that the drives follow
_CSP = 8


class Cia402Node(Options):
    """One drive as it was set up with its maker's tool."""

    node: Annotated[int, Field(ge=1, le=127)]
    #: Position units for a turn of the joint, and the reading where the joint's position is 0.
    counts_per_turn: float = 524288.0
    zero: int = 0
    #: Rated current [A] and torque at the motor [N m]: 6075, 6076.
    rated_current: Positive = 10.0
    rated_torque: Positive = 10.0
    #: Turns of the motor for one of the joint.
    gear: Positive = 1.0
    serial: int = 1000


class Cia402Options(DriveOptions):
    """An arm of drives."""

    #: One per joint, in the order of the joints; left out: nodes 1, 2, ... with the values above.
    nodes: tuple[Cia402Node, ...] | None = None
    #: Filter that setpoints pass in the drive.
    filter_hz: Positive | None = None
    #: Largest distance from the setpoint (6065) [rad], and deceleration of a quick stop (6085) [rad/s2].
    following_error: Positive = 0.2
    quick_stop: Positive = 20.0
    #: What a drive does after a quick stop (605A): 2 switches off, 6 stays.
    quick_stop_option: Annotated[int, Field(ge=1, le=8)] = 2
    #: Objects that these drives do not have.
    without: tuple[int, ...] = ()
    #: Thousandths (or, as EPOS4 is said to, millionths) in which 6076 counts the rated torque.
    torque_steps: Literal[1000, 1000000] = 1000
    #: Bit 30 of a PDO's identifier must stay set; mappings cannot be written, and are those of a drive for torque.
    without_remote: bool = False
    fixed_pdos: bool = False
    #: Bit of the statusword that says whether the position is referenced, and what it says; null: there is none.
    referenced_bit: Annotated[int, Field(ge=0, le=15)] | None = None
    referenced: bool = True
    vendor: int = 0x4EF7
    #: Device profile in object 1000.
    profile: int = 402


class Cia402(Emulator[Cia402Options, CanWire]):
    """n drives on one bus."""

    Options = Cia402Options

    def __init__(self, name: str, options: Cia402Options, plant: Plant) -> None:
        super().__init__(name, options, plant)
        n = len(plant.axes)
        nodes = options.nodes or tuple(Cia402Node(node=i + 1, serial=1001 + i) for i in range(n))
        if len(nodes) != n:
            raise OptionError(f"{name}.nodes: {len(nodes)} drives for {n} joints ({', '.join(plant.axes)})")
        self._outgoing: list[CanFrame] = []
        self._t = self._beat = 0.0
        self._slot = 0
        self._shown: dict[Cia402Drive, tuple[int, int]] = {}
        axes = Axes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._on_trip,
            period_s=1.0 / options.servo_hz,
            brakes=options.brakes(n),
            filter_hz=options.filter_hz,
        )
        self._model = DriveModel(name, options, plant, axes)
        self.declare({}, {"motion": 0.0, "current": 0.5 * options.window_s})
        self._nodes = nodes
        self._torque_per_ampere = plant.torque_per_ampere
        self.drives = [self._make_drive(axes, i, node) for i, node in enumerate(nodes)]
        self._addressed = {drive.node.number: drive for drive in self.drives}
        self._show(0.0)

    def _make_wire(self) -> CanWire:
        return CanWire(self.name, self.plant, self.options.settings())

    def _make_drive(self, axes: Axes, axis: int, config: Cia402Node) -> Cia402Drive:
        o = self.options
        node = CanopenNode(
            config.node,
            o.profile,
            identity=(o.vendor, 402, 1, config.serial),
            name="Emulated CiA 402 drive",
            version="1.0",
            without_remote=o.without_remote,
            fixed_pdos=o.fixed_pdos,
            on_write=lambda index, value: self.drives[axis].on_write(index, value, self._t),
        )
        turn = abs(config.counts_per_turn) / (2.0 * math.pi)
        add = node.objects.add
        add(0x6007, 0, "h", 0, writable=True)
        add(0x603F, 0, "H")
        add(0x6040, 0, "H", 0, writable=True)
        add(0x6041, 0, "H", 0x240)
        add(0x605A, 0, "h", o.quick_stop_option, writable=True)
        add(0x6060, 0, "b", 0, writable=True)
        add(0x6061, 0, "b", 0)
        add(0x6064, 0, "i")
        add(0x6065, 0, "I", round(o.following_error * turn), writable=True)
        add(0x606C, 0, "i")
        add(0x6071, 0, "h", 0, writable=True)
        add(0x6075, 0, "I", round(1000 * config.rated_current))
        add(0x6076, 0, "I", round(o.torque_steps * config.rated_torque))
        add(0x6077, 0, "h")
        add(0x6078, 0, "h")
        add(0x607A, 0, "i", 0, writable=True)
        add(0x6085, 0, "I", round(o.quick_stop * turn), writable=True)
        for index, above, below in ((0x608F, round(2 * math.pi * turn), 1), (0x6091, 1, 1)):
            add(index, 0, "B", 2)
            add(index, 1, "I", above)
            add(index, 2, "I", below)
        add(0x60C2, 0, "B", 2)
        add(0x60C2, 1, "B", 1, writable=True)
        add(0x60C2, 2, "b", -3, writable=True)
        add(0x60FF, 0, "i", 0, writable=True)
        add(0x6502, 0, "I", 1 << (_CSP - 1))
        if o.fixed_pdos:
            node.preset_pdo(0x1800, (0x60410010, 0x60640020, 0x60770010), 1)
            node.preset_pdo(0x1801, (0x606C0020, 0x603F0010), 1)
            node.preset_pdo(0x1400, (0x60400010, 0x607A0020, 0x60600008), 1)
        else:
            node.preset_pdo(0x1800, (0x60410010, 0x60610008), 255, timer_ms=20)
            node.preset_pdo(0x1400, (0x60400010, 0x60600008), 255)
        for index in o.without:
            node.objects.remove(index)
        return Cia402Drive(
            node,
            axes,
            axis,
            counts_per_turn=config.counts_per_turn,
            zero=config.zero,
            following_error=o.following_error,
            quick_stop=o.quick_stop,
            send=self._outgoing.append,
            status_bits=1 << o.referenced_bit if o.referenced_bit is not None and o.referenced else 0,
        )

    # -- the bus ------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} bus")
            tasks.create_task(self._watch(), name=f"emulator {self.name} watch")

    async def _listen(self) -> None:
        while True:
            for frame in await self.wire.receive():
                if frame.error or frame.extended or frame.remote:
                    continue
                self.plant.advance(frame.host_ns)
                self._t = self.plant.seconds(frame.host_ns)
                if frame.id == _SYNC:
                    self._synchronise()
                else:
                    self._take(frame)
                await self._flush()

    def _take(self, frame: CanFrame) -> None:
        drive = self._addressed.get(frame.id & 0x7F) if 0x180 < frame.id < 0x680 else None
        for listener in self.drives if drive is None else (drive,):
            self._outgoing += listener.node.receive(frame, self._t)
            self._send_changes(listener)

    def _send_changes(self, drive: Cia402Drive) -> None:
        """Event-driven TPDOs, where state or mode have changed."""
        objects, shown = drive.node.objects, (drive.statusword, drive.node.objects[0x6061, 0])
        if self._shown.get(drive) != shown:
            self._shown[drive] = shown
            objects[0x6041, 0] = drive.statusword
            self._outgoing += drive.node.events(self._t)

    def _synchronise(self) -> None:
        objects = self.drives[0].node.objects
        period = objects[0x60C2, 1] * 10.0 ** objects[0x60C2, 2]
        self._beat, cycles = _locked(self._beat, self._t, period)
        # A target was meant for the SYNC after the last one, whether that is this one or is missing.
        meant, meant_t = self._slot + 1, self._beat - (cycles - 1) * period
        self._slot += cycles
        for drive in self.drives:
            drive.node.apply_latched()
            drive.set_setpoint(self._t, meant, meant_t, period)
        self._show(self._t)
        answers = [frame for drive in self.drives for frame in drive.node.synchronous()]
        self._outgoing += sorted(answers, key=lambda frame: frame.id)

    def _show(self, t: float) -> None:
        """Sample position, velocity and current of every drive at t [s]."""
        q, v, torque = self._model.measure(t)
        current = torque / self._torque_per_ampere
        limited = bool(self.status & 1 << 11)
        for i, (drive, config) in enumerate(zip(self.drives, self._nodes, strict=True)):
            sign = math.copysign(1.0, config.counts_per_turn)
            drive.limited = limited
            drive.show(
                t,
                float(q[i]),
                round(float(v[i]) / drive.scale),
                round(sign * 1000.0 * float(current[i]) / config.rated_current),
                round(sign * 1000.0 * float(torque[i]) / (config.gear * config.rated_torque)),
            )

    async def _watch(self) -> None:
        """Heartbeats in both directions."""
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _WATCH_NS)
            self._t = t = self.plant.now()
            for drive in self.drives:
                drive.watch(t)
                self._send_changes(drive)
                self._outgoing += drive.node.events(t, timed=True)
                self._outgoing += drive.node.heartbeats(t)
            await self._flush()

    async def _flush(self) -> None:
        while self._outgoing:
            await self.wire.send(self._outgoing.pop(0))

    def _on_trip(self, axis: int) -> None:
        self.drives[axis].trip(self.plant.seconds(self.clock.now_ns()))


def _locked(beat: float, t: float, period: float) -> tuple[float, int]:
    """The drives' own idea of when SYNC is due [s], from the last one and the one that came at t; and how many did.

    SYNC comes late, by up to half a period, and never early: so the earliest ones show when it is due.
    """
    cycles = max(1, math.floor((t - beat) / period + 0.25))
    late = t - beat - cycles * period
    return (t if late < 0.0 or cycles > 100 else t - (1.0 - _LOCK) * late), cycles
