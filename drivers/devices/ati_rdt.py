"""ATI Net F/T, Ethernet Axia and OnRobot HEX: wrenches over UDP."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
from heft.drivers.options import Positive, RateHz
from heft.drivers.stream import Stream
from heft.drivers.transports.transport import Datagram, Transport
from heft.drivers.transports.udp import UdpLink

__all__ = [
    "AtiOptions",
    "AtiRdt",
    "CountedRate",
    "OnRobotHex",
    "OnRobotOptions",
    "RdtOptions",
    "counted_rate",
]

_ATTEMPTS = 10  # a request is a datagram, and can get lost
_ANSWER_S = 0.1
_HTTP_TIMEOUT_S = 2.0
_FULL_SCALE = (1 << 31) - 1  # [count]
_OTHER_RATE, _SAME_TWICE, _AS_TOLD = 0.1, 0.02, 3e-3  # relative differences of a rate
_SKEW = 1e-3  # by which a clock may be off before its fit fails
ATI_INTERNAL_HZ = 7000.0  # of the Net Box; the Axia's user sets it
_BETWEEN_COMMANDS_NS = 5_000_000  # the OnRobot box wants that


class RdtOptions(WireOptions):
    """A box that speaks RDT."""

    #: Address of the box, and its UDP port.
    host: str
    port: Annotated[int, Field(gt=0, lt=65536)] = PORT
    #: UDP port on this side; a fixed one for boxes that fall silent when it changes. 0: any.
    local_port: Annotated[int, Field(ge=0, lt=65536)] = 0
    #: Records per second.
    rate_hz: RateHz = 1000.0
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
    #: Rate of the box's own clock, which ft_sequence counts. `box`: as its page says, or as was measured where that
    #: differs (the Axia's user sets it); null: its records carry no time.
    tick_hz: Positive | Literal["box"] | None = "box"  # type: ignore[assignment]
    #: For how long the counters are watched when connecting, to know their rates [s].
    measure_s: Annotated[float, Field(ge=0.02, le=10.0)] = 1.0
    #: Number of the box's low-pass filter, as set on its page; 0: none. A filter delays, and the delay is estimated.
    filter: Annotated[int, Field(ge=0)] = 0
    #: Serial number that the transducer or the box must have; null: any.
    serial: str | None = None


class OnRobotOptions(RdtOptions):
    """OnRobot HEX and OptoForce compute boxes; scales are fixed."""

    rate_hz: RateHz = 500.0
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
            tick_hz=self._nominal_tick_hz,
            tick_bits=None if self._nominal_tick_hz is None else SEQUENCE_BITS,
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
    def _nominal_tick_hz(self) -> float | None:
        """Rate of ft_sequence before the box was asked [Hz]; None: it is not used."""
        return self.options.tick_hz

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
        validities = np.repeat(validity[:, None], 6, axis=1)
        full = (np.abs(records.counts.astype(np.int64)) >= _FULL_SCALE) & (validities == Validity.OK)
        validities[full] = Validity.SATURATED  # no sensor measures so much: whatever the status says
        return cut(
            self._stream,
            self._sequence.place(rdt, host_ns, anew=back & (ahead > 0)),
            host_ns=host_ns,
            values=records.counts,
            validity=validities,
            ticks=None if self._stream.tick_hz is None else ft,
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
        await self._measure(page)
        return Identity("ATI", page.product or "RDT box", ", ".join(page.serials[:1]), page.firmware)

    @property
    def _nominal_tick_hz(self) -> float | None:
        told = self.options.tick_hz
        return ATI_INTERNAL_HZ if told == "box" else told

    async def _measure(self, page: Page) -> None:
        """Watch the counters for a while: they run as the page says, or the clock's rate is what was measured.

        ConnectError where the records come at another rate than the file says, or the clock's rate cannot be told. A
        host that stalls measures nonsense, but not the same twice; and how one counter goes with the other it sees all
        the same.
        """
        o, nominal_hz = self.options, self._nominal_tick_hz
        inside, sent = await self._count_rates(o.measure_s)
        if not sent.near(o.rate_hz, _OTHER_RATE):
            _, again = await self._count_rates(o.measure_s)
            if again.near(sent.hz, _SAME_TWICE):
                raise ConnectError(
                    self.name,
                    f"{self.line.where}: sends {sent.hz:.0f} records/s, the rig's file says {o.rate_hz:g}; "
                    "correct rate_hz",
                )
        if nominal_hz is None:
            return
        given = page.internal_hz if o.tick_hz == "box" else nominal_hz
        told = nominal_hz if given is None and o.dialect == "ati" else given
        by_ratio = CountedRate(inside.hz / sent.hz * o.rate_hz, 0.0)
        if told is None or not (by_ratio.near(told, _AS_TOLD) or inside.allows(told)):
            told = await self._measured_tick(told, inside)
        if told != self._stream.tick_hz:
            self._stream = replace(self._stream, tick_hz=told)

    async def _measured_tick(self, told: float | None, inside: CountedRate) -> float:
        """The rate of ft_sequence [Hz] where the page is wrong or says nothing: measured twice, and the same."""
        says = "its page does not say how fast" if told is None else f"{told:g} Hz was expected"
        if self.options.tick_hz != "box":
            raise ConnectError(
                self.name,
                f"ft_sequence goes on at {inside.hz:.1f} Hz, {says}; correct tick_hz, or leave it out",
            )
        longer, _ = await self._count_rates(4 * self.options.measure_s)
        if told is not None and longer.allows(told):
            return told
        if not longer.exact or abs(longer.hz - inside.hz) > max(_SKEW * longer.hz, 5 * inside.std_hz):
            raise ConnectError(
                self.name,
                f"ft_sequence goes on at {longer.hz:.1f} Hz give or take {longer.std_hz:.1f}, {says}; is this host "
                "busy? Raise measure_s, or set tick_hz to null",
            )
        return longer.hz

    async def _count_rates(self, seconds: float) -> tuple[CountedRate, CountedRate]:
        """Rates of ft_sequence and rdt_sequence while the box streams for so long."""
        arrived = await self._request(Request(Command.START_REALTIME))
        until_ns = arrived[0].host_ns + round(seconds * 1e9)
        while arrived[-1].host_ns < until_ns:
            more = await self._within(self.options.timeout_s)
            if not more:
                raise self._silent()
            arrived += more
        await self._rest()
        await self._drain()
        records = decode_records([d.data for d in arrived])
        host_ns = np.array([d.host_ns for d in arrived], dtype=np.int64)[records.datagram]
        inside, sent = (
            counted_rate(counter, host_ns) for counter in (records.ft_sequence, records.rdt_sequence)
        )
        if inside is None or sent is None:
            raise ConnectError(
                self.name,
                f"{self.line.where}: {len(records)} records within {seconds:g} s; raise rate_hz on the box, or "
                "measure_s",
            )
        return inside, sent

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
        if o.serial is not None and o.serial not in page.serials:
            told = " or ".join(map(repr, page.serials)) or "not told"
            wrong.append(f"serial is {told}, {o.serial!r} in the rig's file")
        if page.filter is not None and page.filter != o.filter:
            wrong.append(f"filter is {page.filter} on the box, {o.filter} in the rig's file")
        if page.transform is not None and any(page.transform):
            wrong.append(
                f"a tool transform is set on the box ({'; '.join(f'{x:g}' for x in page.transform)}), set it to "
                "zero: the "
                "robot's model has the sensor's place"
            )
        if not page.streams:
            wrong.append("RDT is switched off on the box")
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


@dataclass(frozen=True, slots=True)
class CountedRate:
    """How fast a counter goes on by the host's clock [Hz], and its standard deviation."""

    hz: float
    std_hz: float

    def allows(self, hz: float) -> bool:
        """Whether it may be `hz`, as well as it is known."""
        return abs(self.hz - hz) < max(_SKEW * hz, 5 * self.std_hz)

    def near(self, hz: float, part: float) -> bool:
        """Whether it is `hz` within a part of that, or within what it is known to."""
        return abs(self.hz - hz) <= max(part * hz, 5 * self.std_hz)

    @property
    def exact(self) -> bool:
        """Whether it is known well enough for a clock."""
        return 5 * self.std_hz < _SKEW * self.hz


def counted_rate(counter: NDArray[np.int64], host_ns: NDArray[np.int64]) -> CountedRate | None:
    """The slope of a 32-bit counter over the times of arrival [ns], both (N,); None: too few, or no time has passed."""
    t = (host_ns - host_ns[0]) * 1e-9 if len(host_ns) else np.zeros(0)
    if len(t) < 5 or t[-1] <= 0.0:
        return None
    count = np.cumsum(_steps(counter, int(counter[0]))).astype(np.float64)
    t, count = t - t.mean(), count - count.mean()
    slope = float(t @ count / (t @ t))
    rest = count - slope * t
    # Jitter of arrivals is correlated over bursts: counted as if a tenth of the samples were independent.
    spread = float(np.sqrt(10 * (rest @ rest) / (len(t) - 2) / (t @ t)))
    return CountedRate(slope, spread)


def _steps(counter: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """From each 32-bit counter to the next, as a signed number, shape (N,)."""
    return np.diff(counter, prepend=np.int64(last)).astype(np.int32).astype(np.int64)
