"""Host time: real, simulated as fast as possible, and moved by hand.

The seam is `heft.drivers.clock.Clock`. Times are integer nanoseconds of one monotonic clock; `utc_offset_ns`,
taken once when the clock is made, turns them into UTC (`utc_ns = host_ns + utc_offset_ns`). The meaning of
a stamp is defined in `docs/units-and-frames.md`.

How simulated time moves
------------------------
*Participants* are the tasks that make things happen (a plant, drivers, a player): inside
`with clock.participant(name)`. Time moves only when every participant is in `sleep_until` and no `hold` is
open. It then jumps to the earliest wake-up and wakes exactly one sleeper; the next one only after that
participant sleeps again or has left its block. Participants that are due together wake in the order of
joining. So between two wake-ups only one participant runs, and what it does cannot depend on load.

*Other tasks* may sleep too (a timer, a timeout, a progress line). Time stops at their wake-up as well:
after all participants that are due at the same instant, in the order of their calls, one at a time. Each
runs to its next await before time goes on; what it waits for after that, time does not wait for. With no
participant at all, time simply goes from sleeper to sleeper.

Three things are the caller's. Participants must join in an order that does not depend on load, so start
them under a `hold`, which keeps time still until all have joined. A task that waits for anything outside
the loop (a socket, a thread) keeps a `hold` open from the request to the answer, unless it is a participant
itself. And a participant that waits for something that only comes with time stops time for good:
`describe()` then says who is awaited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from heft.drivers.clock import Clock

__all__ = ["HostClock", "ManualClock", "PacedClock", "RealClock", "SimulatedClock", "at_once", "clock_of"]

#: Where simulated and manual time start [ns]: fixed, so that equal runs have equal stamps.
START_NS = 1_000_000_000
_LOOK_NS = 5_000_000


class HostClock(Clock, Protocol):
    """A clock that a session can run on: the seam, and its place in UTC."""

    @property
    def utc_offset_ns(self) -> int:
        """UTC minus host time [ns], taken once when the clock was made."""
        ...


class RealClock:
    """The monotonic clock of this machine; with `speed` N it runs N times faster from the moment it is made.

    Waking is as late as the event loop's timers are: about 1 ms. Sleeping to absolute times keeps that from
    adding up.
    """

    def __init__(self, speed: float = 1.0) -> None:
        if not 0.0 < speed < float("inf"):
            raise ValueError(f"speed is {speed}, must be positive and finite; for `max` use SimulatedClock")
        self.speed = speed
        self._start_ns = time.monotonic_ns()
        self._utc_offset_ns = time.time_ns() - self._start_ns

    @property
    def utc_offset_ns(self) -> int:
        """UTC minus host time [ns] at the start."""
        return self._utc_offset_ns

    def now_ns(self) -> int:
        """Host time [ns]; at speed 1 it is `time.monotonic_ns()`."""
        monotonic_ns = time.monotonic_ns()
        if self.speed == 1.0:
            return monotonic_ns
        return self._start_ns + int(self.speed * (monotonic_ns - self._start_ns))

    async def sleep_until(self, t_ns: int) -> None:
        """Return when host time is at least `t_ns`, after at least one turn of the loop."""
        while True:  # the loop may wake a little early
            wait_ns = t_ns - self.now_ns()
            await asyncio.sleep(max(0.0, wait_ns / (1e9 * self.speed)))
            if self.now_ns() >= t_ns:
                return

    def participant(self, name: str) -> AbstractContextManager[None]:
        """Does nothing: real time waits for nobody."""
        return nullcontext()

    def hold(self) -> AbstractContextManager[None]:
        """Does nothing: real time does not stand still."""
        return nullcontext()


@dataclass(slots=True)
class _Participant:
    """A task that simulated time waits for, unless it sleeps: `wake` is pending."""

    name: str
    order: int
    depth: int = 1
    wake: asyncio.Future[None] | None = None

    @property
    def asleep(self) -> bool:
        return self.wake is not None and not self.wake.done()


class SimulatedClock:
    """Time that jumps from one wake-up to the next; see the module's text for the rules.

    For one event loop and from its thread only (another thread goes through `loop.call_soon_threadsafe`).
    """

    def __init__(self, start_ns: int = START_NS) -> None:
        self._now_ns = start_ns
        self._utc_offset_ns = time.time_ns() - start_ns
        self._participants: dict[asyncio.Task[object], _Participant] = {}
        # Wake-up keys: (time, 0, order of joining) or, for other tasks, (time, 1, order of the call).
        self._sleepers: dict[asyncio.Future[None], tuple[int, int, int]] = {}
        self._holds: dict[int, str] = {}
        self._count = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._move_scheduled = False

    @property
    def utc_offset_ns(self) -> int:
        """UTC minus host time [ns] at the start."""
        return self._utc_offset_ns

    def now_ns(self) -> int:
        """Simulated host time [ns]."""
        return self._now_ns

    async def sleep_until(self, t_ns: int) -> None:
        """Return when simulated time is at least `t_ns`.

        A participant is woken in its turn, even if that time has come; another task then returns after one
        turn of the loop.
        """
        participant = self._participants.get(_current_task())
        if participant is None and t_ns <= self._now_ns:
            await asyncio.sleep(0)
            return
        self._loop = asyncio.get_running_loop()
        wake = self._loop.create_future()
        if participant is None:
            self._sleepers[wake] = (t_ns, 1, self._next_count())
        else:
            self._sleepers[wake] = (t_ns, 0, participant.order)
            participant.wake = wake
        self._schedule_move()
        try:
            await wake
        finally:
            self._sleepers.pop(wake, None)  # still there when cancelled
            if participant is not None:
                participant.wake = None

    @contextmanager
    def participant(self, name: str) -> Iterator[None]:
        """While inside, time waits for the calling task (not for its children); nesting changes nothing."""
        task = _current_task()
        participant = self._participants.get(task)
        if participant is None:
            participant = self._participants[task] = _Participant(name, self._next_count())
        else:
            participant.depth += 1
        try:
            yield
        finally:  # perhaps in another task: an async generator may be closed by anyone
            participant.depth -= 1
            if participant.depth == 0:
                del self._participants[task]
                self._schedule_move()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While inside, time stands still. Holds may overlap."""
        key = self._next_count()
        self._holds[key] = _current_task_name()
        try:
            yield
        finally:
            del self._holds[key]
            self._schedule_move()

    def describe(self) -> str:
        """Who is awaited and who sleeps, for messages about time that does not move."""
        awaited = [p.name for p in self._participants.values() if not p.asleep]
        asleep = [
            f"{p.name} until {self._sleepers[p.wake][0] / 1e9:.6f} s"
            for p in self._participants.values()
            if p.wake is not None and p.asleep
        ]
        others = len(self._sleepers) - len(asleep)
        return (
            f"simulated time {self._now_ns / 1e9:.6f} s; awaited: {', '.join(awaited) or 'nobody'}; "
            f"held by: {', '.join(self._holds.values()) or 'nobody'}; "
            f"asleep: {', '.join(asleep) or 'nobody'}, {others} other sleepers"
        )

    def _next_count(self) -> int:
        self._count += 1
        return self._count

    def _schedule_move(self) -> None:
        """Look one turn of the loop later, so that tasks that are ready now can run and sleep first."""
        if self._sleepers and not self._move_scheduled and self._loop is not None:
            self._move_scheduled = True
            self._loop.call_soon(self._move)

    def _move(self) -> None:
        """Wake the one sleeper whose turn it is, if time may move."""
        self._move_scheduled = False
        if self._holds or not self._sleepers or not all(p.asleep for p in self._participants.values()):
            return
        wake = min(self._sleepers, key=self._sleepers.__getitem__)
        if not self._may_begin(self._sleepers[wake][0]):
            return
        t_ns, rank, _ = self._sleepers.pop(wake)
        if not wake.done():
            self._now_ns = max(self._now_ns, t_ns)
            wake.set_result(None)
        if rank:  # nobody tells when another task has run: go on right after it
            self._schedule_move()

    def _may_begin(self, t_ns: int) -> bool:
        """Whether time may move to `t_ns` now; else `_move` is called again when it may."""
        return True


