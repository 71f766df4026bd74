"""An emulated ATI Net F/T box, and the OnRobot compute box, which speaks the same records.

Request, 8 bytes big-endian: 0x1234, command, sample count. Record, 36 bytes big-endian: rdt_sequence, ft_sequence,
status, Fx Fy Fz Tx Ty Tz in counts. One client at a time: whoever asked last has the stream.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.sampling import Samples
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.wires.http_page import HttpPage
from heft.drivers.emulators.wires.udp_wire import UdpWire
from heft.drivers.options import Positive, RateHz
from heft.drivers.plant.faults import Saturate, Stuck
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import per_wrench
from heft.drivers.plant.ticker import Ticker

__all__ = ["AtiOptions", "AtiRdt", "OnRobotHex", "OnRobotOptions"]

_STOP, _START, _START_BUFFERED, _BIAS = 0x0000, 0x0002, 0x0003, 0x0042
_PERIOD = 0x0082
_RECORDS_PER_BUFFER = 20
_ERROR, _SATURATED = 1 << 31, 1 << 17
_FULL_SCALE = (1 << 31) - 1

_NEWTONS = {"N": 1.0, "kN": 1000.0, "lbf": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665}
_NEWTON_METRES = {
    "N-m": 1.0,
    "N-mm": 0.001,
    "kN-m": 1000.0,
    "lbf-in": 0.1129848290276167,
    "lbf-ft": 1.3558179483314004,
    "kgf-cm": 0.0980665,
    "kg-cm": 0.0980665,
}


class AtiOptions(WrenchOptions):
    """What is set on the box's own pages, and its errors."""

    #: RDT output rate; the box divides its 7000 Hz by a whole number.
    rate_hz: RateHz = 1000.0
    counts_per_force: Positive = 1e6
    counts_per_torque: Positive = 1e6
    force_unit: Literal["N", "kN", "lbf", "klbf", "kgf"] = "N"
    torque_unit: Literal["N-m", "N-mm", "kN-m", "lbf-in", "lbf-ft", "kgf-cm", "kg-cm"] = "N-m"
    #: Which page it has: names of its entries differ between the Net Box and the Axia.
    page: Literal["net_box", "axia"] = "net_box"
    #: Rate of the samples inside, which ft_sequence counts; what the page says where that is another.
    internal_hz: Positive = 7000.0
    told_internal_hz: Positive | None = None
    product: str = "Emulated Net F/T"
    serial: str = "FT00001"
    board: str = "LOT0001"
    firmware: str = "2.2.59"
    #: Tool transform, offsets of the gauges, number of the low-pass filter (it does nothing here), RDT switched on.
    transform: tuple[float, float, float, float, float, float] = (0.0,) * 6
    bias: tuple[int, int, int, int, int, int] = (745, 17, 447, 184, -596, -253)
    filter: Annotated[int, Field(ge=0)] = 0
    enabled: bool = True
    #: rdt_sequence of the first record after a start.
    first_record: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    #: UDP and HTTP ports; 0: any free one.
    port: int = 0
    http_port: int = 0

    @property
    def resolution(self) -> NDArray[np.float64]:
        """SI value of one count, shape (6,)."""
        return per_wrench(
            _NEWTONS[self.force_unit] / self.counts_per_force,
            _NEWTON_METRES[self.torque_unit] / self.counts_per_torque,
        )


class OnRobotOptions(WrenchOptions):
    """The compute box; scales are fixed."""

    rate_hz: RateHz = 500.0
    first_record: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    port: int = 0

    @property
    def resolution(self) -> NDArray[np.float64]:
        return per_wrench(1e-4, 1e-5)


@dataclass(slots=True)
class _Client:
    """Who has the stream, and what is still to be sent."""

    address: Any
    rdt_sequence: int
    left: int | None
    buffered: bool


