"""The live view of a session: a subscriber of the bus, so acquisition does not depend on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from daq import topics
from daq.bus.endpoint import Endpoints
from daq.bus.telemetry import Subscriber

__all__ = ["open_view"]


@asynccontextmanager
async def open_view(endpoints: Endpoints, stream: TextIO) -> AsyncIterator[None]:
    """Show the session while inside: a picture that refreshes on a terminal, plain lines elsewhere."""
    console = Console(file=stream, highlight=False)
    show = _show_live if console.is_terminal else _show_lines
    task = asyncio.create_task(show(endpoints, console), name="view")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _show_live(endpoints: Endpoints, console: Console) -> None:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        async with Subscriber(endpoints.telemetry, [topics.PROGRESS]) as subscriber:
            async for message in subscriber:
                live.update(picture(message.json), refresh=True)


async def _show_lines(endpoints: Endpoints, console: Console) -> None:
    """A line whenever the state or the step changes."""
    shown: tuple[str, str] | None = None
    async with Subscriber(endpoints.telemetry, [topics.PROGRESS]) as subscriber:
        async for message in subscriber:
            progress = message.json
            if (progress["state"], progress["step"]) != shown:
                shown = progress["state"], progress["step"]
                done, total = progress["seconds_done"], progress["seconds_total"]
                console.print(f"{shown[0]:<10} {shown[1]:<20} {done:6.1f} of {total:.1f} s", markup=False)


def picture(progress: dict[str, Any]) -> Group:
    """State, bar with remaining time, streams with rate and loss, worst tracking error."""
    done, total = progress["seconds_done"], progress["seconds_total"]
    head = Table.grid(padding=(0, 2))
    head.add_row(
        Text(progress["state"], style="bold"),
        Text(progress["step"]),
        ProgressBar(total=max(total, 1e-9), completed=done, width=40),
        Text(f"{max(total - done, 0.0):.0f} s to go"),
    )
    streams = Table(box=None, pad_edge=False)
    streams.add_column("stream")
    for column in ("Hz", "received", "lost"):
        streams.add_column(column, justify="right")
    for name, account in progress["streams"].items():
        lost = Text(str(account["lost"]), style="bold red" if account["lost"] else "green")
        streams.add_row(name, f"{account['rate_hz']:.1f}", str(account["received"]), lost)
    return Group(head, streams, Text(f"worst tracking error {progress['tracking_error'] * 1e3:.2f} mrad"))