class PacedClock(SimulatedClock):
    """Simulated time that goes at most `speed` times as fast as real time: on a busy machine it falls behind.

    Nothing is late by it, for all sleep on the same clock. It makes up for delays of `CATCH_UP_S` of real time, so that
    late timers do not add up, and forgets longer ones.
    """

    CATCH_UP_S = 0.05
    EARLY_S = 0.0005  # a timer for less would cost more than it keeps

    def __init__(self, speed: float) -> None:
        super().__init__()
        if not 0.0 < speed < float("inf"):
            raise ValueError(f"speed is {speed}, must be positive and finite; for `max` use SimulatedClock")
        self.speed = speed
        self._origin_s = (
            time.monotonic() - self._now_ns * 1e-9 / speed
        )  # when simulated time would have been 0
        self._timer: asyncio.TimerHandle | None = None

    def _may_begin(self, t_ns: int) -> bool:
        due_s, now_s = self._origin_s + t_ns * 1e-9 / self.speed, time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due_s - now_s > self.EARLY_S:
            assert self._loop is not None
            self._timer = self._loop.call_later(due_s - now_s, self._move)
            return False
        self._origin_s += max(0.0, now_s - due_s - self.CATCH_UP_S)
        return True


def clock_of(speed: float, *, simulated: bool) -> HostClock:
    """The clock of a session: real time at speed 1, at `speed` times that or without end where all is simulated."""
    if speed == 1.0 or not simulated:
        return RealClock(speed)
    return SimulatedClock() if speed == float("inf") else PacedClock(speed)


