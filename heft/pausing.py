"""Pause and resume, asked for from another terminal."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from heft.daq.bus.control import ControlClient
from heft.daq.bus.runtime import RunningSession, running_sessions
from heft.exit_codes import ExitCode
from heft.running import choose, label

__all__ = ["add_arguments", "request"]

#: A pause takes the setpoints that are sent already, and at most 40 s of slowing down [s].
_PATIENCE_S = 45.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of both commands."""
    parser.add_argument("name", nargs="?", help="of the session, or its process id; default: the only one")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def request(what: str, arguments: argparse.Namespace) -> int:
    """Ask the session that is meant to `pause` or `resume`, and tell what it says; exit code 1 where nothing runs."""
    sessions = running_sessions()
    report: dict[str, Any] = {"running": [{"name": s.name, "pid": s.pid} for s in sessions], "state": None}
    if not sessions:
        text, code = "no session of this user is running on this host", ExitCode.NO
    else:
        session = choose(sessions, arguments.name)
        report["state"] = asyncio.run(_ask(session, what))
        text, code = f"{label(session)}: {report['state']}", ExitCode.DONE
    (sys.stderr if arguments.json else sys.stdout).write(text + "\n")
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return code


async def _ask(session: RunningSession, what: str) -> str:
    """Its state after it has done so."""
    async with ControlClient(session.endpoints.control) as client:
        reply = await client.request(what, timeout_s=_PATIENCE_S)
        return str(reply.payload["state"])
