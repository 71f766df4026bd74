"""A recording, published again.

    async with Replay(Recording.open("session.mcap"), telemetry, clock) as replay:
        await replay.play()

Blocks have the same bytes, cuts and order as in the session, states and events come between them, and every message
is marked as replay. A jump (`seek`, the next round of a loop) begins a new session on the bus, as what follows does not
continue what was before. Followers are another matter: they get the bytes of the recording from its beginning up to
the furthest place that was played, so they have it whole in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Self

from heft.daq import topics
from heft.daq.bus.endpoint import Endpoint
from heft.daq.clock import HostClock
from heft.daq.errors import RecordingError
from heft.daq.following.messages import Ending
from heft.daq.following.source import Source
from heft.daq.recording import Recording
from heft.daq.replay.progress import ReplayProgress
from heft.daq.replay.timeline import Item, Timeline

__all__ = ["Replay"]

#: A wait is looked at again after so much of the clock's time [ns], so that a key is answered.
_LOOK_NS = 50_000_000
_PROGRESS_S = 0.2
#: Messages between two looks at the rest of the world, when there is nothing to wait for.
_BURST = 64
_STATE = "state"  # the event that tells of a new one


class Replay:
    """Plays one recording; `pause`, `seek`, `loop` and `stop` may be used at any time while `play` runs.

    clock   paces it: a RealClock with the speed that is wanted. None: as fast as every subscriber keeps up
    """

    def __init__(self, recording: Recording, telemetry: Endpoint, clock: HostClock | None) -> None:
        self._timeline = Timeline(recording)
        self._clock = clock
        self._progress = ReplayProgress(recording.streams, self._timeline.start_ns, self._timeline.end_ns)
        self._path = recording.path
        self.source = Source(
            telemetry,
            recording.path.name.partition(".mcap")[0],
            _utc_offset_ns(recording),
            replay=True,
            patient=clock is None,
            visible=lambda: self._timeline.bytes_until(self._furthest_ns),
        )
        self._ending = _ending(recording)
        self._now_ns = self._timeline.start_ns
        self._furthest_ns = self._timeline.start_ns - 1  # of all that was played
        self._jump_ns: int | None = None
        self._paused = False
        self._changed = asyncio.Event()  # somebody wants something else
        self._stopped = False
        self._published_s = 0.0
        self.looping = False

    async def __aenter__(self) -> Self:
        await self.source.__aenter__()
        self.source.begin(self._path)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.source.__aexit__(*exc)

    @property
    def span_ns(self) -> tuple[int, int]:
        """Host time of the recording's beginning and end [ns]."""
        return self._timeline.start_ns, self._timeline.end_ns

    @property
    def seconds(self) -> float:
        """Where it stands, from the recording's beginning [s]."""
        return (self._now_ns - self._timeline.start_ns) * 1e-9

    @property
    def duration_s(self) -> float:
        """Of the recording [s]."""
        return (self._timeline.end_ns - self._timeline.start_ns) * 1e-9

    @property
    def paused(self) -> bool:
        """Does it wait to be continued?"""
        return self._paused

    @property
    def stopped(self) -> bool:
        """Was it ended before its end?"""
        return self._stopped

    def pause(self) -> None:
        """Stand still, or go on."""
        self._paused = not self._paused
        self._changed.set()

    def loop(self) -> None:
        """Begin anew after the end, or no longer."""
        self.looping = not self.looping
        self._changed.set()

    def seek(self, seconds: float) -> None:
        """Go on at another place, from the recording's beginning [s]."""
        inside = min(max(seconds, 0.0), self.duration_s)
        self._jump_ns = self._timeline.start_ns + int(inside * 1e9)
        self._now_ns = self._jump_ns
        self._changed.set()

    def stop(self) -> None:
        """Play no more."""
        self._stopped = True
        self._changed.set()
        self.source.server.release()

    async def play(self) -> None:
        """From the beginning to the end, or on and on; returns when it is over or was stopped."""
        start_ns = self._timeline.start_ns
        while not self._stopped:
            await self._round(start_ns)
            if self._jump_ns is None:
                if not self._stopped:
                    self.source.server.end(self._ending)
                if not self.looping:
                    break
                self._jump_ns = self._timeline.start_ns
            start_ns, self._jump_ns = self._jump_ns, None
            self.source.publisher.begin_session()
            self._progress.jump(self._timeline.events_before(start_ns))
        self._publish_progress()
        await self.source.publisher.room()

    async def followed(self, expected: Mapping[str, Callable[[], bool]]) -> None:
        """Return when every follower has the whole recording (see `FollowServer.followed`)."""
        await self.source.server.followed(expected)

    async def _round(self, start_ns: int) -> None:
        """From a host time on to the end, the next jump, or the stop."""
        pace = _Pace(self._clock, start_ns)
        for count, item in enumerate(self._timeline.items(start_ns)):
            while not self._interrupted and (self._paused or not await pace.reached(item.log_ns)):
                await self._wait(pace)
            if self._interrupted:
                return
            self._publish(item)
            if self.source.publisher.keeps:
                await self.source.publisher.room()
            if count % _BURST == 0:
                self._publish_progress(_PROGRESS_S)
                await asyncio.sleep(0)

    @property
    def _interrupted(self) -> bool:
        return self._stopped or self._jump_ns is not None

    async def _wait(self, pace: _Pace) -> None:
        """It is not time yet, or it stands still."""
        if not self._paused:
            self._publish_progress(_PROGRESS_S)
            return
        self._changed.clear()
        self._publish_progress()
        await self._changed.wait()
        pace.restart(self._now_ns)

    def _publish(self, item: Item) -> None:
        publisher = self.source.publisher
        self._now_ns = max(self._now_ns, item.log_ns)
        self._furthest_ns = max(self._furthest_ns, item.log_ns)
        if item.stream is not None:
            publisher.publish_encoded(item.stream, item.data, item.log_ns)
            self._progress.block(item.stream.name, item.data)
            return
        event = self._progress.event(item.data)
        publisher.publish_json(topics.EVENT, event)
        if event["name"] == _STATE:
            publisher.publish_json(topics.STATE, {"state": event["state"], "reason": event.get("reason", "")})

    def _publish_progress(self, every_s: float = 0.0) -> None:
        """Publish progress, not more often than `every_s` of real time."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._published_s >= every_s:
            self._published_s = now_s
            snapshot = self._progress.snapshot(self._now_ns, paused=self._paused, looping=self.looping)
            self.source.publisher.publish_json(topics.PROGRESS, snapshot)


class _Pace:
    """When something is due that was logged at a host time of the recording."""

    def __init__(self, clock: HostClock | None, log_ns: int) -> None:
        self._clock = clock
        self.restart(log_ns)

    def restart(self, log_ns: int) -> None:
        """It is `log_ns` now."""
        self._ahead_ns = 0 if self._clock is None else self._clock.now_ns() - log_ns

    async def reached(self, log_ns: int) -> bool:
        """Wait for it, but not for long; whether it is time."""
        if self._clock is None:
            return True
        now_ns, due_ns = self._clock.now_ns(), log_ns + self._ahead_ns
        if now_ns >= due_ns:
            return True
        await self._clock.sleep_until(min(due_ns, now_ns + _LOOK_NS))
        return self._clock.now_ns() >= due_ns


def _utc_offset_ns(recording: Recording) -> int:
    try:
        return recording.utc_offset_ns
    except RecordingError:  # lost; nothing here depends on it
        return 0


def _ending(recording: Recording) -> Ending:
    """The last state that the session was in."""
    states = [event.facts for event in recording.events if event.name == _STATE]
    if not recording.complete or not states:
        return Ending("cut", "the recording was not finished")
    return Ending(str(states[-1].get("state", "")), str(states[-1].get("reason", "")))
