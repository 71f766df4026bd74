"""The player: sends a trajectory ahead of time, in chunks, over the control channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.clock import Clock
from heft.drivers.setpoints import Setpoints

__all__ = ["Player"]

Send = Callable[[Setpoints], Awaitable[None]]


class Player:
    """Keeps the drive between `LOOK_AHEAD_NS` and one chunk more ahead of time.

    `send` delivers one chunk and returns when the drive has taken it.
    """

    LOOK_AHEAD_NS = 400_000_000  # the design asks for 200 ms; a busy host may stall for as long again
    CHUNK_NS = 100_000_000
    LEAD_NS = 500_000_000  # from now to the first setpoint

    def __init__(self, clock: Clock, send: Send) -> None:
        self._clock = clock
        self._send = send
        self._sequence = 0

    async def play(self, trajectory: Trajectory) -> tuple[int, int]:
        """Send everything and return when the last setpoint is due; (first, last) host time [ns]."""
        start_ns = self._clock.now_ns() + self.LEAD_NS
        end_ns = start_ns
        for chunk in trajectory.chunks(start_ns, chunk_ns=self.CHUNK_NS, sequence=self._sequence):
            await self._clock.sleep_until(int(chunk.host_ns[0]) - self.LOOK_AHEAD_NS - self.CHUNK_NS)
            await self._send(chunk)
            self._sequence += len(chunk)
            end_ns = int(chunk.host_ns[-1])
        await self._clock.sleep_until(end_ns)
        return start_ns, end_ns
