"""Ctrl-C while libraries are loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from heft.exit_codes import ExitCode

__all__ = ["immediate_interrupt"]


@contextmanager
def immediate_interrupt() -> Iterator[None]:
    """Inside, Ctrl-C ends the program at once: nothing has begun that would have to be cleaned up.

    An exception would not do: a library that is being loaded may swallow it, and the arm would move all the same.
    """
    before = signal.signal(signal.SIGINT, _give_up)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _give_up(*_: object) -> None:
    os.write(2, b"heft: interrupted\n")
    os._exit(ExitCode.ABORTED)
