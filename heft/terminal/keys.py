"""Single keys from a terminal, while an event loop runs."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

__all__ = ["LEFT", "RIGHT", "on_keys", "split_keys"]

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


def split_keys(text: str) -> Iterator[str]:
    """Keys one by one; an arrow is three characters."""
    while text:
        length = 3 if text.startswith(_ESCAPE) else 1
        yield text[:length]
        text = text[length:]
