"""A process that follows pick-ups, so that thinking about them never holds up the reading of devices."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

from drivers.block import Block
from drivers.stream import Stream
from identify.payload.events import Signal
from identify.payload.hand import Hand
from identify.payload.live import LivePayload, rehearse
from identify.payload.pickups import Pickup
from identify.payload.prior import ObjectPrior
from identify.payload.streams import PayloadStreams
from identify.robot import Robot

__all__ = ["Thinker"]

_live: LivePayload | None = None  # in the process


class Thinker:
    """Blocks and signals in, news of pick-ups out; inside `async with`. `hand` is the bare hand, once it is known."""

    def __init__(
        self, streams: Mapping[str, Stream], robot: Robot, hand: Hand | None, prior: ObjectPrior | None
    ) -> None:
        names = PayloadStreams.find(streams, robot, "the rig")
        self.wanted = {names.position, names.wrench, names.gripper} - {None}
        self.hand = hand
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self._start = (dict(streams), robot.to_dict(), hand, prior, streams[names.position].rate_hz)

    async def __aenter__(self) -> Thinker:
        await asyncio.get_running_loop().run_in_executor(self._pool, _begin, *self._start)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    async def take(self, blocks: Sequence[Block], signals: Sequence[Signal]) -> list[Pickup]:
        """The next blocks and signals; pick-ups of which there is something new, with their latest estimate only."""
        loop = asyncio.get_running_loop()
        news, self.hand = await loop.run_in_executor(self._pool, _think, list(blocks), list(signals))
        return news


def _begin(
    streams: dict[str, Stream],
    robot_facts: dict[str, Any],
    hand: Hand | None,
    prior: ObjectPrior | None,
    rate_hz: float,
) -> None:
    global _live
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    robot = Robot.from_dict(robot_facts)
    rehearse(robot, rate_hz)
    _live = LivePayload(streams, robot, hand=hand, prior=prior)


def _think(blocks: list[Block], signals: list[Signal]) -> tuple[list[Pickup], Hand | None]:
    if _live is None:
        raise RuntimeError("the process has not begun")
    for one in signals:
        _live.signal(one)
    news = _live.take(blocks)
    return [replace(pickup, estimates=[]) for pickup in news], _live.hand
