"""A process that follows pick-ups, so that thinking about them never holds up the reading of devices."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any, Self

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


class Thinker:
    """Blocks and signals in, news of pick-ups out; inside `async with`, after `begin`.

    `hand` is the bare hand, once it is known; `wanted` are the streams whose blocks it needs.
    """

    RATE_HZ = 1000.0  # of the rehearsal

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self.wanted: frozenset[str] = frozenset()
        self.hand: Hand | None = None

    async def __aenter__(self) -> Self:
        """Start the process and let it rehearse: from then on it answers at once."""
        await self._ask(_prepare, self._robot.to_dict(), self.RATE_HZ)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    async def begin(
        self, streams: Mapping[str, Stream], hand: Hand | None, prior: ObjectPrior | None
    ) -> None:
        """What the rig yields, and what is known beforehand."""
        names = PayloadStreams.find(streams, self._robot, "the rig")
        self.wanted = frozenset(n for n in (names.position, names.wrench, names.gripper) if n is not None)
        self.hand = hand
        await self._ask(_begin, dict(streams), hand, prior)

    async def take(self, blocks: Sequence[Block], signals: Sequence[Signal]) -> list[Pickup]:
        """The next blocks and signals; pick-ups of which there is something new, with their latest estimate only."""
        news: list[Pickup]
        news, self.hand = await self._ask(_think, list(blocks), list(signals))
        return news

    async def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)


# -- in the process ---------------------------------------------------------------------------------------------------


class _Mind:
    """What the process remembers from one call to the next."""

    robot: Robot
    live: LivePayload


def _prepare(robot: dict[str, Any], rate_hz: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    _Mind.robot = Robot.from_dict(robot)
    rehearse(_Mind.robot, rate_hz)


def _begin(streams: dict[str, Stream], hand: Hand | None, prior: ObjectPrior | None) -> None:
    _Mind.live = LivePayload(streams, _Mind.robot, hand=hand, prior=prior)


def _think(blocks: list[Block], signals: list[Signal]) -> tuple[list[Pickup], Hand | None]:
    for one in signals:
        _Mind.live.signal(one)
    news = _Mind.live.take(blocks)
    return [replace(pickup, estimates=[]) for pickup in news], _Mind.live.hand
