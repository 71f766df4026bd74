"""A command that finds a service for its rig: it asks the service, follows the job, and tells how it ended."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from heft.exit_codes import ExitCode
from heft.interruption import stop_signals, uninterrupted
from heft.service.client import RefusedRequest, ServiceClient
from heft.service.registration import RunningService

__all__ = ["ask_service"]

_LOOK_S = 0.2
#: How long the service may take to read and check what is asked for, and to answer while it is at work: one that
#: prepares a session on a busy host is slow, and not gone.
_PATIENCE_S, _ANSWER_S = 120.0, 30.0
_CODES = {"done": ExitCode.DONE, "aborted": ExitCode.ABORTED, "failed": ExitCode.FAILED}


def ask_service(
    service: RunningService, kind: str, request: dict[str, Any], *, arm: str | None, as_json: bool
) -> int:
    """Let the service do it; the exit code is what it would be without one. Ctrl-C stops the job."""
    sys.stderr.write(f"by the service of this rig: {service.url}\n")
    try:
        outcome = asyncio.run(_follow(service, kind, _absolute(request), arm))
    except RefusedRequest as exc:
        sys.stderr.write(f"heft {kind}: {exc}\n")
        if as_json:
            sys.stdout.write(json.dumps({"error": str(exc)}) + "\n")
        return exc.code
    with uninterrupted():
        if as_json:
            sys.stdout.write(json.dumps(outcome) + "\n")
        else:
            sys.stdout.write(_told(outcome))
        sys.stdout.flush()
    return _code(outcome)


async def _follow(
    service: RunningService, kind: str, request: dict[str, Any], arm: str | None
) -> dict[str, Any]:
    async with ServiceClient(service.endpoint, _ANSWER_S) as client:
        loop = asyncio.get_running_loop()
        stops: list[asyncio.Task[Any]] = []

        def stop(reason: str) -> None:
            stops.append(loop.create_task(client.ask("stop", reason=reason)))

        with stop_signals(loop, stop):
            if arm is not None:
                await client.ask("arm", name=arm, by="by --arm on this host")
            number = (await client.ask("submit", timeout_s=_PATIENCE_S, kind=kind, request=request))["number"]
            shown = ""
            while True:
                outcome = (await client.ask("outcome", number=number))["outcome"]
                if outcome is not None:
                    break
                job = (await client.ask("status"))["job"]
                phase = "" if job is None else str(job["phase"])
                if phase != shown:
                    shown = phase
                    sys.stderr.write(f"{phase}\n")
                await asyncio.sleep(_LOOK_S)
            await asyncio.gather(*stops, return_exceptions=True)
            return dict(outcome)


def _absolute(request: dict[str, Any]) -> dict[str, Any]:
    """Paths as the service, which runs elsewhere, understands them; a speed without end as `max`."""

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            return str(value.absolute())
        return "max" if value == float("inf") else value

    return {key: plain(value) for key, value in request.items() if value is not None}


def _code(outcome: dict[str, Any]) -> int:
    if "exit_code" in outcome:
        return int(outcome["exit_code"])
    identified = outcome.get("identification", {})
    if identified.get("verdict", {}).get("grade") == "unfit":
        return ExitCode.NO
    if "error" in identified:
        return ExitCode.FAILED
    return _CODES.get(str(outcome.get("state")), ExitCode.FAILED)


def _told(outcome: dict[str, Any]) -> str:
    """A few lines for people; --json has all."""
    reason = f": {outcome['reason']}" if outcome.get("reason") else ""
    lines = [f"{outcome.get('state', 'done')}{reason}"]
    if "streams" in outcome:
        lines.append(f"tracking  worst error {outcome['tracking_error'] * 1e3:.2f} mrad")
        lines += [f"file      {outcome['file']}", f"lost {outcome['lost']}"]
    identified = outcome.get("identification", {})
    if "verdict" in identified:
        lines += [f"verdict   {identified['verdict']['headline']}", f"report    {identified['report']}"]
    for one in outcome.get("payloads", []):
        if "mass" in one:
            lines.append(f"{one['number']}: {one['mass']:.3f} kg, {one['state']}")
    return "\n".join(lines) + "\n"
