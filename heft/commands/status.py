"""`heft status`: which services and sessions run on this host, and where they stand."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from heft.daq.bus.control import ControlClient
from heft.daq.bus.runtime import RunningSession, running_sessions
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode
from heft.service.client import ServiceClient
from heft.service.registration import RunningService, running_services

__all__ = ["add", "run"]

_PATIENCE_S = 2.0


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Tell of each; exit code 1 where nothing runs."""
    services, sessions = asyncio.run(_ask())
    own = {one["pid"] for one in services}
    others = [one for one in sessions if one["pid"] not in own]
    if arguments.json:
        sys.stdout.write(json.dumps({"services": services, "sessions": others}) + "\n")
    else:
        for one in [*services, *others]:
            sys.stdout.write(_line(one) + "\n")
        if not services and not others:
            sys.stdout.write("no service and no session of this user is running on this host\n")
    return ExitCode.DONE if services or others else ExitCode.NO


async def _ask() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    services = await asyncio.gather(*(_service(one) for one in running_services()))
    sessions = await asyncio.gather(*(_session(one) for one in running_sessions()))
    return list(services), list(sessions)


async def _service(service: RunningService) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": service.name,
        "pid": service.pid,
        "rig": str(service.rig),
        "url": service.url,
    }
    try:
        async with ServiceClient(service.endpoint, _PATIENCE_S) as client:
            return {**facts, "status": await client.ask("status")}
    except HeftError as exc:
        return {**facts, "error": str(exc)}


async def _session(session: RunningSession) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": session.name, "pid": session.pid}
    try:
        async with ControlClient(session.endpoints.control, timeout_s=_PATIENCE_S) as client:
            return {**facts, "state": str((await client.request("state")).payload["state"])}
    except HeftError as exc:
        return {**facts, "error": str(exc)}


def _line(facts: dict[str, Any]) -> str:
    name = f"{facts['name']} (process {facts['pid']})"
    if "error" in facts:
        return f"{name}: does not answer: {facts['error']}"
    if "status" not in facts:
        return f"{name}: {facts['state']}"
    status = facts["status"]
    job = status["job"]
    doing = "" if job is None else f": {job['kind']} {job['label']}, {job['phase']}"
    armed = f", armed for {status['armed_s']:.0f} s" if status["armed_s"] else ""
    trouble = f"\n  {status['trouble']}" if status["trouble"] else ""
    return f"{name}: {status['state']}{doing}{armed}  {facts['url']}{trouble}"
