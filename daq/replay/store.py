"""Where the Blocks of a replay are: in the recording, as far as it has been played."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from daq.archive.shelf import Shelf

__all__ = ["ReplayStore"]


class ReplayStore:
    """An archive's store that a replay moves forward; going back takes nothing away."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._counts: dict[str, int] = {}
        self._thread = ThreadPoolExecutor(1, "archive")

    @property
    def counts(self) -> Mapping[str, int]:
        """Blocks up to the furthest one that was played, by stream."""
        return MappingProxyType(self._counts)

    def reached(self, stream: str, count: int) -> None:
        """So many Blocks of a stream, from the recording's first one on, lie behind."""
        if count > self._counts.get(stream, 0):
            self._counts[stream] = count

    async def take(self, stream: str, first: int, limit: int) -> list[bytes]:
        """Blocks from number `first` on, until they have `limit` bytes."""
        loop = asyncio.get_running_loop()
        taken = await loop.run_in_executor(self._thread, self._shelf.take, stream, first, limit)
        return taken[: max(0, self._counts.get(stream, 0) - first)]

    def close(self) -> None:
        """Nothing more will be asked."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._shelf.close()
