"""Bars that show how far a long computation is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import Progress, TaskID

__all__ = ["progress_bars"]


@contextmanager
def progress_bars(*titles: str) -> Iterator[list[Callable[[float], None]]]:
    """A bar for each title on a terminal's standard error, and what moves it; nothing elsewhere."""
    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks = [bar.add_task(title, total=1.0) for title in titles]
        yield [partial(_move, bar, task) for task in tasks]


def _move(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)
