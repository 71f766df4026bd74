"""Blocking libraries, at set-up only, in a thread that a cancelled driver does not leave behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["Abandoned", "in_thread"]

T = TypeVar("T")


class Abandoned(Exception):
    """The driver does not want the answer any more; raised inside the thread."""


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """The result of `work(abandon)`, run in a thread.

    When this is cancelled, `abandon` is set and the thread waited for: `work` looks at it between two blocking calls.
    """
    abandon = threading.Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, abandon)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        abandon.set()
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        future.exception()  # nobody else will look at it
        raise
