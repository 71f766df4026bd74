"""Base of the drivers of servos on a half-duplex serial line: all axes of an arm as one Actuator.

In every cycle goal positions go out in one packet that nobody answers, and behind them a request that servos answer in
their turn. The line carries one packet at a time: a further request waits for these answers. What switches servos on
and off goes out in front of the goals, and what became of it is read back.
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from heft.drivers.codecs.servo_status import Status
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler
from heft.drivers.devices.bus.following_drives import AxisOptions, FollowingDrives, FollowingOptions
from heft.drivers.devices.bus.servo_client import ServoClient, ServoParser
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DriverError, ProtocolError
from heft.drivers.options import Positive, RateHz
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Chunk

__all__ = ["Request", "ServoAxisOptions", "ServoDrives", "ServoOptions", "unique_ids"]

_SWITCH_S = 2.0  # in which servos say that they are on, or off
_BITS_PER_BYTE = 10  # 8N1
_FULL = 0.8  # of a cycle that the line may be busy
_TURNAROUND_NS = 3_000_000  # that an adapter and this host may take besides
#: The same where every answer has come lately and now none at all: a host that is late, and no servo.
_PATIENCE_NS = 30_000_000
#: How late a cycle may begin: an exchange takes less than a period, so that the line makes up for it, row by row.
_LATENESS_NS = 60_000_000


class ServoAxisOptions(AxisOptions):
    """One servo of an arm."""

    #: Its number on the line.
    id: Annotated[int, Field(ge=0, le=252)]
    #: Turns of the servo's output for one of the joint; negative where it turns the other way.
    gear: float = 1.0
    #: What the servo reads where the joint's position is 0 [count]; left out: the middle of its turn.
    zero: float | None = None
    #: Servos have no brake: without torque the axis falls. docs/safety.md.
    brake: bool = False

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.gear == 0.0:
            raise ValueError("gear: 0 turns of the servo for one of the joint; 1 where there is no gear")
        return self

    @property
    def sign(self) -> float:
        """1, or -1 where servo and joint turn against each other."""
        return math.copysign(1.0, self.gear)


class ServoOptions(FollowingOptions):
    """Of every group of servos on one line."""

    #: The serial port; `/dev/serial/by-id/...` stays the same over re-plugging.
    port: str
    #: Of the line [bit/s]; every servo on it must be set to the same.
    baud: Annotated[int, Field(gt=0)] = 1_000_000
    #: Cycles per second.
    rate_hz: RateHz = 200.0
    #: How long an answer may take during set-up [s].
    answer_s: Positive = 0.05
    #: Return Delay Time that every servo is set to when connecting [us], stored in its EEPROM; left out: as it is.
    return_delay_us: Annotated[int, Field(ge=0, le=508, multiple_of=2)] | None = None


S = TypeVar("S", bound=ServoOptions)


class Request(NamedTuple):
    """A packet, the axes that answer it, and how many bytes each answer has."""

    packet: bytes
    axes: Sequence[int]
    answer_bytes: int


class ServoDrives(FollowingDrives[S, Chunk, bytes]):
    """Servos on one serial line.

    axes    their options, in the robot's order
    """

    Options: ClassVar[type[ServoOptions]]
    CHECK: ClassVar[str] = (
        "check its power and cable, its number and baud rate, and that the adapter turns round by itself and does "
        "not echo"
    )

    def __init__(self, name: str, options: S, context: Context, axes: Sequence[ServoAxisOptions]) -> None:
        n = len(axes)
        self._servos = tuple(axes)
        self._ids = tuple(axis.id for axis in axes)
        self._by_id = {number: i for i, number in enumerate(self._ids)}
        self._parser = self._make_parser()
        self._torque: list[int | None] = [None] * n  # what Torque Enable was when last read
        self._orders: list[bytes] = []  # packets that nobody answers, one in front of every cycle's goals
        self._sending = self._arming = False
        self._waiting: set[int] = set()  # axes that have not answered the last request
        self._answer_ns = 0  # of line time, for each of them
        self._heard = asyncio.Event()
        self._quiet_ns = 0  # when the line is quiet at the latest, even if somebody does not answer
        self._delay_ns = 0  # longest Return Delay Time
        self._begun_ns = 0  # when the last cycle began
        self._lowest, self._highest = np.full(n, -np.inf), np.full(n, np.inf)  # goals that are obeyed [count]
        super().__init__(name, options, context, axes)
        self._lateness_ns = _LATENESS_NS

    # -- what drivers add ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_parser(self) -> ServoParser:
        """A parser of the protocol's answers."""

    @abstractmethod
    def _read_request(self, servo: int, address: int, count: int) -> bytes:
        """Ask one servo for registers."""

    @abstractmethod
    async def _find(self, client: ServoClient) -> Identity:
        """Find every servo, compare it with the options and prepare it; ConnectError names what is wrong."""

    @abstractmethod
    def _goals(self, counts: Sequence[int]) -> bytes:
        """The packet with these goal positions, axis by axis."""

    @abstractmethod
    def _requests(self) -> list[Request]:
        """What is asked in this cycle; each when the one before has been answered."""

    @abstractmethod
    def _take(self, axis: int, status: Status, host_ns: int) -> bool:
        """Handle an answer; False: it is one to an earlier request, ProtocolError: to none of ours."""

    @abstractmethod
    def _switching(self, on: bool) -> list[bytes]:
        """Packets that switch every servo on or off, for successive cycles."""

    @abstractmethod
    def _doubt(self, axis: int) -> str | None:
        """Why an armed axis is not as it should be, or None."""

    # -- the line -----------------------------------------------------------------------------------------------------

    def _make_link(self) -> SerialPort:
        return SerialPort(self.name, self.clock, port=self.options.port, baudrate=self.options.baud)

    @property
    def _cycles(self) -> CycleAssembler:
        assert isinstance(self._assembler, CycleAssembler)
        return self._assembler

    def _line_ns(self, count: int) -> int:
        """How long so many bytes occupy the line [ns]."""
        return count * _BITS_PER_BYTE * 1_000_000_000 // self.options.baud

    async def _connect(self) -> Identity:
        self._orders, self._sending, self._arming = [], False, False
        self._waiting.clear()
        self._parser = self._make_parser()
        async with self._make_link() as line:
            client = ServoClient(line, self._make_parser(), self._read_request, self.options.answer_s)
            return await self._find(client)

    async def _ask_all(
        self,
        client: ServoClient,
        address: int,
        count: int,
        *,
        signed: bool = False,
        order: Literal["little", "big"] = "little",
    ) -> list[int]:
        """A register of every servo; ConnectError names all that do not answer."""
        told: list[int] = []
        silent: list[str] = []
        for axis, servo in zip(self.axes, self._ids, strict=True):
            try:
                told.append(int.from_bytes(await client.read(servo, address, count), order, signed=signed))
            except TimeoutError:
                silent.append(axis)
            except ProtocolError as exc:
                raise ConnectError(self.name, f"{self._who([axis])}: {exc}") from exc
        if silent:
            raise ConnectError(
                self.name,
                f"{client.line.where}: no answer from {self._who(silent)}, asked 3 times; {self.CHECK}",
            )
        return told

    async def _set_return_delay(self, client: ServoClient, address: int, torque: Sequence[int]) -> list[int]:
        """Return Delay Times [us], after they were set where `return_delay_us` says so."""
        wanted = self.options.return_delay_us
        delays = [2 * told for told in await self._ask_all(client, address, 1)]
        if wanted is None or set(delays) == {wanted}:
            return delays
        powered = [axis for axis, on in zip(self.axes, torque, strict=True) if on]
        if powered:
            raise ConnectError(
                self.name,
                f"return_delay_us is to be set to {wanted}, but torque is on at {self._who(powered)}, and then its "
                "EEPROM is locked; support the arm and switch torque off, or leave return_delay_us out",
            )
        await self._store(client, address, bytes([wanted // 2]))
        stored = [2 * told for told in await self._ask_all(client, address, 1)]
        wrong = [axis for axis, delay in zip(self.axes, stored, strict=True) if delay != wanted]
        if wrong:
            raise ConnectError(
                self.name,
                f"{self._who(wrong)} did not take return_delay_us {wanted}; set it with the maker's tool, or leave "
                "it out",
            )
        return stored

    @abstractmethod
    async def _store(self, client: ServoClient, address: int, data: bytes) -> None:
        """Write the same bytes into the EEPROM of every servo."""

    def _check_line(self, delays_us: Sequence[int]) -> None:
        """ConnectError where a cycle does not fit on the line; `delays_us` are the servos' return delays."""
        self._delay_ns = 1000 * max(delays_us)
        requests = self._requests()
        asked = sum(len(r.packet) + len(r.axes) * r.answer_bytes for r in requests)
        sent = len(self._goals([0] * len(self.axes)))
        busy_ns = self._line_ns(sent + asked) + 1000 * sum(delays_us)
        if busy_ns > _FULL * self._period_ns:
            raise ConnectError(
                self.name,
                f"a cycle takes {busy_ns * 1e-6:.2f} ms on the line ({sum(delays_us) * 1e-3:.2f} ms of it return "
                f"delays), bound {_FULL * self._period_ns * 1e-6:.2f} ms, {_FULL:.0%} of a cycle at "
                f"{self.options.rate_hz:g} Hz; raise the baud rate, set return_delay_us to 0, or lower rate_hz",
            )

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        await self._answers()  # nobody talks while others may
        if not self._steady:  # in a hurry, a late answer to the last request would be taken for one to this
            await self.clock.sleep_until(self._begun_ns + self._period_ns)
        reference = self._follow(due_ns)
        packets = b""
        if self._orders:
            packets += self._orders.pop(0)
        if self._sending:
            n = len(self.axes)
            counts = np.rint((reference[:n] - self._offset[:n]) / self._scale[:n])
            packets += self._goals([int(count) for count in counts])
        first, *others = self._requests()
        packets += first.packet
        self._begun_ns = now_ns = self.clock.now_ns()
        sampled_ns = now_ns + self._line_ns(len(packets))
        number = self._cycles.begin(now_ns, sampled_ns=sampled_ns)
        self._played.add(number, reference.tolist(), sampled_ns)
        self._ask(first, len(packets))
        await self._link.send(packets)
        give_up_ns = now_ns + round(_FULL * self._period_ns)
        for request in others:
            await self._answers()
            if self.clock.now_ns() > give_up_ns and not self._arming:
                return
            self._ask(request, len(request.packet))
            await self._link.send(request.packet)

    async def _await_late_answers(self, give_up_ns: int) -> None:
        """An exchange waits by itself."""

    def _ask(self, request: Request, sent_bytes: int) -> None:
        """The line belongs to these servos, until they have answered or cannot any more."""
        self._waiting = set(request.axes)
        self._heard.clear()
        self._answer_ns = self._line_ns(request.answer_bytes) + self._delay_ns
        self._quiet_ns = self._silent_from(self.clock.now_ns() + self._line_ns(sent_bytes))
        if self._steady:
            self._quiet_ns += _PATIENCE_NS

    def _silent_from(self, since_ns: int) -> int:
        """When servos that have not answered will not any more, with the line theirs since then [ns]."""
        turnaround_ns = self._period_ns if self._steady else min(_TURNAROUND_NS, self._period_ns // 2)
        return since_ns + len(self._waiting) * self._answer_ns + turnaround_ns

    async def _answers(self) -> None:
        """Wait for the answers to the last request, for as long as the line may take."""
        while self._waiting and (left_ns := self._quiet_ns - self.clock.now_ns()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left_ns * 1e-9):
                    await self._heard.wait()
            self._heard.clear()
        await self._let_in(lambda: bool(self._waiting))

    def _on_received(self, item: Chunk) -> None:
        refused = self._parser.refused
        for status in self._parser.feed(item.data):
            axis = self._by_id.get(status.id)
            if axis is None:
                continue
            try:
                if not self._take(axis, status, item.host_ns):
                    continue
            except ProtocolError:
                self.counters.corrupt += 1
            else:
                self._judge(axis)
            self._waiting.discard(axis)
            self._quiet_ns = self._silent_from(item.host_ns)
            self._heard.set()
        self.counters.corrupt += self._parser.refused - refused

    def _judge(self, axis: int) -> None:
        """Report a servo that is not as it should be while it moves the arm."""
        if self._sending and not self._arming and self._failure is None:
            doubt = self._doubt(axis)
            if doubt is not None:
                self._report_fault(self._fault(axis, doubt))

    def _fault(self, axis: int, what: str) -> DeviceFault:
        return DeviceFault(self.name, f"{self._who([self.axes[axis]])} {what}")

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        self._arming, self._sending = True, True
        self._torque = [None] * len(self.axes)
        self._orders = self._switching(True)
        try:
            await self._until(
                lambda: (not self._orders and self._powered()) or self._failure is not None, _SWITCH_S
            )
        finally:
            self._arming = False
        if isinstance(self._failure, DriverError):
            raise self._failure
        self._require_bus()
        for axis in range(len(self.axes)):
            doubt = self._doubt(axis)
            if doubt is not None:
                raise self._fault(axis, f"{doubt} (waited {_SWITCH_S:g} s)")

    async def _disable(self) -> None:
        self._sending = False
        self._arming = True  # look at every servo in turn
        self._torque = [None] * len(self.axes)
        self._orders = self._switching(False)
        try:
            off = await self._until(lambda: not self._orders and set(self._torque) == {0}, _SWITCH_S)
        finally:
            self._arming = False
        if not off:
            self._require_bus()
            on = [axis for axis, torque in zip(self.axes, self._torque, strict=True) if torque != 0]
            raise DeviceFault(
                self.name,
                f"{self._who(on)} does not say within {_SWITCH_S:g} s that its torque is off; use the emergency stop",
            )

    def _powered(self) -> bool:
        return set(self._torque) == {1}

    def _check_range(self, chunk: Setpoints) -> None:
        n = len(self.axes)
        counts = (chunk.position - self._offset[:n]) / self._scale[:n]
        outside = (counts < self._lowest - 0.5) | (counts > self._highest + 0.5)
        if outside.any():
            axis = int(outside.any(axis=0).argmax())
            worst = counts[outside[:, axis], axis][0]
            raise CommandError(
                self.name,
                f"{self._who([self.axes[axis]])}: setpoint at {worst:.0f} counts, but the servo obeys only "
                f"{self._lowest[axis]:.0f} to {self._highest[axis]:.0f}; widen its position limits, or `zero`",
            )

    def _who(self, axes: Sequence[str]) -> str:
        numbers = dict(zip(self.names, self._ids, strict=True))
        return ", ".join(f"servo {numbers[axis]} ({axis})" for axis in axes)


def unique_ids(axes: Sequence[ServoAxisOptions]) -> None:
    """ValueError where two servos have one number."""
    numbers = [axis.id for axis in axes]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise ValueError(f"axes: id {twice[0]} is used twice; every servo has its own")