class AtiRdt(Emulator[Any, UdpWire]):
    """The Net Box: RDT on UDP, `netftapi2.xml` on HTTP. Its internal clock runs at 7000 Hz and counts ft_sequence."""

    Options: ClassVar[type[WrenchOptions]] = AtiOptions
    TICK_HZ = 7000.0

    def __init__(self, name: str, options: AtiOptions | OnRobotOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._client: _Client | None = None
        self._tare = np.zeros(6, dtype=np.int64)
        self._latest = np.zeros(6, dtype=np.int64)
        self._buffer: list[bytes] = []
        self._stuck: int | None = None
        self._changed = asyncio.Event()
        self._page = self._make_page()
        self._set_rate(options.rate_hz)

    def _make_ticker(self) -> Ticker:
        drawn, hz = super()._make_ticker(), getattr(self.options, "internal_hz", self.TICK_HZ)
        return Ticker(drawn.offset_s * drawn.hz / hz, drawn.drift, hz, self.TICK_BITS)

    def _make_wire(self) -> UdpWire:
        return UdpWire(self.name, self.plant, self.options.port)

    def _make_page(self) -> HttpPage | None:
        return HttpPage("/netftapi2.xml", self._xml, self.options.http_port)

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        page = {} if self._page is None else {"http_port": self._page.port}
        return {**super().endpoint, **page}

    async def __aenter__(self) -> Self:
        if self._page is not None:
            await self._page.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(*exc)
        if self._page is not None:
            await self._page.__aexit__()

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} requests")
            tasks.create_task(self._stream(), name=f"emulator {self.name} records")

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            for datagram in await self.wire.receive():
                if len(datagram.data) == 8:
                    magic, command, count = struct.unpack(">HHI", datagram.data)
                    if magic == 0x1234:
                        self._handle_command(command, count, datagram.peer)

    def _handle_command(self, command: int, count: int, peer: Any) -> None:
        if command == _STOP:
            self._client = None
        elif command in (_START, _START_BUFFERED):
            self._buffer.clear()
            buffered = command == _START_BUFFERED
            self._client = _Client(peer, self.options.first_record, count or None, buffered)
            self._changed.set()
        elif command == _BIAS:
            self._tare = self._latest + self._tare
        else:
            self._extra(command, count)

    def _extra(self, command: int, count: int) -> None:
        """Commands of one kind of box only."""

    # -- records ------------------------------------------------------------------------------------------------------

    def _set_rate(self, rate_hz: float) -> None:
        self._sampling = self.sampling(rate_hz)
        self._model = WrenchModel(
            self.name,
            self.options,
            self.plant,
            period_s=self._sampling.period_s,
            resolution=self.options.resolution,
        )
        self.declare({"wrench": self._model.sensor}, {"wrench": self._model.delay_s})

    async def _stream(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            sampling = self._sampling
            async for samples in sampling.due():
                if self._client is None:
                    break
                if self._sampling is not sampling:  # another rate
                    self._changed.set()
                    break
                await self._send(samples)

    async def _send(self, samples: Samples) -> None:
        counts, saturated = self._model.read(samples.t)
        counts = counts - self._tare
        self._latest = counts[-1]
        status = self.status
        for fault in self.active(Saturate):
            columns = slice(None) if fault.column is None else fault.column
            counts[:, columns] = _FULL_SCALE
            status |= self._saturation_bits
        ft = self.ticker.ticks(samples.t)
        if not self.active(Stuck):
            self._stuck = None
        elif self._stuck is None:
            self._stuck = int(ft[0])
        rows = zip(counts.tolist(), saturated.tolist(), ft.tolist(), samples.t.tolist(), strict=True)
        for row, at_limit, ft_sequence, t in rows:
            client = self._client
            if client is None:
                return
            record = struct.pack(
                ">III6i",
                client.rdt_sequence,
                ft_sequence if self._stuck is None else self._stuck,
                status | (self._saturation_bits if at_limit else 0),
                *row,
            )
            client.rdt_sequence = (client.rdt_sequence + 1) & 0xFFFF_FFFF
            if client.left is not None:
                client.left -= 1
                if client.left == 0:
                    self._client = None
            await self._hand_over(record, client, t)

    async def _hand_over(self, record: bytes, client: _Client, t: float) -> None:
        """At once, or several in one datagram in buffered mode."""
        self._buffer.append(record)
        if not client.buffered or len(self._buffer) == _RECORDS_PER_BUFFER or self._client is None:
            datagram = b"".join(self._buffer)
            self._buffer.clear()
            await self.wire.send(datagram, client.address, at=t)

    @property
    def _saturation_bits(self) -> int:
        return _ERROR | _SATURATED

    def _xml(self) -> bytes:
        """The box's configuration page, as far as programs read it."""
        o = self.options
        rate = {"net_box": "comrdtrate", "axia": "commrdtrate"}[o.page]
        inside = f"{o.told_internal_hz or o.internal_hz:.0f}"
        fields = {
            "prodname": o.product,
            "runrate" if o.page == "net_box" else "setrate": inside,
            "cfgcalsn": o.serial,
            "scfgfu": o.force_unit,
            "scfgtu": o.torque_unit,
            "cfgtfx": ";".join(f"{x:g}" for x in o.transform),
            "cfgcpf": f"{o.counts_per_force:.0f}",
            "cfgcpt": f"{o.counts_per_torque:.0f}",
            "setbias": ";".join(map(str, o.bias)),
            "setuserfilter": str(o.filter),
            "comrdte": "Enabled" if o.enabled else "Disabled",
            rate: f"{o.rate_hz:.0f}",
            "mfgdigsn": o.board,
            "mfgdigver": o.firmware,
        }
        lines = "".join(f"<{tag}>{escape(text)}</{tag}>\n" for tag, text in fields.items())
        return f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<netft>\n{lines}</netft>\n'.encode("latin-1")


class OnRobotHex(AtiRdt):
    """The compute box: no page, fixed scales, rate by request. It counts ft_sequence at 1000 Hz."""

    Options = OnRobotOptions
    TICK_HZ = 1000.0

    def _make_page(self) -> HttpPage | None:
        return None

    def _extra(self, command: int, count: int) -> None:
        if command == _PERIOD and 1 <= count <= 254:
            self._set_rate(1000.0 / count)

    def _handle_command(self, command: int, count: int, peer: Any) -> None:
        if command == _BIAS and count == 0:
            self._tare = np.zeros(6, dtype=np.int64)
        else:
            super()._handle_command(command, count, peer)

    @property
    def _saturation_bits(self) -> int:
        return 1
