"""`heft resume`: a session that was paused goes on from where it rests."""

from __future__ import annotations

import argparse

from heft.pausing import add_arguments, request

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Let it go on; exit code 1 where nothing runs."""
    return request("resume", arguments)
