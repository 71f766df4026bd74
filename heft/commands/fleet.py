"""`heft fleet`: sessions of many arms: identified, tabled, watched for drift, shown on a page, simulated."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

__all__ = ["add"]

ACTIONS = {
    "identify": "identify every recording of a fleet, in parallel; what is done is not done again",
    "table": "the table of all sessions and quantities, filtered, as text, CSV or JSON",
    "drift": "which arm has changed: what, since when, how sure, and what usually causes it",
    "report": "one page: small multiples for each arm, changes marked, the worst first",
    "simulate": "months of a simulated fleet with planted events, to try the rest on",
}


class _ActionParser(argparse.ArgumentParser):
    """Describes its action when it is first asked to parse: the modules of the others are not loaded."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        action = self.prog.rpartition(" ")[2]
        if "run" not in self._defaults:
            import_module(f"heft.fleet.actions.{action}").add(self)
        return super().parse_known_args(args, namespace)


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", parser_class=_ActionParser
    )
    for name, purpose in ACTIONS.items():
        actions.add_parser(name, help=purpose, description=purpose)
