"""A replay's time line in the Foxglove app: play, pause and seek there are requests on the replay's own channel.

The app's player asks in a thread of the SDK; what it asks is done in the page's event loop, and answered with where the
replay then stands. The speed is the replay's own: the app is told it, and cannot change it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from foxglove.websocket import (
    PlaybackCommand,
    PlaybackControlRequest,
    PlaybackState,
    PlaybackStatus,
)

from heft.drivers.errors import HeftError
from heft.service.web_process import Played

__all__ = ["FoxglovePlayback"]

_log = logging.getLogger("heft.service")

#: For the replay to do what was asked [s].
_ANSWER_S = 3.0

Control = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class FoxglovePlayback:
    """Answers the app's player; made inside the event loop that `replay` belongs to.

    replay   asks the replay for `pause`, `resume` or `seek`
    """

    def __init__(self, played: Played, replay: Control) -> None:
        self._played, self._replay = played, replay
        self._loop = asyncio.get_running_loop()
        self._now_ns, self._paused = played.start_ns, False

    def state(self, progress: Mapping[str, Any]) -> PlaybackState:
        """Where the replay stands, by its progress on the bus."""
        self._now_ns = self._played.start_ns + round(1e9 * float(progress["seconds_done"]))
        self._paused = str(progress["state"]).startswith("paused")
        return self._state(False, None)

    def _state(self, jumped: bool, request: str | None) -> PlaybackState:
        ended = self._now_ns >= self._played.end_ns
        status = PlaybackStatus.Paused if self._paused else PlaybackStatus.Playing
        return PlaybackState(
            PlaybackStatus.Ended if ended else status, self._now_ns, self._played.speed, jumped, request
        )

    def control(self, asked: PlaybackControlRequest) -> PlaybackState | None:
        """Do what the player asks; None where the replay did not. Called in a thread of the SDK."""
        doing = asyncio.run_coroutine_threadsafe(self._do(asked), self._loop)
        try:
            doing.result(_ANSWER_S)
        except (HeftError, FutureTimeout) as exc:
            _log.warning("the Foxglove app's player: %s", exc)
            return None
        return self._state(asked.seek_time is not None, asked.request_id)

    async def _do(self, asked: PlaybackControlRequest) -> None:
        if asked.seek_time is not None:
            inside = min(max(asked.seek_time, self._played.start_ns), self._played.end_ns)
            await self._replay("seek", {"seconds": (inside - self._played.start_ns) / 1e9})
            self._now_ns = inside
        pause = asked.playback_command == PlaybackCommand.Pause
        await self._replay("pause" if pause else "resume", {})
        self._paused = pause
