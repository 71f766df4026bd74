"""`heft worker`: identification that follows sessions, on this host or on another."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from heft.daq.clock import RealClock
from heft.daq.following.messages import SessionInfo
from heft.exit_codes import ExitCode
from heft.identify.bodies.consistency import Level
from heft.identify.estimation.estimators import ESTIMATORS
from heft.identify.robot import Robot
from heft.identify.worker.worker import RESULT, Verdict, Worker
from heft.interruption import stop_signals
from heft.options import add_settings, name, positive, prepared, settings, target
from heft.output_folder import shared_use

__all__ = ["add", "run"]

#: Acquisition on the same host comes first.
NICENESS = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "--bus",
        type=target,
        required=True,
        metavar="ENDPOINT",
        help="a session's telemetry, as tcp://HOST:PORT",
    )
    parser.add_argument(
        "--following",
        type=target,
        metavar="ENDPOINT",
        help="where it serves followers (default: the port behind, or the file beside)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("worker"), help="folder for recordings and results (default: worker)"
    )
    parser.add_argument(
        "--name", type=name, default="worker", help="known by this name on the bus (default: worker)"
    )
    parser.add_argument("--once", action="store_true", help="end after one session")
    parser.add_argument(
        "--beside", action="store_true", help=argparse.SUPPRESS
    )  # standard input: a pipe of its parent
    parser.add_argument(
        "--gone", type=positive, default=10.0, metavar="S", help="seconds without an answer: it has died"
    )
    parser.add_argument("--robot", type=Path, help="robot's file (default: the one inside the session)")
    parser.add_argument(
        "--method", choices=sorted(ESTIMATORS), help="estimator (default: the session's, or sdp)"
    )
    parser.add_argument(
        "--level", choices=get_args(Level), help="consistency (default: the session's, or full)"
    )
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per session")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Follow sessions until interrupted; with --once, exit code 4 where there is no result."""
    logging.basicConfig(stream=sys.stderr, format="heft worker: %(message)s", level=logging.WARNING)
    os.nice(NICENESS)
    endpoint = arguments.following or arguments.bus.following
    followed: list[SessionInfo] = []

    def begin(session: SessionInfo) -> None:
        followed.append(session)
        _begin(session)

    worker = Worker(
        endpoint,
        prepared(arguments.out),
        RealClock(),
        name=arguments.name,
        robot=None if arguments.robot is None else Robot.load(arguments.robot),
        method=arguments.method,
        level=arguments.level,
        settings=settings(arguments.set),
        gone_s=arguments.gone,
        begin=begin,
    )
    sys.stderr.write(f"waiting for a session at {endpoint}\n")
    with shared_use(arguments.out):
        return asyncio.run(_work(worker, arguments, followed))


async def _work(worker: Worker, arguments: argparse.Namespace, followed: Sequence[SessionInfo]) -> int:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()

    def parent_died() -> None:
        """Its end of the pipe is closed. A session that is followed already is identified all the same."""
        loop.remove_reader(sys.stdin)
        if not followed:
            task.cancel()

    if arguments.beside:
        loop.add_reader(sys.stdin, parent_died)
    try:
        with stop_signals(loop, task.cancel):
            async for verdict in worker.sessions():
                _tell(verdict, arguments.out, arguments.json)
                if arguments.once:
                    return ExitCode.FAILED if verdict.result is None else ExitCode.DONE
    except asyncio.CancelledError:
        return ExitCode.DONE
    return ExitCode.DONE


def _begin(session: SessionInfo) -> None:
    what = "replay of" if session.replay else "session"
    sys.stderr.write(f"following {what} {session.name} ({session.session})\n")


def _tell(verdict: Verdict, out: Path, as_json: bool) -> None:
    name = verdict.session.name
    if verdict.reason:
        sys.stderr.write(f"{name}: {verdict.reason}\n")
    if verdict.result is not None:
        fit = 100 * verdict.result.fit.total
        sys.stderr.write(f"{name}: identified, torque error {fit:.2f} %; {out / RESULT}\n")
    if as_json:
        path = None if verdict.result is None else str(out / RESULT)
        line = {**verdict.to_dict(), "result": path, "recording": str(verdict.path)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