class ManualClock:
    """Time that a test moves by hand. Participants and holds mean nothing: the test decides."""

    #: Turns of the loop that each woken task and what it sets off are given before the next is woken.
    TURNS = 10

    def __init__(self, start_ns: int = START_NS, utc_offset_ns: int = 0) -> None:
        self._now_ns = start_ns
        self._utc_offset_ns = utc_offset_ns
        self._sleepers: dict[asyncio.Future[None], int] = {}

    @property
    def utc_offset_ns(self) -> int:
        """UTC minus host time [ns], as given."""
        return self._utc_offset_ns

    def now_ns(self) -> int:
        """Host time [ns] as last moved."""
        return self._now_ns

    async def sleep_until(self, t_ns: int) -> None:
        """Return when time has been moved to `t_ns`; after one turn of the loop if it is there already."""
        if t_ns <= self._now_ns:
            await asyncio.sleep(0)
            return
        wake = asyncio.get_running_loop().create_future()
        self._sleepers[wake] = t_ns
        try:
            await wake
        finally:
            self._sleepers.pop(wake, None)

    async def advance(self, ns: int) -> None:
        """Move time by `ns` [ns], stopping at each wake-up on the way, in the order (time, call)."""
        if ns < 0:
            raise ValueError(f"cannot advance by {ns} ns: time does not go back")
        end_ns = self._now_ns + ns
        await self._settle()
        while self._sleepers:
            wake = min(self._sleepers, key=self._sleepers.__getitem__)
            if self._sleepers[wake] > end_ns:
                break
            t_ns = self._sleepers.pop(wake)
            if not wake.done():
                self._now_ns = max(self._now_ns, t_ns)
                wake.set_result(None)
            await self._settle()
        self._now_ns = end_ns
        await self._settle()

    def participant(self, name: str) -> AbstractContextManager[None]:
        """Does nothing."""
        return nullcontext()

    def hold(self) -> AbstractContextManager[None]:
        """Does nothing."""
        return nullcontext()

    async def _settle(self) -> None:
        for _ in range(self.TURNS):
            await asyncio.sleep(0)


async def at_once(clock: Clock, jobs: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do several things that take time at the same time; raises the first error when all have ended.

    The caller may be a participant: it sleeps meanwhile, so that time goes on.
    """
    if len(jobs) == 1:
        await jobs[0]
        return
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        while not all(task.done() for task in tasks):
            await clock.sleep_until(clock.now_ns() + _LOOK_NS)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


def _current_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a clock is waited on from inside a task, not from a callback of the loop")
    return task


def _current_task_name() -> str:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs yet
        task = None
    return "start-up" if task is None else task.get_name()
