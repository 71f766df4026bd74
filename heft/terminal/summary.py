"""The summary at the end of a session."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from heft.daq.session.outcome import Outcome

__all__ = ["summarise"]


def summarise(outcome: Outcome, console: Console) -> None:
    """Samples per stream, clock fits, tracking, the file, and a line `lost N`."""
    reason = f": {outcome.reason}" if outcome.reason else ""
    console.print(f"\n{outcome.state} after {outcome.seconds:.1f} s{reason}", markup=False)

    streams = Table(box=None, pad_edge=False)
    streams.add_column("stream")
    for column in ("expected", "received", "lost", "recorded", "invalid", "Hz"):
        streams.add_column(column, justify="right")
    for a in outcome.accounts:
        recorded = outcome.recorded.get(a.stream, 0)
        counts = (a.expected, a.received, a.lost, recorded, a.invalid)
        streams.add_row(a.stream, *(str(count) for count in counts), f"{a.rate_hz:.1f}")
    console.print(streams)

    if outcome.clock_fits:
        clocks = Table(box=None, pad_edge=False)
        clocks.add_column("device clock")
        for column in ("skew ppm", "jitter us"):
            clocks.add_column(column, justify="right")
        for name, fit in outcome.clock_fits.items():
            clocks.add_row(name, f"{fit.skew_ppm:+.2f}", f"{fit.main.residual_rms_ns / 1e3:.1f}")
        console.print(clocks)

    for device, counters in outcome.counters.items():
        trouble = {what: n for what, n in asdict(counters).items() if n and what not in ("received", "lost")}
        if trouble:
            console.print(f"line      {device}: {', '.join(f'{n} {what}' for what, n in trouble.items())}")
    console.print(f"tracking  worst error {outcome.tracking * 1e3:.2f} mrad")
    console.print(f"file      {outcome.file or 'none: it was deleted or moved meanwhile'}", markup=False)
    if outcome.truth is not None:
        console.print(f"truth     {outcome.truth}", markup=False)
    console.print(f"lost {outcome.lost}")
