"""Base of the drivers of axes that share a line: a request cycle, and a reader that assembles the answers to rows.

Inside `async with` two tasks run: one sends requests to every axis at `rate_hz` (`_exchange`), one handles what is
received (`_on_received`). Both run whether or not the driver is iterated, so a motion can be stopped after its reader
has failed. An axis that has not answered for `timeout_s` is lost. The first failure is raised by the iteration; with
`reconnect_s`, and never while a drive is on, the driver first tries to reconnect.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field

from heft.drivers.block import Block
from heft.drivers.devices.base.device_driver import RETRY_NS, DeviceDriver, DeviceOptions
from heft.drivers.devices.bus.block_builder import BlockBuilder
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.driver import Context, Counters, Identity
from heft.drivers.errors import ConnectError, DeviceLost, HeftError, ProtocolError
from heft.drivers.options import Positive, RateHz
from heft.drivers.stream import Stream
from heft.drivers.transports.inbox import Inbox
from heft.drivers.transports.transport import Transport

__all__ = ["CycleDriver", "CycleOptions"]

O = TypeVar("O", bound="CycleOptions")  # noqa: E741 - options
In = TypeVar("In")
Out = TypeVar("Out")

_BLOCK_S = 0.01
_POLL_NS = 4_000_000
_PATIENCE = (
    0.45  # cycles for which missing answers are waited for: the next one must not be left out for them
)
_STEADY = 5  # cycles without a loss, after which late answers are waited for
_TURNS = 10  # of the loop
_LEFT_OUT = 3  # times in a row that a late cycle waits for the next one


class CycleOptions(DeviceOptions):
    """Of every driver that asks its axes in a cycle."""

    #: Cycles per second.
    rate_hz: RateHz = 250.0
    #: Samples per block; left out: 10 ms worth.
    block: Annotated[int, Field(gt=0)] | None = None
    #: An axis that has not answered for this long is lost [s].
    timeout_s: Positive = 0.1


class CycleDriver(DeviceDriver[O], Generic[O, In, Out]):
    """`n` axes on one line; each subclass adds what it asks and how it reads the answers.

    CHECK   what to look at when an axis does not answer
    """

    Options: ClassVar[type[CycleOptions]]
    CHECK: ClassVar[str] = "check its power, its number on the line, the bit rate and the termination"

    def __init__(self, name: str, options: O, context: Context, axes: Sequence[str]) -> None:
        super().__init__(name, options, context)
        self.names = tuple(axes)
        self._period_ns = round(1e9 / self._cycle_hz)
        self._lateness_ns = self._period_ns // 2  # a cycle that would begin later than this is left out
        self._max_missed_cycles = max(2, round(options.timeout_s * self._cycle_hz))
        self._assembler: RowAssembler = self._make_assembler()
        self._others: tuple[BlockBuilder, ...] = ()  # rows of streams that are not put together from answers
        self._missed = [0] * len(self.names)
        self._complete_cycles = 0  # cycles since something was missing
        self._link: Transport[In, Out] = self._make_link()
        self._tasks: list[asyncio.Task[None]] = []
        self._outbox: Inbox[Block] = Inbox(name)
        self._reading = False
        self._failure: Exception | None = None

    # -- what drivers add ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_link(self) -> Transport[In, Out]:
        """The line that the options name, closed."""

    @abstractmethod
    def _make_assembler(self) -> RowAssembler:
        """The assembler of rows from values of single axes."""

    @abstractmethod
    async def _connect(self) -> Identity:
        """Before the cycle opens its line: find every axis, and prepare it. ConnectError names what is wrong."""

    @abstractmethod
    async def _exchange(self, due_ns: int) -> None:
        """One cycle, due at this host time [ns]: send requests and commands."""

    @abstractmethod
    def _on_received(self, item: In) -> None:
        """Handle what the line has received; a ProtocolError counts as corrupt."""

    async def _start(self) -> None:
        """With the cycle running: let the devices stream."""

    async def _shut_down(self) -> None:
        """Leave the devices as they should be left; the line may be gone."""

    @property
    def _cycle_hz(self) -> float:
        """Cycles per second."""
        return self.options.rate_hz

    @property
    def _block(self) -> int:
        """Samples per block."""
        return self.options.block or max(1, round(_BLOCK_S * self.options.rate_hz))

    # -- the life of a driver -----------------------------------------------------------------------------------------

    def redirect(self, endpoint: Mapping[str, Any]) -> None:
        super().redirect(endpoint)
        self._link = self._make_link()

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (*self._assembler.streams, *(rows.stream for rows in self._others))

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self.stop()
            with suppress(HeftError):
                await self._shut_down()
        finally:
            await self._release()

    async def _open(self) -> None:
        """Everything runs, or ConnectError with nothing left open."""
        self._failure = None
        self._missed = [0] * len(self.names)
        try:
            self._identity = await self._connect()
            await self._link.__aenter__()
            for what, job in (("reader", self._read), ("cycle", self._run_cycle)):
                self._tasks.append(asyncio.create_task(self._guarded(job), name=f"{self.name} {what}"))
            await self._start()
        except DeviceLost as exc:
            await self._release()
            raise ConnectError(self.name, str(exc).removeprefix(f"{self.name}: ")) from exc
        except BaseException:
            await self._release()
            raise

    async def _release(self) -> None:
        """End the tasks and close the line, also when this is cancelled meanwhile."""
        for task in self._tasks:
            task.cancel()
        interruption: asyncio.CancelledError | None = None
        while not all(task.done() for task in self._tasks):
            try:
                await asyncio.wait(self._tasks)
            except asyncio.CancelledError as exc:
                interruption = exc
        self._tasks.clear()
        self._link.close()
        self._assembler.skip(0)
        if interruption is not None:
            raise interruption

    async def stop(self) -> None:
        if self._reading:
            self._reading = False
            self._assembler.count_in(Counters())
            self._outbox.fail(DeviceLost(self.name, "was stopped"))

    async def __aiter__(self) -> AsyncIterator[Block]:
        self._listen()
        while True:
            try:
                blocks = await self._outbox.take()
            except DeviceLost:
                if not self._reading:
                    return
                await self._reconnect()
                continue
            for block in blocks:
                yield block

    def _listen(self) -> None:
        """From now on blocks are wanted, and what is missing counts as lost."""
        if not self._tasks and self._failure is None:
            raise self._not_connected()
        self._outbox = Inbox(self.name)
        self._reading = True
        self._assembler.count_in(self.counters)
        now_ns = self.clock.now_ns()
        self._assembler.restart(now_ns)
        for rows in self._others:
            rows.restart(now_ns)
        if self._failure is not None:
            self._fail(self._failure)

    async def _reconnect(self) -> None:
        """Get the axes back within `reconnect_s`, or raise what happened at first."""
        failure, lost_ns = self._failure or DeviceLost(self.name, "lost"), self.clock.now_ns()
        give_up_ns, lost = lost_ns + round(self.options.reconnect_s * 1e9), self._assembler.number - 2
        if isinstance(failure, DeviceLost) and self._may_reconnect():
            while self.clock.now_ns() < give_up_ns:
                await self._release()
                try:
                    await self._open()
                except HeftError:
                    await self.clock.sleep_until(self.clock.now_ns() + RETRY_NS)
                    continue
                self._skip((self.clock.now_ns() - lost_ns) // self._period_ns)
                self.counters.lost += self._assembler.number - lost  # with the two that were under way
                self._listen()
                return
        self._failure = failure
        raise failure

    def _may_reconnect(self) -> bool:
        """Whether a lost line may be opened again while the driver is iterated."""
        return True

    # -- the tasks ----------------------------------------------------------------------------------------------------

    async def _guarded(self, job: Callable[[], Awaitable[None]]) -> None:
        try:
            await job()
        except Exception as exc:
            self._fail(exc)

    async def _read(self) -> None:
        while True:
            for item in await self._link.receive():
                try:
                    self._on_received(item)
                except ProtocolError:
                    self.counters.corrupt += 1

    async def _run_cycle(self) -> None:
        """Cycles on a fixed grid of host time, never early; those that would begin too late are left out: lost.

        A host that is always late sends at the latest instant of the grid that has passed: something must be sent.
        """
        begin_ns, number, left_out = self.clock.now_ns(), 0, 0
        while True:
            due_ns = begin_ns + number * self._period_ns
            await self.clock.sleep_until(due_ns)
            await self._await_late_answers(due_ns + round(_PATIENCE * self._period_ns))
            late_ns = self.clock.now_ns() - due_ns
            if late_ns > self._lateness_ns:
                wait = left_out < _LEFT_OUT
                behind = late_ns // self._period_ns + wait
                self._leave_out(behind)
                number += behind
                due_ns += behind * self._period_ns
                left_out += 1
                if wait:
                    continue
            left_out = 0
            await self._exchange(due_ns)
            number += 1

    def _leave_out(self, cycles: int) -> None:
        """Account for cycles that this host was too late for: what would have been asked or told in them is a gap."""
        self.counters.skipped += cycles
        self._assembler.leave_out(cycles)

    def _skip(self, cycles: int) -> None:
        """So many cycles have passed while the line was gone."""
        self._assembler.skip(cycles)

    async def _await_late_answers(self, give_up_ns: int) -> None:
        """Let answers come in that are there already; where none has been missing lately, wait for the last ones."""
        await self._let_in(lambda: bool(self._assembler.missing))
        while self._assembler.missing and self._steady and self.clock.now_ns() < give_up_ns:
            await self.clock.sleep_until(self.clock.now_ns() + self._period_ns // 16)
        if self._assembler.missing:
            self._complete_cycles = 0  # they are not waited for again

    async def _let_in(self, waiting: Callable[[], bool]) -> None:
        """Give what has been received already, while this host was busy, the time to be read."""
        for _ in range(_TURNS):
            if not waiting():
                return
            await self.clock.sleep_until(0)  # one turn of the loop

    @property
    def _steady(self) -> bool:
        """Whether every answer has come lately."""
        return self._complete_cycles >= _STEADY

    def _on_cycle_end(self, missing: int) -> None:
        """A cycle is over; bits of `missing` are frames that did not come, frame f being one of axis f % n."""
        n = len(self.names)
        self._complete_cycles = 0 if missing else self._complete_cycles + 1
        missing |= missing >> n
        for axis in range(n):
            self._missed[axis] = self._missed[axis] + 1 if missing >> axis & 1 else 0
        self._check_silence()

    def _check_silence(self) -> None:
        """An axis that has missed too many cycles is lost, and so are those that are about to be."""
        if self._failure is not None or max(self._missed) < self._max_missed_cycles:
            return
        lost = [
            n
            for n, missed in zip(self.names, self._missed, strict=True)
            if missed > self._max_missed_cycles // 2
        ]
        who = "every axis" if len(lost) == len(self.names) > 1 else self._who(lost)
        self._fail(
            DeviceLost(
                self.name,
                f"{self._link.where}: {who} is silent for more than {self.options.timeout_s:g} s (timeout_s); "
                f"{self.CHECK}",
            )
        )

    def _fail(self, exc: Exception) -> None:
        """Tell whoever iterates; the first reason stays."""
        self._failure = self._failure or exc
        self._assembler.flush()
        for rows in self._others:
            rows.flush()
        self._outbox.fail(DeviceLost(self.name, str(self._failure)))

    def _publish(self, block: Block) -> None:
        if self._reading:
            if block.stream is self._assembler.streams[0]:
                self.counters.received += len(block)
            self._outbox.put([block])

    def _who(self, axes: Sequence[str]) -> str:
        """Axes in words, for messages."""
        return ", ".join(axes)

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; False: it does not within this time, or the line is gone."""
        give_up_ns = self.clock.now_ns() + round(seconds * 1e9)
        while not condition():
            if self.clock.now_ns() > give_up_ns or not self._alive:
                return False
            await self.clock.sleep_until(self.clock.now_ns() + _POLL_NS)
        return True

    @property
    def _alive(self) -> bool:
        """Whether both tasks run."""
        return bool(self._tasks) and not any(task.done() for task in self._tasks)
