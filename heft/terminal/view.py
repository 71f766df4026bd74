"""The live view of a session: a subscriber of the bus, so acquisition does not depend on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any, TextIO

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from heft.daq import topics
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.message import Message
from heft.daq.bus.telemetry import Subscriber

__all__ = ["Pace", "open_view", "picture"]

_WIDEST = 100  # columns; on a wider terminal a picture this wide reads better
_STYLES = {"moving": "bold green", "armed": "bold cyan", "stopping": "bold yellow", "paused": "bold magenta"}
_PAUSED = "paused"  # state of a session or of a replay


@asynccontextmanager
async def open_view(
    endpoints: Endpoints, stream: TextIO, after: asyncio.Event | None = None
) -> AsyncIterator[None]:
    """Show the session while inside: a picture that refreshes on a terminal, plain lines elsewhere.

    It begins when `after` is set: until then the terminal is another's.
    """
    console = Console(file=stream, highlight=False)
    Console(file=StringIO(), force_terminal=console.is_terminal).print(
        Text("loads what it needs before devices wait")
    )

    async def show() -> None:
        if after is not None:
            await after.wait()
        await (_show_live if console.is_terminal else _show_lines)(endpoints, console)

    task = asyncio.create_task(show(), name="view")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _show_live(endpoints: Endpoints, console: Console) -> None:
    pace, session, size = Pace(), "", console.size
    with Live(console=console, auto_refresh=False, transient=True) as live:
        worker = None
        async with Subscriber(endpoints.telemetry.reachable, [topics.PROGRESS, topics.WORKERS]) as subscriber:
            async for message in subscriber:
                if message.topic != topics.PROGRESS:
                    worker = _worker_progress(message) or worker
                    continue
                if message.session != session or message.json["state"].startswith(_PAUSED):
                    pace, session = Pace(), message.session  # a replay stood still, or jumped
                if console.size != size:  # lines have been folded or cut: what is drawn cannot be found again
                    console.clear()
                    size = console.size
                done, total = message.json["seconds_done"], message.json["seconds_total"]
                remaining_s = pace.remaining(asyncio.get_running_loop().time(), done, total)
                drawn = picture(message.json, remaining_s, worker)
                live.update(Constrain(drawn, _WIDEST), refresh=True)


async def _show_lines(endpoints: Endpoints, console: Console) -> None:
    """A line whenever the state or the step changes."""
    shown: tuple[str, str] | None = None
    async with Subscriber(endpoints.telemetry.reachable, [topics.PROGRESS]) as subscriber:
        async for message in subscriber:
            progress = message.json
            if (progress["state"], progress["step"]) != shown:
                shown = progress["state"], progress["step"]
                done, total = progress["seconds_done"], progress["seconds_total"]
                console.print(f"{shown[0]:<10} {shown[1]:<20} {done:6.1f} of {total:.1f} s", markup=False)


def _worker_progress(message: Message) -> dict[str, Any] | None:
    """What a worker says of its progress; None for whatever else comes under its topics, which anyone may write."""
    said = message.json
    known = isinstance(said, dict) and all(type(said.get(key)) is int for key in ("of", "rank", "samples"))
    return said if known and message.topic.endswith("/progress") else None


class Pace:
    """How long the rest takes whoever watches: a simulated session may run faster than its own time, or slower."""

    def __init__(self) -> None:
        self._start: tuple[float, float] | None = None  # the watcher's time, and the session's [s]

    def remaining(self, now_s: float, done_s: float, total_s: float) -> float:
        """Seconds to go by the watcher's clock; at first those of the session."""
        if self._start is None and done_s > 0.0:
            self._start = now_s, done_s
        rest_s = max(total_s - done_s, 0.0)
        if self._start is None:
            return rest_s
        passed_s, moved_s = now_s - self._start[0], done_s - self._start[1]
        return rest_s * passed_s / moved_s if passed_s > 0.5 and moved_s > 0.0 else rest_s


def picture(progress: dict[str, Any], remaining_s: float, worker: dict[str, Any] | None = None) -> Padding:
    """State, bar with remaining time [s], streams with rate and loss, worst tracking error, what a worker knows."""
    done, total = progress["seconds_done"], progress["seconds_total"]
    share = min(done / total, 1.0) if total else 0.0
    head = Table.grid(padding=(0, 2), expand=True)
    for _ in range(2):
        head.add_column(no_wrap=True)
    head.add_column(ratio=1)
    for _ in range(2):
        head.add_column(justify="right", no_wrap=True)
    head.add_row(
        Text(progress["state"], style=_STYLES.get(progress["state"], "bold")),
        Text(progress["step"] or "getting ready"),
        ProgressBar(total=1.0, completed=share, complete_style="green", finished_style="green"),
        Text(f"{_duration(done)} of {_duration(total)}"),
        Text(f"{_duration(remaining_s)} to go", style="bold"),
    )
    streams = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    streams.add_column("stream")
    for column in ("rate Hz", "received", "lost"):
        streams.add_column(column, justify="right", min_width=9)
    for name, account in progress["streams"].items():
        lost = Text(f"{account['lost']:,}", style="bold red" if account["lost"] else "green")
        streams.add_row(name, f"{account['rate_hz']:.1f}", f"{account['received']:,}", lost)
    lines = []
    if progress["tracking_error"] is not None:  # a replay does not know it
        error = f"{progress['tracking_error'] * 1e3:.2f} mrad"
        lines.append(Text.assemble(("worst tracking error  ", "dim"), error))
    if worker is not None and worker["of"]:
        known = f"{worker['rank']} of {worker['of']} base parameters from {worker['samples']:,} samples"
        lines.append(Text.assemble(("identified so far     ", "dim"), known))
    return Padding(Group(head, Text(), streams, Text(), *lines), (1, 1, 0, 1))


def _duration(seconds: float) -> str:
    """Minutes and seconds, as a clock shows them."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
