"""`heft stop`: a running session, or a rig that stands by, is stopped from another terminal as by Ctrl-C in its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from heft.daq.bus.control import ControlClient
from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.runtime import RunningSession, running_sessions
from heft.daq.bus.stop import send_stop
from heft.daq.errors import BusError
from heft.exit_codes import ExitCode
from heft.options import target
from heft.running import choose, label

__all__ = ["add", "run"]

_REASON = "heft stop"
#: How long drives may take to go off [s]: a stop waits 5 s, and what the arm's deceleration takes, for a hold that is
#: not answered, and as long for the switch.
_PATIENCE_S = 30.0
_LOOK_S = 0.05


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "name",
        nargs="?",
        help="of the session (or rig that stands by), or its process id; default: the only one",
    )
    parser.add_argument(
        "--at",
        type=target,
        metavar="ENDPOINT",
        help="a session of another host: the `stop` of its rig's file, as tcp://HOST:PORT; needs a key that may",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Stop it and return when its drives are off; exit code 1 where nothing runs."""
    if arguments.at is not None:
        return _stop_elsewhere(arguments.at, arguments.json)
    sessions = running_sessions()
    report: dict[str, Any] = {"running": [{"name": s.name, "pid": s.pid} for s in sessions], "stopped": None}
    if not sessions:
        text, code = "no session of this user is running on this host", ExitCode.NO
    else:
        session = choose(sessions, arguments.name)
        seconds = asyncio.run(_stop(session))
        text, code = f"{label(session)}: acknowledged, drives off after {seconds:.2f} s", ExitCode.DONE
        report["stopped"] = {"name": session.name, "pid": session.pid, "seconds": seconds}
    (sys.stderr if arguments.json else sys.stdout).write(text + "\n")
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return code


def _stop_elsewhere(endpoint: Endpoint, as_json: bool) -> int:
    """Stop a session of another host; that it has heard is all that is known here."""
    asyncio.run(send_stop(endpoint, _REASON))
    text = f"{endpoint}: acknowledged; see that the arm has stopped"
    (sys.stderr if as_json else sys.stdout).write(text + "\n")
    if as_json:
        sys.stdout.write(json.dumps({"at": str(endpoint), "acknowledged": True}) + "\n")
    return ExitCode.DONE


async def _stop(session: RunningSession) -> float:
    """Seconds from the request until the drives were off; BusError where that is not known."""
    begin = time.monotonic()
    await send_stop(session.endpoints.stop, _REASON)
    if not await _drives_off(session):
        how = "ended without saying" if session.ended else f"does not say after {_PATIENCE_S:g} s"
        raise BusError(
            f"{label(session)} has acknowledged the stop, but {how} that its drives are off; "
            "use the emergency stop of the arm"
        )
    return time.monotonic() - begin


async def _drives_off(session: RunningSession) -> bool:
    """Whether the session has said so before its end and in time."""
    async with ControlClient(session.endpoints.control) as client:
        asked = asyncio.create_task(client.request("drives_off", timeout_s=_PATIENCE_S))
        while not asked.done() and not session.ended:
            await asyncio.wait({asked}, timeout=_LOOK_S)
        await asyncio.wait({asked}, timeout=_LOOK_S)  # the last word may still be on its way
        asked.cancel()
        (answer,) = await asyncio.gather(asked, return_exceptions=True)
        return not isinstance(answer, BaseException)
