"""ATI Net F/T, Ethernet Axia and OnRobot HEX: wrenches over UDP."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.block import Block, Validity
from heft.drivers.codecs.ati_dialect import ATI, AXIA, ONROBOT, Dialect, onrobot_filter, onrobot_rate
from heft.drivers.codecs.ati_page import Page
from heft.drivers.codecs.ati_rdt import PORT, SEQUENCE_BITS, Command, Request, decode_records
from heft.drivers.devices.base.http_get import http_get
from heft.drivers.devices.base.sequence import CounterSequence, cut
from heft.drivers.devices.base.streaming_driver import StreamingDriver
from heft.drivers.devices.base.wire_driver import WireOptions
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, OptionError, ProtocolError
from heft.drivers.options import Positive
from heft.drivers.stream import Stream
from heft.drivers.transports.transport import Datagram, Transport
from heft.drivers.transports.udp import UdpLink

__all__ = ["AtiOptions", "AtiRdt", "OnRobotHex", "OnRobotOptions", "RdtOptions"]

_ATTEMPTS = 10  # a request is a datagram, and can get lost
_ANSWER_S = 0.1
_HTTP_TIMEOUT_S = 2.0
_BETWEEN_COMMANDS_NS = 5_000_000  # the OnRobot box wants that


class RdtOptions(WireOptions):
    """A box that speaks RDT."""

    #: Address of the box, and its UDP port.
    host: str
    port: Annotated[int, Field(gt=0, lt=65536)] = PORT
    #: UDP port on this side; a fixed one for boxes that fall silent when it changes. 0: any.
    local_port: Annotated[int, Field(ge=0, lt=65536)] = 0
    #: Records per second.
    rate_hz: Positive = 1000.0
    #: Rate at which ft_sequence counts, the device's clock; null: its records carry no time.
    tick_hz: Positive | None = None
    #: Name of the sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The sensor reports what its load does to it: all six signs are turned.
    reaction: bool = False


class AtiOptions(RdtOptions):
    """ATI's Net Box and Ethernet Axia."""

    host: str = "192.168.1.1"
    #: `ati`: Net F/T; `axia`: Ethernet Axia, whose status bits differ.
    dialect: Literal["ati", "axia"] = "ati"
    #: HTTP port of the box's pages, from which scale, rate and serial number are read and compared with this file.
    http_port: Annotated[int, Field(gt=0, lt=65536)] = 80
    #: Force [N] and torque [N m] of one count, as on the box's page (1 / counts per unit, times the unit).
    force_scale: Positive = 1e-6
    torque_scale: Positive = 1e-6
    #: Rate of the box's own clock, which ft_sequence counts: 7000 Hz on the Net Box.
    tick_hz: Positive | None = 7000.0
    #: Serial number that the box must have; null: any.
    serial: str | None = None


class OnRobotOptions(RdtOptions):
    """OnRobot HEX and OptoForce compute boxes; scales are fixed."""

    rate_hz: Positive = 500.0
    #: Cut-off of the box's low-pass filter [Hz]: 500, 150, 50, 15, 5, 1.5; null: none.
    filter_hz: float | None = None


O = TypeVar("O", bound=RdtOptions)  # noqa: E741 - options


