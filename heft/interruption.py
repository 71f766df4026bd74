"""Signals that ask the program to end: Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed.

Three ways to answer them, each for a part of a command's life. All end with exit code 3 and, with `--json`, one
object on standard output. Loads nothing: signals are answered from the first moment on.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = [
    "Interrupted",
    "aborted",
    "answer_at_once",
    "deaf_end",
    "immediate_interrupt",
    "interruptible",
    "stop_signals",
    "uninterrupted",
]

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ABORTED = 3  # `ExitCode.ABORTED`, without loading it


class Interrupted(KeyboardInterrupt):
    """A signal has come; its text says which."""


def aborted(reason: str) -> dict[str, Any]:
    """What a program that is interrupted says as JSON."""
    return {"state": "aborted", "reason": reason}


@contextmanager
def immediate_interrupt(
    last_words: Callable[[str], dict[str, Any] | None] | bool = False,
) -> Iterator[None]:
    """Inside, a signal ends the program at once: nothing has begun, or is left, that would have to be cleaned up.

    An exception would not do: a library that is being loaded may swallow it, and the arm would move all the same.

    last_words   makes of the reason what is printed as JSON; True: that it was aborted; False: nothing
    """

    def give_up(number: int, frame: object) -> None:
        reason = f"{signal.Signals(number).name} received"
        words = last_words(reason) if callable(last_words) else aborted(reason) if last_words else None
        _leave(reason, words)

    with _handled(give_up, always=True):
        yield


@contextmanager
def interruptible(as_json: bool) -> Iterator[None]:
    """Inside, the first signal raises `Interrupted`, so that all is left in order; the next ends the program."""
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        reason = f"{signal.Signals(number).name} received"
        came.append(number)
        if len(came) > 1:
            _leave(reason, aborted(reason) if as_json else None)
        raise Interrupted(reason)

    with _handled(interrupt):
        yield


@contextmanager
def stop_signals(loop: AbstractEventLoop, stop: Callable[[str], object]) -> Iterator[None]:
    """Inside, `stop` is called in the loop with the name of each signal: a controlled stop, which takes its time.

    Not `loop.add_signal_handler`, which leaves a program without any answer when the loop is closed.
    """

    def ask(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(stop, f"{signal.Signals(number).name} received")

    with _handled(ask):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, signals wait: what is being printed is printed whole."""
    signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)


def answer_at_once(as_json: bool) -> None:
    """As `immediate_interrupt`, for the whole life of the program but for what is inside of others."""
    immediate_interrupt(as_json).__enter__()


def deaf_end() -> None:
    """All is done but to leave: a signal changes nothing any more."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled(handler: Callable[[int, Any], None], *, always: bool = False) -> Iterator[None]:
    """Signals go to `handler`, but for those that are ignored, as `nohup` wants it (`always`: SIGINT all the same)."""
    before = {}
    for number in NUMBERS:
        was = signal.getsignal(number)
        if was is not signal.SIG_IGN or (always and number is signal.SIGINT):
            before[number] = was
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _leave(reason: str, words: dict[str, Any] | None) -> None:
    """End at once, by system calls alone."""
    os.write(2, f"heft: interrupted: {reason}\n".encode())
    if words is not None:
        os.write(1, (json.dumps(words) + "\n").encode())
    os._exit(_ABORTED)
