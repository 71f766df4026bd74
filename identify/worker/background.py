"""Work that takes long, beside an event loop that must not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

__all__ = ["in_background"]

T = TypeVar("T")


async def in_background(function: Callable[[], T], name: str) -> T:
    """What `function` returns, from a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():  # given up meanwhile
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as exc:
            error = exc
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=work, name=name, daemon=True).start()
    return await future
