"""What has been received and not yet been asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Generic, TypeVar

from heft.drivers.errors import DeviceLost, HeftError

__all__ = ["Inbox"]

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items in the order of arrival, for one reader; filled from the event loop's own thread.

    It is bounded: a reader that has stalled for `limit` items loses its line loudly, never an item silently.
    """

    LIMIT = 65_536

    def __init__(self, device: str, limit: int = LIMIT) -> None:
        self._device = device
        self._limit = limit
        self._items: list[T] = []
        self._error: HeftError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def error(self) -> HeftError | None:
        """Why the line ended; None while it has not."""
        return self._error

    def put(self, items: Iterable[T]) -> None:
        """Add items; after a failure they are no longer wanted."""
        if self._error is not None:
            return
        self._items.extend(items)
        if len(self._items) > self._limit:
            self.fail(
                DeviceLost(
                    self._device,
                    f"{len(self._items)} items wait unread, the bound is {self._limit}: the reader has stalled; "
                    "look for a blocking call on the event loop",
                )
            )
        elif self._items:
            self._wake()

    def fail(self, error: HeftError) -> None:
        """End the line; the first reason stays."""
        if self._error is None:
            self._error = error
            self._wake()

    async def take(self) -> list[T]:
        """All items, at least one; the error once there are none left."""
        if self._waiter is not None:
            raise RuntimeError(
                f"{self._device}: two tasks receive from one transport; let one read and hand on"
            )
        while not self._items:
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        items, self._items = self._items, []
        return items

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
