"""Bota SensONE, Rokubi and MiniONE: wrenches over a serial line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.block import Block, Validity
from heft.drivers.codecs import bota
from heft.drivers.devices.base.byte_times import ByteTimes
from heft.drivers.devices.base.sequence import CounterSequence, Placed, cut
from heft.drivers.devices.base.streaming_driver import StreamingDriver
from heft.drivers.devices.base.wire_driver import WireOptions
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, OptionError
from heft.drivers.options import NonNegative
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["BotaOptions", "BotaSerial"]

_FRAMES_S = 1.0  # by then a sensor that streams has sent some
_STEADY_NS = 500_000_000  # a sensor that has streamed for so long since its port was opened does not restart
_SETTLE_S = 0.1  # between `App Init` and the first command
_ACKNOWLEDGED_S = 0.05
_TEMPERATURE_HZ = 20.0  # it changes slowly


class BotaOptions(WireOptions):
    """A sensor on a serial line of its own."""

    #: The serial port; `/dev/serial/by-id/...` stays the same over re-plugging.
    port: str
    #: Of the line; the sensor has 460800 unless it was set otherwise.
    baud: Literal[9600, 57600, 115200, 230400, 460800] = 460800
    #: Length of the sinc filter, which sets the rate: 51200 Hz / sinc; 64 is 800 Hz, 512 is 100 Hz. The maker's driver
    #: takes no others from the standard sensor.
    sinc: Annotated[int, Field(ge=64, le=2048)] = 64
    #: Further settings of the filter: chopping, fast settling, and leaving out the FIR filter.
    chop: bool = False
    fast: bool = False
    skip_fir: bool = True
    #: Let the sensor correct for its temperature.
    temperature_compensated: bool = False
    #: Set the sensor to all this when connecting (nothing is stored in it); false: leave it as it is.
    configure: bool = True
    #: Opening the port restarts the sensor; how long it may take until it says `App Init` [s]. 0: its line has no wire
    #: that resets it, so nothing is waited for.
    boot_s: NonNegative = 4.0
    #: How long the sensor needs to enter its configuration mode, unless it acknowledges before [s].
    configure_wait_s: NonNegative = 0.5
    #: Name of the sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The sensor reports what its load does to it: all six signs are turned. So do SensONE and Rokubi.
    reaction: bool = True


class BotaSerial(StreamingDriver[BotaOptions, Chunk, bytes]):
    """Yields `NAME.wrench` [N, N m] with the sensor's clock [us, 32 bit], and `NAME.temperature` [K] at 20 Hz or so."""

    Options: ClassVar[type[BotaOptions]] = BotaOptions
    CHECK = "check its cable and power"

    def __init__(self, name: str, options: BotaOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._period_s = bota.sample_period_s(options.sinc)
        rate_hz = 1.0 / self._period_s
        if rate_hz > bota.line_rate_hz(options.baud):
            raise OptionError(
                f"{name}: sinc {options.sinc} makes {rate_hz:.0f} frames/s, but {options.baud} baud carry "
                f"{bota.line_rate_hz(options.baud):.0f}; raise sinc or baud"
            )
        self._wrench = wrench_stream(
            name,
            rate_hz=rate_hz,
            scale=(1.0, 1.0),
            dtype="<f4",
            frame=options.frame,
            reaction=options.reaction,
            raw_units=("N", "N m"),
            tick_hz=bota.TICK_HZ,
            tick_bits=bota.TICK_BITS,
        )
        self._every = max(1, round(rate_hz / _TEMPERATURE_HZ))
        celsius = Column("sensor", "temperature", "K", offset=273.15, raw_unit="deg C")
        self._temperature = Stream(
            f"{name}.temperature",
            (celsius,),
            rate_hz / self._every,
            dtype="<f4",
            tick_hz=bota.TICK_HZ,
            tick_bits=bota.TICK_BITS,
        )
        self._sequence = CounterSequence(
            bota.TICK_BITS, self._period_s * bota.TICK_HZ, rate_hz, self.counters
        )
        self._parser = bota.Parser()
        self._times = ByteTimes(options.baud)
        self._configurable_ns = 0  # when the sensor will have entered its configuration mode
        self._breaks: int | None = None  # known so far; None: the first frame is still to come

    @property
    def streams(self) -> tuple[Stream, ...]:
        return self._wrench, self._temperature

    def _make_line(self) -> Transport[Chunk, bytes]:
        return SerialPort(self.name, self.clock, port=self.options.port, baudrate=self.options.baud)

    async def _connect(self) -> Identity:
        o = self.options
        await self._boot()
        if o.configure:
            await self._enter_configuration()
            for command in (
                bota.communication(baud=o.baud, temperature_compensated=o.temperature_compensated),
                bota.filters(sinc=o.sinc, chop=o.chop, fast=o.fast, skip=o.skip_fir),
            ):
                await self.line.send(command)
                await self._acknowledged(command, _ACKNOWLEDGED_S)
        await self._run()
        await self._first_frames()
        return Identity("Bota", "serial F/T sensor")

    async def _boot(self) -> None:
        """Wait until a sensor that was reset by opening its port is up, or has shown that it was not.

        It says `App Init`; one that goes on streaming was not reset; a silent one gets the whole time.
        """
        opened_ns, received = self.clock.now_ns(), b""
        give_up_ns = opened_ns + round(self.options.boot_s * 1e9)
        parser = bota.Parser()
        while (now_ns := self.clock.now_ns()) < give_up_ns:
            for chunk in await self._within((give_up_ns - now_ns) * 1e-9) or ():
                received = received[-len(bota.STARTED) :] + chunk.data
                steady = len(parser.samples(chunk.data)) and chunk.host_ns - opened_ns > _STEADY_NS
                if bota.STARTED in received:
                    await self.clock.sleep_until(self.clock.now_ns() + round(_SETTLE_S * 1e9))
                    return
                if steady:
                    return

    async def _acknowledged(self, command: bytes, timeout_s: float) -> bool:
        """Whether the sensor confirms a command in time; newer firmware does, older says nothing."""
        give_up_ns, received = self.clock.now_ns() + round(timeout_s * 1e9), b""
        while (now_ns := self.clock.now_ns()) < give_up_ns:
            for chunk in await self._within((give_up_ns - now_ns) * 1e-9) or ():
                received += chunk.data
                if bota.acknowledgement(command) in received:
                    return True
        return False

    async def _start(self) -> None:
        await self._run()
        await self._drain()
        self._parser.reset()
        self._sequence.restart()
        self._breaks = None

    async def _rest(self) -> None:
        sent_ns = await self.line.send(bota.CONFIGURE)
        self._configurable_ns = sent_ns + round(self.options.configure_wait_s * 1e9)

    async def _enter_configuration(self) -> None:
        await self._rest()
        if await self._acknowledged(bota.CONFIGURE, self.options.configure_wait_s):
            self._configurable_ns = 0
        await self._drain()

    async def _run(self) -> None:
        """Stream; a sensor that is still on its way into the configuration mode would not hear it."""
        await self.clock.sleep_until(self._configurable_ns)
        await self.line.send(bota.RUN)

    async def _first_frames(self) -> None:
        """Two frames that are as far apart as the options say, or ConnectError."""
        parser, stamps, received = bota.Parser(), np.empty(0, dtype=np.int64), b""
        give_up_ns = self.clock.now_ns() + round(_FRAMES_S * 1e9)
        while len(stamps) < 3 and self.clock.now_ns() < give_up_ns:
            for chunk in await self._within(_FRAMES_S) or ():
                stamps = np.append(stamps, parser.samples(chunk.data).timestamp_us)
                received += chunk.data
        where = self.line.where
        if not parser.fed:
            raise ConnectError(
                self.name, f"{where}: no byte within {_FRAMES_S:g} s of the start; {self.CHECK}"
            )
        if len(stamps) < 3 and received.count(bota.OLD_HEADER) > 2:
            raise ConnectError(
                self.name, f"{where}: this is an older Rokubi, which sends frames of 26 bytes; not supported"
            )
        if len(stamps) < 3:
            raise ConnectError(
                self.name,
                f"{where}: {parser.fed} bytes within {_FRAMES_S:g} s, but {len(stamps)} frames; is the baud rate the "
                "sensor's (460800 unless changed), is it set to binary output, and is it no sensor of the newer "
                "generation?",
            )
        period_us = float(np.median(np.diff(stamps) & 0xFFFF_FFFF))
        if abs(period_us * 1e-6 - self._period_s) > 0.1 * self._period_s:
            raise ConnectError(
                self.name,
                f"{where}: sends every {period_us:.0f} us, but sinc {self.options.sinc} means "
                f"{1e6 * self._period_s:.0f} us; correct sinc, or set configure",
            )

    def _counts(self, stream: Stream) -> bool:
        return stream is self._wrench

    def _blocks(self, arrived: list[Chunk]) -> Iterable[Block]:
        samples = self._parser.samples(b"".join(chunk.data for chunk in arrived))
        if not len(samples):
            return
        self._count_breaks()
        host_ns = self._times.of(arrived, samples.ends, self._parser.fed)
        placed = self._sequence.place(samples.timestamp_us, host_ns)
        validity = _validity(samples.status)
        yield from cut(
            self._wrench,
            placed,
            host_ns=host_ns,
            values=samples.wrench,
            validity=np.repeat(validity[:, None], 6, axis=1),
            ticks=samples.timestamp_us,
        )
        yield from self._temperatures(placed, samples, host_ns)

    def _temperatures(
        self, placed: Placed, samples: bota.Samples, host_ns: NDArray[np.int64]
    ) -> Iterator[Block]:
        """Every so many samples, by their sequence numbers: what is lost here is lost there."""
        taken = placed.sequence % self._every == 0
        yield from cut(
            self._temperature,
            Placed(placed.rows[taken], placed.sequence[taken] // self._every),
            host_ns=host_ns,
            values=samples.temperature_c[:, None],
            validity=np.zeros((len(samples), 1), dtype=np.uint8),
            ticks=samples.timestamp_us,
        )

    def _count_breaks(self) -> None:
        """Interruptions of the frames; joining the stream in the middle of one is none."""
        if self._breaks is not None:
            self.counters.corrupt += self._parser.breaks - self._breaks
        self._breaks = self._parser.breaks


def _validity(status: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """By the status bits, shape (N,); samples that were left out show in the sequence."""
    validity = np.zeros(len(status), dtype=np.uint8)
    validity[(status & bota.Status.OVERRANGE) != 0] = Validity.SATURATED
    validity[(status & (bota.Status.INVALID | bota.Status.RAW)) != 0] = Validity.FAULT
    return validity
