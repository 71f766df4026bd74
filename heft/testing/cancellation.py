"""Cancelling a task at any of its awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

__all__ = ["Interrupted"]


class Interrupted:
    """A coroutine whose task is cancelled when it waits for the n-th time."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], n: int) -> None:
        self._coroutine = coroutine
        self._left = n
        self.happened = False

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._coroutine.__await__()
        try:
            waiting = next(steps)
            while True:
                if self._left == 0:
                    self.happened = True
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                self._left -= 1
                try:
                    yield waiting
                except BaseException as exc:
                    waiting = steps.throw(exc)
                else:
                    waiting = steps.send(None)
        except StopIteration:
            return

    async def run(self) -> None:
        await self
