"""Universal Robots arms over RTDE: motion, currents, temperatures and the wrench, by the controller's clock.

It reads; it does not move the arm. See docs/devices/ur_rtde.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from heft.drivers.block import Block, Validity
from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.codecs.ur_rtde import Package, Recipe, Type
from heft.drivers.devices.base.sequence import CounterSequence, Placed, cut
from heft.drivers.devices.base.streaming_driver import StreamingDriver
from heft.drivers.devices.base.wire_driver import WireOptions
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, OptionError, ProtocolError
from heft.drivers.options import RateHz
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.tcp import TcpLine
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["UrOptions", "UrRtde"]

_JOINTS = 6
_ANSWER_S = 1.0
_E_SERIES, _CB3 = 500.0, 125.0  # fastest rates [1/s]
_TEMPERATURE_HZ = 1.0


class UrOptions(WireOptions):
    """One controller."""

    #: Address of the controller, and its RTDE port.
    host: str
    port: Annotated[int, Field(gt=0, lt=65536)] = codec.PORT
    #: Samples per second: at most 500 (e-Series and later), 125 (CB3).
    rate_hz: RateHz = _E_SERIES
    #: Read the F/T sensor in the tool flange (e-Series) as it measures, without zeroing; false where there is none.
    wrench: bool = True
    #: Name of that sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The sensor reports what its load does to it: all six signs are turned. Not verified which it does.
    reaction: bool = False


class UrRtde(StreamingDriver[UrOptions, Chunk, bytes]):
    """Yields `NAME.motion` (6 positions, 6 velocities), `NAME.current`, `NAME.wrench` and `NAME.temperature`."""

    Options: ClassVar[type[UrOptions]] = UrOptions
    CHECK = "check its power, its address, and that RTDE is allowed in its settings (Services)"

    def __init__(self, name: str, options: UrOptions, context: Context) -> None:
        super().__init__(name, options, context)
        axes = context.axes
        if len(axes) != _JOINTS:
            raise OptionError(
                f"{name}: the robot has {len(axes)} joints, this arm has {_JOINTS}; is it the right file?"
            )
        timed = {"tick_hz": float(codec.TICK_HZ), "tick_bits": codec.TICK_BITS}
        motion = [Column(axis, "position", "rad") for axis in axes] + [
            Column(axis, "velocity", "rad/s") for axis in axes
        ]
        self._motion = Stream(f"{name}.motion", tuple(motion), options.rate_hz, **timed)  # type: ignore[arg-type]
        currents = tuple(Column(axis, "current", "A") for axis in axes)
        self._current = Stream(f"{name}.current", currents, options.rate_hz, **timed)  # type: ignore[arg-type]
        self._wrench = wrench_stream(
            name,
            rate_hz=options.rate_hz,
            scale=(1.0, 1.0),
            dtype="<f8",
            frame=options.frame,
            reaction=options.reaction,
            raw_units=("N", "N m"),
            tick_hz=codec.TICK_HZ,
            tick_bits=codec.TICK_BITS,
        )
        self._every = max(1, round(options.rate_hz / _TEMPERATURE_HZ))
        celsius = tuple(Column(axis, "temperature", "K", offset=273.15, raw_unit="deg C") for axis in axes)
        self._temperature = Stream(
            f"{name}.temperature",
            celsius,
            options.rate_hz / self._every,
            **timed,  # type: ignore[arg-type]
        )
        always = ("timestamp", "actual_q", "actual_qd", "actual_current", "joint_temperatures", "safety_mode")
        self._names: tuple[str, ...] = (*always, "ft_raw_wrench") if options.wrench else always
        self._parser = codec.Parser()
        self._recipe: Recipe | None = None
        self._answers: list[Package] = []
        per_sample = codec.TICK_HZ / options.rate_hz
        self._sequence = CounterSequence(codec.TICK_BITS, per_sample, options.rate_hz, self.counters)
        self._started = False

    @property
    def streams(self) -> tuple[Stream, ...]:
        own = (self._motion, self._current)
        return (*own, self._wrench, self._temperature) if self.options.wrench else (*own, self._temperature)

    def _make_line(self) -> Transport[Chunk, bytes]:
        return TcpLine(self.name, self.clock, remote=(self.options.host, self.options.port))

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        o = self.options
        self._parser.reset()
        self._answers, self._started = [], False
        if not (await self._ask(codec.version_request())).accepted:
            raise ConnectError(
                self.name, f"{self.line.where}: refuses RTDE version {codec.VERSION}; update its software"
            )
        major, minor, bugfix, build = (await self._ask(Package(Type.CONTROLLER_VERSION))).numbers("4I")
        fastest = _E_SERIES if major >= 5 else _CB3
        if o.rate_hz > fastest:
            raise ConnectError(
                self.name,
                f"{self.line.where}: rate_hz is {o.rate_hz:g}, a controller of version {major} sends at most "
                f"{fastest:g} Hz",
            )
        answer = await self._ask(codec.setup_outputs(self._names, o.rate_hz))
        try:
            self._recipe = Recipe.decode(answer, self._names)
        except ProtocolError as exc:
            raise ConnectError(
                self.name,
                f"{self.line.where}: {exc}; an arm without a sensor in its flange wants `wrench: false`",
            ) from exc
        self._parser.data_bytes = self._recipe.size
        return Identity("Universal Robots", "RTDE controller", firmware=f"{major}.{minor}.{bugfix}.{build}")

    async def _ask(self, package: Package) -> Package:
        """The answer to a package; messages and data that come in between are left out."""
        await self.line.send(package.encode())
        give_up_ns = self.clock.now_ns() + round(_ANSWER_S * 1e9)
        while self.clock.now_ns() < give_up_ns:
            for chunk in await self._within(_ANSWER_S) or ():
                self._answers += self._parser.feed(chunk.data)
            while self._answers:
                if (answer := self._answers.pop(0)).type == package.type:
                    return answer
        raise ConnectError(
            self.name,
            f"{self.line.where}: no answer to RTDE package {package.type:#04x} within {_ANSWER_S:g} s; {self.CHECK}",
        )

    async def _start(self) -> None:
        self._sequence.restart()
        if not (await self._ask(Package(Type.START))).accepted:
            raise ConnectError(self.name, f"{self.line.where}: refuses to start; {self.CHECK}")
        self._started = True

    async def _rest(self) -> None:
        self._started = False
        await self.line.send(Package(Type.PAUSE).encode())

    # -- data ---------------------------------------------------------------------------------------------------------

    def _counts(self, stream: Stream) -> bool:
        return stream is self._motion

    def _blocks(self, arrived: list[Chunk]) -> Iterable[Block]:
        rows, stamps = self._rows(arrived)
        if not rows:
            return
        values = np.array(rows)
        host_ns = np.array(stamps, dtype=np.int64)
        ticks = np.rint(values[:, 0] * codec.TICK_HZ).astype(np.int64)
        placed = self._sequence.place(ticks, host_ns)
        common = {"host_ns": host_ns, "ticks": ticks}
        good = np.zeros((len(values), 12), dtype=np.uint8)
        yield from cut(self._motion, placed, values=values[:, 1:13].copy(), validity=good, **common)
        yield from cut(
            self._current, placed, values=values[:, 13:19].copy(), validity=good[:, :6].copy(), **common
        )
        if self.options.wrench:
            wrench = values[:, 26:32].copy()
            yield from cut(self._wrench, placed, values=wrench, validity=_finite(wrench), **common)
        taken = placed.sequence % self._every == 0
        some = Placed(placed.rows[taken], placed.sequence[taken] // self._every)
        heat = values[:, 19:25].copy()
        yield from cut(self._temperature, some, values=heat, validity=good[:, :6].copy(), **common)

    def _rows(self, arrived: Sequence[Chunk]) -> tuple[list[tuple[Any, ...]], list[int]]:
        """Values of the data packages that came, and when."""
        rows: list[tuple[Any, ...]] = []
        stamps: list[int] = []
        skipped = self._parser.skipped
        for chunk in arrived:
            for package in self._parser.feed(chunk.data):
                if package.type != Type.DATA or self._recipe is None or not self._started:
                    continue
                try:
                    rows.append(self._recipe.unpack(package))
                except ProtocolError:
                    self.counters.corrupt += 1
                    continue
                stamps.append(chunk.host_ns)
        self.counters.corrupt += self._parser.skipped > skipped
        return rows, stamps


def _finite(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """FAULT where a number is none."""
    return np.where(np.isfinite(values), Validity.OK, Validity.FAULT).astype(np.uint8)
