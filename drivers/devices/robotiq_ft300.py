"""Robotiq FT 300 and FT 300-S: wrenches over RS-485, as a stream or from registers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.block import Block, Validity
from heft.drivers.codecs import robotiq_ft300 as codec
from heft.drivers.devices.base.byte_times import ByteTimes
from heft.drivers.devices.base.modbus_client import ModbusClient
from heft.drivers.devices.base.polled_driver import PolledDriver, PolledOptions
from heft.drivers.devices.base.sequence import Placed, RateSequence, cut
from heft.drivers.devices.base.streaming_driver import StreamingDriver
from heft.drivers.devices.base.wire_driver import WireDriver, WireOptions
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, DeviceLost, ProtocolError
from heft.drivers.options import NonNegative, Positive, RateHz
from heft.drivers.stream import Stream
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["Ft300Options", "Ft300RegisterOptions", "RobotiqFt300", "RobotiqFt300Registers"]

_BAUD = 19200
_BURSTS = 5  # that the stop sequence is sent in
_ATTEMPTS = 5
_QUIET_S = 0.03  # longer than from one frame to the next
_ENDLESS_NS = 500_000_000
_LIMIT = 0x7FFF


class Ft300Options(WireOptions):
    """A sensor on a serial line of its own."""

    #: The serial port; `/dev/serial/by-id/...` stays the same over re-plugging.
    port: str
    #: Modbus address of the sensor.
    unit: Annotated[int, Field(ge=1, le=247)] = codec.UNIT
    #: How long an answer may take [s]: the maker allows 400 ms; reading the registers takes 13 ms on the line.
    answer_s: Positive = 0.4
    #: Silent for longer: lost [s]; longer than an answer may take.
    timeout_s: Positive = 1.0
    #: How long the sequence that ends an earlier stream takes [s].
    stop_s: NonNegative = 0.5
    #: Name of the sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The sensor reports what its load does to it: all six signs are turned.
    reaction: bool = False


class Ft300StreamOptions(Ft300Options):
    """The stream, which the vendor recommends."""

    #: Frames per second as the sensor sends them; gaps in the sequence are found by it.
    rate_hz: RateHz = 100.0


class Ft300RegisterOptions(Ft300Options, PolledOptions):
    """The registers."""

    #: How often they are read [1/s]; a transaction takes 15 ms at 19200 baud.
    rate_hz: RateHz = 50.0


class _Ft300(WireDriver[Any, Chunk, bytes]):
    """What both ways have in common."""

    CHECK = "check its cable and power"

    def __init__(
        self, name: str, options: Ft300StreamOptions | Ft300RegisterOptions, context: Context
    ) -> None:
        super().__init__(name, options, context)
        self._wrench = wrench_stream(
            name,
            rate_hz=options.rate_hz,
            scale=(codec.FORCE_SCALE, codec.TORQUE_SCALE),
            dtype="<i2",
            frame=options.frame,
            reaction=options.reaction,
        )

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self._wrench,)

    def _make_line(self) -> Transport[Chunk, bytes]:
        return SerialPort(self.name, self.clock, port=self.options.port, baudrate=_BAUD)

    async def _connect(self) -> Identity:
        await self._stop_stream()
        self._modbus = ModbusClient(
            self.line,
            self.clock,
            unit=self.options.unit,
            baud=_BAUD,
            timeout_s=self.options.answer_s,
        )
        serial = await self._registers(codec.SERIAL_NUMBER)
        await self._registers(codec.WRENCH)
        firmware = await self._registers(codec.FIRMWARE)
        if not codec.is_ft_sensor(firmware):
            raise ConnectError(
                self.name,
                f"{self.line.where}: register {codec.FIRMWARE[0]} is {firmware[0]:#06x}, which begins with no "
                "F: this is no "
                "FT 300; is it the gripper's line?",
            )
        return Identity("Robotiq", "FT 300", codec.serial_number(serial))

    async def _registers(self, place: tuple[int, int]) -> tuple[int, ...]:
        """Registers of a sensor whose last frames may still be on their way, or ConnectError."""
        why: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return (await self._modbus.read(*place)).registers
            except (TimeoutError, ProtocolError) as exc:
                why = exc
        reason = f"unit {self.options.unit} does not answer" if isinstance(why, TimeoutError) else str(why)
        raise ConnectError(
            self.name,
            f"{self.line.where}: asked {_ATTEMPTS} times for registers {place[0]} to {sum(place) - 1}: {reason}; "
            f"{self.CHECK}, its unit (9 from the factory) and that the port is the sensor's",
        )

    async def _stop_stream(self) -> None:
        """End a stream, also one that an earlier program has left behind."""
        step = len(codec.STOP_STREAM) // _BURSTS
        for _ in range(_BURSTS):
            sent_ns = await self.line.send(codec.STOP_STREAM[:step])
            await self.clock.sleep_until(sent_ns + round(self.options.stop_s * 1e9 / _BURSTS))
        give_up_ns = self.clock.now_ns() + _ENDLESS_NS
        while self.clock.now_ns() < give_up_ns and await self._within(_QUIET_S):
            pass  # frames that were on their way


class RobotiqFt300(_Ft300, StreamingDriver[Any, Chunk, bytes]):
    """Yields `NAME.wrench` in counts, as the sensor streams it. It has no clock and no counter."""

    Options: ClassVar[type[WireOptions]] = Ft300StreamOptions

    def __init__(self, name: str, options: Ft300StreamOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._parser = codec.Parser()
        self._times = ByteTimes(_BAUD)
        self._sequence = RateSequence(options.rate_hz, self.counters)
        self._breaks: int | None = None  # known so far; None: the first frame is still to come
        self._waiting: tuple[NDArray[np.int16], NDArray[np.int64]] = _nothing()
        self._batches: list[int] = []  # lengths of the reads that wait

    async def _start(self) -> None:
        await self._start_stream()
        self._parser.reset()
        self._sequence.restart()
        self._breaks = None
        self._waiting, self._batches = _nothing(), []

    async def _start_stream(self) -> None:
        why: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                await self._modbus.write(*codec.STREAM)
            except (TimeoutError, ProtocolError) as exc:
                why = exc
                await self._stop_stream()  # it may have started, and only the answer was lost
            else:
                return
        raise DeviceLost(
            self.name,
            f"{self.line.where}: asked {_ATTEMPTS} times for its stream: {str(why) or 'no answer'}; {self.CHECK}",
        )

    async def _rest(self) -> None:
        await self._stop_stream()

    def _blocks(self, arrived: list[Chunk]) -> Iterable[Block]:
        samples = self._parser.samples(b"".join(chunk.data for chunk in arrived))
        if not len(samples):
            return ()
        if self._breaks is not None:
            self.counters.corrupt += self._parser.breaks - self._breaks
        self._breaks = self._parser.breaks
        host_ns = self._times.of(arrived, samples.ends, self._parser.fed)
        counts_before, host_ns_before = self._waiting
        self._waiting = np.concatenate([counts_before, samples.counts]), np.append(host_ns_before, host_ns)
        self._batches.append(len(samples))
        return self._placed(last=False)

    def _flush(self) -> Iterable[Block]:
        return self._placed(last=True)

    def _placed(self, *, last: bool) -> Iterable[Block]:
        """Those that need not wait for the next one."""
        counts, host_ns = self._waiting
        placed = self._sequence.place(host_ns, self._batches, last=last)
        n = len(placed.rows)
        while n and sum(self._batches) > len(host_ns) - n:
            self._batches.pop(0)
        self._waiting = counts[n:], host_ns[n:]
        return cut(
            self._wrench, placed, host_ns=host_ns[:n], values=counts[:n], validity=_validity(counts[:n])
        )


class RobotiqFt300Registers(_Ft300, PolledDriver[Any, Chunk, bytes]):
    """Yields `NAME.wrench` in counts, read from registers: slower than the stream, but asked for."""

    Options: ClassVar[type[WireOptions]] = Ft300RegisterOptions

    async def _poll(self, number: int) -> Iterable[Block]:
        reply = await self._modbus.read(*codec.WRENCH)
        counts = np.array([codec.Sample.from_registers(reply.registers).counts], dtype=np.int16)
        return cut(
            self._wrench,
            Placed(np.arange(1), np.array([number])),
            host_ns=np.array([reply.host_ns]),
            values=counts,
            validity=_validity(counts),
            request_ns=np.array([reply.request_ns]),
        )


def _validity(counts: NDArray[np.int16]) -> NDArray[np.uint8]:
    """A number at the end of its range is no measurement; the sensor has no other way to say so. Shape (N, 6)."""
    at_limit = (counts >= _LIMIT) | (counts <= -_LIMIT)
    return np.where(at_limit, Validity.SATURATED, Validity.OK).astype(np.uint8)


def _nothing() -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    return np.empty((0, 6), dtype=np.int16), np.empty(0, dtype=np.int64)