class _Rdt(StreamingDriver[O, Datagram, bytes]):
    """What all boxes have in common."""

    CHECK = "check its power and cable, and that no other program has taken its stream"

    def __init__(self, name: str, options: O, context: Context) -> None:
        super().__init__(name, options, context)
        self._stream = wrench_stream(
            name,
            rate_hz=options.rate_hz,
            scale=self._scale,
            dtype="<i4",
            frame=options.frame,
            reaction=options.reaction,
            tick_hz=options.tick_hz,
            tick_bits=SEQUENCE_BITS if options.tick_hz else None,
        )
        self._sequence = CounterSequence(SEQUENCE_BITS, 1, options.rate_hz, self.counters)
        self._started_ns = 0
        self._last: tuple[int, int] | None = None  # rdt_sequence and ft_sequence

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """Which box."""

    @property
    @abstractmethod
    def _scale(self) -> tuple[float, float]:
        """Force [N] and torque [N m] of one count."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self._stream,)

    def _make_line(self) -> Transport[Datagram, bytes]:
        o = self.options
        return UdpLink(self.name, self.clock, remote=(o.host, o.port), local=("", o.local_port))

    async def _one_record(self) -> None:
        """The box answers, or ConnectError."""
        await self._request(Request(Command.START_REALTIME, 1))
        await self._drain()

    async def _start(self) -> None:
        await self._drain()
        self._sequence.restart()
        self._early = await self._request(Request(Command.START_REALTIME))

    async def _rest(self) -> None:
        await self.line.send(Request(Command.STOP).encode())

    async def _request(self, request: Request) -> list[Datagram]:
        """Ask until a record comes; the records that did."""
        for _ in range(_ATTEMPTS):
            self._started_ns = await self.line.send(request.encode())
            arrived = await self._within(_ANSWER_S)
            if arrived and (new := [d for d in arrived if d.host_ns >= self._started_ns]):
                return new
        raise ConnectError(
            self.name,
            f"{self.line.where}: no record after {_ATTEMPTS} start requests in {_ATTEMPTS * _ANSWER_S:g} s; "
            f"is it an RDT box, and is RDT switched on? {self.CHECK}",
        )

    def _blocks(self, arrived: list[Datagram]) -> Iterable[Block]:
        arrived = [d for d in arrived if d.host_ns >= self._started_ns]
        records = decode_records([d.data for d in arrived])
        self.counters.corrupt += records.rejected
        if not len(records):
            return ()
        host_ns = np.array([d.host_ns for d in arrived], dtype=np.int64)[records.datagram]
        rdt, ft = records.rdt_sequence, records.ft_sequence
        rdt_last, ft_last = self._last or (int(rdt[0]) - 1, int(ft[0]) - 1)
        self._last = int(rdt[-1]), int(ft[-1])
        back, ahead = _steps(rdt, rdt_last) <= 0, _steps(ft, ft_last)
        validity = self.dialect.validity(records.status)
        validity[(ahead == 0) & ~back] = Validity.STALE  # the box sends, but it has stopped measuring
        return cut(
            self._stream,
            self._sequence.place(rdt, host_ns, anew=back & (ahead > 0)),
            host_ns=host_ns,
            values=records.counts,
            validity=np.repeat(validity[:, None], 6, axis=1),
            ticks=ft if self.options.tick_hz else None,
        )


class AtiRdt(_Rdt[AtiOptions]):
    """Yields `NAME.wrench` in counts; ft_sequence, the samples taken inside the box, is its clock."""

    Options: ClassVar[type[AtiOptions]] = AtiOptions

    @property
    def dialect(self) -> Dialect:
        return AXIA if self.options.dialect == "axia" else ATI

    @property
    def _scale(self) -> tuple[float, float]:
        return self.options.force_scale, self.options.torque_scale

    async def _connect(self) -> Identity:
        o = self.options
        xml = await http_get(self.name, o.host, o.http_port, "/netftapi2.xml", _HTTP_TIMEOUT_S)
        try:
            page = Page.decode(xml)
        except ProtocolError as exc:
            raise ConnectError(self.name, f"{exc} (http://{o.host}:{o.http_port})") from exc
        self._compare(page)
        await self._one_record()
        return Identity("ATI", page.product or "RDT box", page.serial, page.firmware)

    def _compare(self, page: Page) -> None:
        """The box is set as the rig's file says, or ConnectError with every difference."""
        o = self.options
        numbers = (
            ("force_scale", o.force_scale, page.force_scale, "N per count"),
            ("torque_scale", o.torque_scale, page.torque_scale, "N m per count"),
            ("rate_hz", o.rate_hz, o.rate_hz if page.rate_hz is None else page.rate_hz, "Hz"),
        )
        wrong = [
            f"{key} is {told:.6g} {unit} on the box, {given:.6g} in the rig's file"
            for key, given, told, unit in numbers
            if not math.isclose(given, told, rel_tol=1e-3 if key == "rate_hz" else 1e-6)
        ]
        if o.serial is not None and page.serial != o.serial:
            wrong.append(f"serial is {page.serial or 'not told'!r}, {o.serial!r} in the rig's file")
        if wrong:
            raise ConnectError(self.name, f"{'; '.join(wrong)}; correct the file, or the box on its page")


class OnRobotHex(_Rdt[OnRobotOptions]):
    """Yields `NAME.wrench` in counts."""

    Options: ClassVar[type[OnRobotOptions]] = OnRobotOptions

    def __init__(self, name: str, options: OnRobotOptions, context: Context) -> None:
        super().__init__(name, options, context)
        try:
            self._settings = (onrobot_filter(options.filter_hz), onrobot_rate(options.rate_hz))
        except ProtocolError as exc:
            raise OptionError(f"{name}: {exc}") from exc

    @property
    def dialect(self) -> Dialect:
        return ONROBOT

    @property
    def _scale(self) -> tuple[float, float]:
        scale = ONROBOT.scale
        assert scale is not None
        return scale

    async def _connect(self) -> Identity:
        for request in self._settings:
            sent_ns = await self.line.send(request.encode())
            await self.clock.sleep_until(sent_ns + _BETWEEN_COMMANDS_NS)
        await self._one_record()
        return Identity("OnRobot", "HEX compute box")


def _steps(counter: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """From each 32-bit counter to the next, as a signed number, shape (N,)."""
    return np.diff(counter, prepend=np.int64(last)).astype(np.int32).astype(np.int64)
