"""CANopen encoders (CiA 406) on the joints: absolute positions, sampled at SYNC. See docs/devices/cia406.md."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.block import Validity
from heft.drivers.codecs.canopen import (
    Emergency,
    Function,
    Heartbeat,
    NmtCommand,
    NmtState,
    cob_id,
    nmt,
    sync,
)
from heft.drivers.codecs.cia406 import POSITION, Operating, Position
from heft.drivers.devices.bus.bus_driver import BusDriver, BusOptions
from heft.drivers.devices.bus.bus_load import Traffic
from heft.drivers.devices.bus.canopen_setup import CanopenSetup, in_thread
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, DeviceLost, OptionError
from heft.drivers.options import Options, Positive
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Cia406", "Cia406Encoder", "Cia406Options"]

PROFILE = 406
_SYNC_ID = int(Function.SYNC)
_FIRST_S = 2.0
_HEARTBEAT_MS = 100


class Cia406Encoder(Options):
    """One encoder."""

    node: Annotated[int, Field(ge=1, le=127)]
    #: Units per revolution (6001) and total range (6002), where the count begins anew; compared with the encoder.
    counts_per_turn: Annotated[int, Field(gt=0)]
    range: Annotated[int, Field(gt=0, lt=1 << 32)]
    #: Position of the joint at which the encoder reads zero [rad].
    zero: float = 0.0
    #: Turns of the encoder per turn of the joint; negative where they turn against each other.
    ratio: float = 1.0
    #: Serial number (1018:4) that it must have; left out: any.
    serial: int | None = None

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.ratio == 0.0:
            raise ValueError("ratio is 0: the encoder would not turn; give its turns per turn of the joint")
        return self

    @property
    def scale(self) -> float:
        """Of the joint per count [rad]."""
        return 2.0 * math.pi / (self.counts_per_turn * self.ratio)


class Cia406Options(BusOptions):
    """Encoders on one bus, by the joints that they are on."""

    encoders: Annotated[dict[str, Cia406Encoder], Field(min_length=1)]
    #: `listen`: another driver on the same bus (drives) sends SYNC; `produce`: this driver does.
    sync: Literal["listen", "produce"] = "produce"
    #: An encoder, or SYNC with `listen`, that is missing for this long is lost [s].
    timeout_s: Positive = 0.1


class Cia406(BusDriver[Cia406Options]):
    """Yields `NAME.position`: counts of all encoders, continued over their range."""

    Options = Cia406Options

    def __init__(self, name: str, options: Cia406Options, context: Context) -> None:
        unknown = [joint for joint in options.encoders if joint not in context.axes]
        if unknown:
            raise OptionError(
                f"{name}.encoders: {', '.join(unknown)} is no joint of the robot; known: {', '.join(context.axes)}"
            )
        joints = [joint for joint in context.axes if joint in options.encoders]
        self._encoders = tuple(options.encoders[joint] for joint in joints)
        super().__init__(name, options, context, joints)
        self._handlers = {cob_id(Function.TPDO2, e.node): i for i, e in enumerate(self._encoders)}
        self._by_node = {e.node: i for i, e in enumerate(self._encoders)}
        self._counts: dict[int, int] = {}
        self._alarmed: set[int] = set()
        self._without_sync = 0

    def _traffic(self) -> Sequence[Traffic]:
        o, n = self.options, len(self.names)
        traffic = [Traffic("TPDOs", n * o.rate_hz, POSITION.size), Traffic("heartbeats", 10.0 * n, 1)]
        return [*traffic, Traffic("SYNC", o.rate_hz, 0)] if o.sync == "produce" else traffic

    def _make_assembler(self) -> CycleAssembler:
        columns = tuple(
            Column(joint, "position", "rad", e.scale, e.zero, "count")
            for joint, e in zip(self.names, self._encoders, strict=True)
        )
        stream = Stream(f"{self.name}.position", columns, self.options.rate_hz, dtype="<i8", at_request=True)
        places = [(Place(0, i),) for i in range(len(self.names))]
        self._cycles = CycleAssembler((stream,), places, self._block, self._publish, self._on_cycle_end)
        return self._cycles

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._counts.clear()
        self._alarmed.clear()
        self._without_sync = 0
        names = {e.node: joint for joint, e in zip(self.names, self._encoders, strict=True)}
        settings = self.options.settings()

        def work(abandon: threading.Event) -> Identity:
            with CanopenSetup(self.name, settings, names, abandon) as setup:
                return self._set_up(setup)

        return await in_thread(work)

    def _set_up(self, setup: CanopenSetup) -> Identity:
        setup.command(NmtCommand.PRE_OPERATIONAL)
        setup.present()
        serials = []
        for encoder in self._encoders:
            node = encoder.node
            setup.profile(node, PROFILE)
            serials.append(setup.serial(node, encoder.serial))
            _compare_units(setup, encoder)
            setup.write(node, 0x6200, 0, 0, 2)  # not by its own timer
            setup.announce_sync(node, self.options.rate_hz)
            setup.silence(node, Function.TPDO1)
            setup.map_pdo(node, Function.TPDO2, POSITION)
            setup.write(node, 0x1017, 0, _HEARTBEAT_MS, 2)
        node = self._encoders[0].node
        return Identity(
            vendor=f"CANopen vendor {setup.number(node, 0x1018, 1) or 0:#x}",
            model=setup.text(node, 0x1008) or "CiA 406 encoder",
            serial=", ".join(str(serial) for serial in serials if serial is not None),
            firmware=setup.text(node, 0x100A),
        )

    async def _start(self) -> None:
        for encoder in self._encoders:
            await self._link.send(nmt(NmtCommand.OPERATIONAL, encoder.node))
        everyone = len(self._encoders)
        await self._until(lambda: len(self._counts) == everyone or self._failure is not None, _FIRST_S)
        if isinstance(self._failure, DeviceLost):
            raise self._failure
        if len(self._counts) < everyone:
            silent = [joint for i, joint in enumerate(self.names) if i not in self._counts]
            raise DeviceLost(
                self.name,
                f"{self._link.where}: {self._who(silent)} told no position within {_FIRST_S:g} s; {self.CHECK}",
            )

    async def _shut_down(self) -> None:
        for encoder in self._encoders:
            await self._link.send(nmt(NmtCommand.PRE_OPERATIONAL, encoder.node))

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        if self.options.sync == "produce":
            self._cycles.begin(await self._link.send(sync()))
            return
        self._without_sync += 1
        if self._without_sync > self._max_missed_cycles and self._failure is None:
            self._fail(
                DeviceLost(
                    self.name,
                    f"{self._link.where}: silent for more than {self.options.timeout_s:g} s (timeout_s): nobody sends "
                    "SYNC; check that drives on this bus do, or set `sync: produce`",
                )
            )

    def _on_frame(self, frame: CanFrame) -> None:
        if frame.extended or frame.remote:
            return
        if frame.id == _SYNC_ID and self.options.sync == "listen":
            self._without_sync = 0
            self._cycles.begin(frame.host_ns)
        elif frame.id in self._handlers:
            self._take(self._handlers[frame.id], Position.decode(frame.data).counts, frame.host_ns)
        elif frame.id & 0x780 == Function.EMCY and frame.id & 0x7F in self._by_node:
            axis = self._by_node[frame.id & 0x7F]
            (self._alarmed.discard if Emergency.decode(frame.data).cleared else self._alarmed.add)(axis)
        elif frame.id & 0x780 == Function.HEARTBEAT and frame.id & 0x7F in self._by_node:
            self._on_heartbeat(self._by_node[frame.id & 0x7F], Heartbeat.decode(frame.data).state)

    def _take(self, axis: int, raw: int, host_ns: int) -> None:
        """Go on from the last count by the shorter way round."""
        span = self._encoders[axis].range
        last = self._counts.get(axis, 0)
        self._counts[axis] = counts = last + (raw - last + span // 2) % span - span // 2
        flags = {0: int(Validity.FAULT)} if axis in self._alarmed else None
        self._cycles.put(axis, (counts,), host_ns, flags)

    def _on_heartbeat(self, axis: int, state: NmtState) -> None:
        if state is not NmtState.OPERATIONAL and axis in self._counts and self._failure is None:
            what = "has restarted" if state is NmtState.BOOT else f"is {state.name.lower()}"
            self._fail(
                DeviceLost(
                    self.name,
                    f"{self._who([self.names[axis]])} {what} by itself; check its supply, connect anew",
                )
            )

    def _who(self, axes: Sequence[str]) -> str:
        return ", ".join(f"node {self.options.encoders[axis].node} ({axis})" for axis in axes)


def _compare_units(setup: CanopenSetup, encoder: Cia406Encoder) -> None:
    """What a count is: read, compared, never written."""
    node = encoder.node
    status = setup.number(node, 0x6500)
    scaled = status is None or bool(status & Operating.SCALING)
    for key, given, index in (
        ("counts_per_turn", encoder.counts_per_turn, 0x6001 if scaled else 0x6501),
        ("range", encoder.range, 0x6002),
    ):
        actual = setup.number(node, index) if scaled or key == "counts_per_turn" else None
        if actual is not None and actual != given:
            raise ConnectError(
                setup.device,
                f"{setup.who(node)}: {key} is {given} in the rig's file, but the encoder says {actual} ({index:04X}); "
                "a wrong one is silently a wrong unit: correct the file or the encoder",
            )
