"""`heft fleet table`: rows of the fleet's table, for people, spreadsheets and programs."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from heft.daq.errors import ConfigError
from heft.exit_codes import ExitCode
from heft.fleet.results import results_at
from heft.fleet.store import read_table
from heft.identify.fleet.table import COLUMNS

__all__ = ["add", "run"]

SHOWN = ("arm", "time", "session", "parameter", "value", "low", "high", "unit", "verdict")
#: Rows that are printed for people, unless asked for more.
ROWS = 40
WIDEST = 10_000


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the action."""
    parser.add_argument(
        "folder", nargs="?", default="fleet", help="of the run, or its address (default: fleet)"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="rows that this holds for: arm=a7, parameter=*.friction, value>2, time>=2026-01-01; may be repeated",
    )
    parser.add_argument("--columns", help=f"by comma, of {', '.join(COLUMNS)}")
    parser.add_argument(
        "--rows", type=int, default=ROWS, help=f"the most that are printed for people (default: {ROWS})"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--csv", action="store_true", help="print CSV, all columns and rows")
    kinds.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the rows; exit code 1 where there is none."""
    names = None if arguments.columns is None else [name.strip() for name in arguments.columns.split(",")]
    if unknown := [name for name in names or () if name not in COLUMNS]:
        raise ConfigError(f"--columns: no column {unknown[0]!r}; there are {', '.join(COLUMNS)}")
    table = read_table(results_at(arguments.folder), arguments.where, names)
    if arguments.json:
        text = json.dumps({"rows": table.to_pylist()}, default=lambda time: time.isoformat())
        sys.stdout.write(text + "\n")
    elif arguments.csv:
        import pyarrow.csv

        pyarrow.csv.write_csv(table, sys.stdout.buffer)
    else:
        _print(table.select(list(names or SHOWN)), arguments.rows)
    return ExitCode.DONE if len(table) else ExitCode.NO


def _print(table: object, most: int) -> None:
    import pyarrow as pa

    assert isinstance(table, pa.Table)
    shown = Table(box=None, pad_edge=False)
    for name in table.column_names:
        number = pa.types.is_floating(table.schema.field(name).type)
        shown.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in table.slice(0, most).to_pylist():
        shown.add_row(*(_text(value) for value in row.values()))
    console = Console(file=sys.stdout, highlight=False)
    wanted = Measurement.get(console, console.options.update_width(WIDEST), shown).maximum
    console.width = max(
        console.width, wanted
    )  # a terminal wraps, a file is as wide as its rows: nothing is cut off
    console.print(shown)
    if len(table) > most:
        console.print(f"and {len(table) - most} more rows (--rows, --csv, --json)")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}"
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
