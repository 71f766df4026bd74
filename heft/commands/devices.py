"""`heft devices`: which devices there are."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from drivers.registry import KINDS
from heft.exit_codes import ExitCode

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="kinds of device, their transports, and what each yields")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table of kinds."""
    table = Table("kind", "transport", "yields", box=None, pad_edge=False)
    for name, kind in KINDS.items():
        table.add_row(name, kind.transport, kind.yields)
    Console(markup=False).print(table)
    return ExitCode.DONE
