"""Single keys from a terminal, while an event loop runs."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

__all__ = ["LEFT", "RIGHT", "listen_to_keys", "on_keys", "split_keys", "typed_lines"]

LEFT, RIGHT = "\x1b[D", "\x1b[C"
_ESCAPE = "\x1b["


@contextmanager
def on_keys(actions: Mapping[str, Callable[[], None]]) -> Iterator[bool]:
    """Call the action of every key that is pressed while inside; False, and nothing, without a terminal."""
    if not sys.stdin.isatty():
        yield False
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def pressed() -> None:
        for key in split_keys(os.read(descriptor, 64).decode(errors="replace")):
            if key in actions:
                actions[key]()

    loop = asyncio.get_running_loop()
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, pressed)
    try:
        yield True
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@asynccontextmanager
async def listen_to_keys(
    actions: Mapping[str, Callable[[], None]], after: asyncio.Event
) -> AsyncIterator[None]:
    """`on_keys` while inside, from when `after` is set: until then the terminal is another's.

    A process in the background leaves the terminal alone: touching it would stop the process.
    """

    async def listen() -> None:
        await after.wait()
        if sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            with on_keys(actions):
                await asyncio.Event().wait()

    task = asyncio.create_task(listen(), name="keys")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextmanager
def typed_lines(take: Callable[[str], None], prompt: str) -> Iterator[None]:
    """Call `take` with every line that is typed while inside; nothing without a terminal, or in the background."""
    if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
        yield
        return
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()

    def typed() -> None:
        text = os.read(descriptor, 4096).decode(errors="replace")
        if not text:
            loop.remove_reader(descriptor)
        elif text.strip():
            take(text.strip())

    sys.stderr.write(prompt)
    loop.add_reader(descriptor, typed)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)


def split_keys(text: str) -> Iterator[str]:
    """Keys one by one; an arrow is three characters."""
    while text:
        length = 3 if text.startswith(_ESCAPE) else 1
        yield text[:length]
        text = text[length:]
