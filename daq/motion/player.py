"""The player: sends a motion ahead of time, in chunks, over the control channel; it can rest on the way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np

from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.time_scaling import going_on, slowing_down
from heft.daq.trajectory.trajectory import Motion, Trajectory
from heft.drivers.clock import Clock
from heft.drivers.setpoints import Setpoints

__all__ = ["Player"]

Send = Callable[[Setpoints], Awaitable[None]]
Tell = Callable[[int], None]

_LOOK_NS = 20_000_000


class Player:
    """Keeps the drive between `LOOK_AHEAD_NS` and one chunk more ahead of time.

    `send` delivers one chunk and returns when the drive has taken it. After `pause` the arm slows down on its path,
    from the last setpoint that has been sent, and rests until `resume`; `on_paused` and `on_resumed` are told since
    when [ns].
    """

    LOOK_AHEAD_NS = 400_000_000  # the design asks for 200 ms; a busy host may stall for as long again
    CHUNK_NS = 100_000_000
    LEAD_NS = 500_000_000  # from now to the first setpoint

    def __init__(
        self, clock: Clock, send: Send, limits: Limits, *, on_paused: Tell, on_resumed: Tell
    ) -> None:
        self._clock, self._send, self._limits = clock, send, limits
        self._on_paused, self._on_resumed = on_paused, on_resumed
        self._sequence = 0
        self._start_ns = self._count = 0  # of the setpoints since the arm last stood: when, and how many
        self.holding = False  #: whether a pause is asked for

    def pause(self) -> None:
        """Come to rest on the path as soon as that can be done inside the limits."""
        self.holding = True

    def resume(self) -> None:
        """Go on."""
        self.holding = False

    async def rest(self, since_ns: int | None = None) -> None:
        """Where a pause is asked for: wait for its end."""
        if self.holding:
            self._on_paused(self._clock.now_ns() if since_ns is None else since_ns)
            while self.holding:
                await self._clock.sleep_until(self._clock.now_ns() + _LOOK_NS)
            self._on_resumed(self._clock.now_ns())

    async def play(self, motion: Motion) -> tuple[int, int]:
        """Send everything and return when the last setpoint is due; (first, last) host time [ns]."""
        step = self._step(motion)
        begin_ns = self._begin()
        end_ns, at = begin_ns, 0  # the sample that comes next
        while at < len(motion):
            slowing = slowing_down(motion, at - 1, self._limits) if self.holding and at else None
            if slowing is None:
                part = motion.window(at, at + step)
                at += len(part)
                end_ns = await self._emit(part, last=at == len(motion) and motion.ends_at_rest)
                continue
            ramp, resting = slowing
            end_ns = await self._emit(ramp, last=True)
            await self._clock.sleep_until(end_ns)
            await self._rest_at_least(end_ns)
            self._begin()
            ramp, reached = going_on(motion, resting, self._limits)
            at = reached + 1
            end_ns = await self._emit(ramp, last=at == len(motion))
        await self._clock.sleep_until(end_ns)
        return begin_ns, end_ns

    async def _rest_at_least(self, since_ns: int) -> None:
        """A pause that was taken back while the arm slowed down is a short one."""
        if not self.holding:
            self._on_paused(since_ns)
            self._on_resumed(self._clock.now_ns())
        await self.rest(since_ns)

    def _begin(self) -> int:
        """The next setpoint is the first of a motion from rest; when it is due [ns]."""
        self._start_ns, self._count = self._clock.now_ns() + self.LEAD_NS, 0
        return self._start_ns

    def _step(self, motion: Motion) -> int:
        return max(1, round(self.CHUNK_NS * 1e-9 * motion.rate_hz))

    async def _emit(self, part: Trajectory, *, last: bool) -> int:
        """Send samples as the next setpoints, each chunk when its time has come; when the last one is due [ns]."""
        step = self._step(part)
        for i in range(0, len(part), step):
            rows = slice(i, i + step)
            numbers = self._count + np.arange(len(part.position[rows]))
            host_ns = self._start_ns + np.rint(numbers * (1e9 / part.rate_hz)).astype(np.int64)
            chunk = Setpoints(
                self._sequence,
                host_ns,
                part.position[rows],
                part.velocity[rows],
                part.acceleration[rows],
                last and i + step >= len(part),
            )
            await self._clock.sleep_until(int(host_ns[0]) - self.LOOK_AHEAD_NS - self.CHUNK_NS)
            await self._send(chunk)
            self._sequence += len(chunk)
            self._count += len(chunk)
        return int(host_ns[-1])
