"""`heft fleet`: sessions of many arms: identified, tabled, watched for drift, shown on a page, simulated."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

__all__ = ["add"]

ACTIONS = {
    "identify": "identify every recording of a fleet, in parallel; what is done is not done again",
    "table": "the table of all sessions and quantities, filtered, as text, CSV or JSON",
    "drift": "which arm has changed: what, since when, how sure, and what usually causes it",
    "report": "one page: small multiples for each arm, changes marked, the worst first",
    "simulate": "months of a simulated fleet with planted events, to try the rest on",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, purpose in ACTIONS.items():
        one = actions.add_parser(name, help=purpose, description=purpose)
        describe: Callable[[argparse.ArgumentParser], None] = import_module(f"heft.fleet.actions.{name}").add
        describe(one)
