"""`heft plan`: the whole motion of a session and its checks, without opening a device."""

from __future__ import annotations

import argparse
from pathlib import Path

from heft.daq.config.session import load_session
from heft.doubts import tell_doubts
from heft.planning import show_plan

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("session", type=Path, metavar="SESSION.yaml", help="session file")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the plan; exit code 1 where it may not be played."""
    config = load_session(arguments.session)
    tell_doubts(config.rig.robot, "heft plan")
    return show_plan(config, arguments.json)
