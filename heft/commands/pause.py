"""`heft pause`: a running session is brought to rest on its path from another terminal; `heft resume` lets it go on."""

from __future__ import annotations

import argparse

from heft.pausing import add_arguments, request

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask it to come to rest on its path and return when it has; exit code 1 where nothing runs."""
    return request("pause", arguments)
