"""A thread that reads what has no file descriptor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Bridge"]

T = TypeVar("T")
V = TypeVar("V")

#: Items that are handed over together at most.
_BURST = 256


class Bridge(Generic[T]):
    """Calls `read(timeout)` in a thread and hands what comes to the event loop that it was made on.

    read      blocks for at most `timeout` [s]; None: nothing came
    deliver   gets items in their order, on the loop
    fail      gets the exception that `read` raised, on the loop; reading then ends
    """

    PATIENCE_S = 0.02  # how long a read may block, and so at most how long `stop` does

    def __init__(
        self,
        name: str,
        read: Callable[[float], T | None],
        deliver: Callable[[list[T]], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._read, self._deliver, self._fail = read, deliver, fail
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                items = self._gather()
            except Exception as exc:
                self._hand_over(self._fail, exc)
                return
            if items:
                self._hand_over(self._deliver, items)

    def _gather(self) -> list[T]:
        """What comes within the patience, and all that is there by then."""
        items: list[T] = []
        item = self._read(self.PATIENCE_S)
        while item is not None:
            items.append(item)
            if len(items) == _BURST:
                break
            item = self._read(0)
        return items

    def _hand_over(self, callback: Callable[[V], None], value: V) -> None:
        if not self._stopping.is_set() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._call, callback, value)

    def _call(self, callback: Callable[[V], None], value: V) -> None:
        """On the loop: what was on its way when reading was stopped is no longer wanted."""
        if not self._stopping.is_set():
            callback(value)
