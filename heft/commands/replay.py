"""`heft replay`: a recording on the bus again, for everyone who would have watched the session."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import RealClock
from heft.daq.recording import Recording
from heft.daq.replay.replay import Replay
from heft.exit_codes import ExitCode
from heft.interruption import stop_signals
from heft.options import add_settings, endpoint, settings, speed
from heft.output_folder import OutputFolder
from heft.terminal.keys import LEFT, RIGHT, on_keys
from heft.terminal.view import open_view
from heft.worker_process import RESULT, WorkerProcess, identification

__all__ = ["add", "run"]

STEP_S = 5.0
_HELP = "space pause, left and right 5 s back and forth, l loop, q quit"


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("file", type=Path, metavar="FILE.mcap", help="a recording, also one that was cut off")
    parser.add_argument(
        "--speed", type=speed, default=1.0, help="1, N times as fast, or max: as fast as all keep up"
    )
    parser.add_argument("--identify", action="store_true", help="with a worker that identifies it")
    add_settings(parser)
    parser.add_argument("--loop", action="store_true", help="begin anew after the end")
    parser.add_argument(
        "--bus",
        type=endpoint,
        metavar="ENDPOINT",
        help="publish here, as tcp://127.0.0.1:5570 (default: a private one)",
    )
    parser.add_argument(
        "--out", type=Path, help="folder for the result (default: sessions/<UTC time>-<recording>)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play the recording; exit code 3 where it was ended before its end."""
    recording = Recording.open(arguments.file)
    if not recording.complete:
        sys.stderr.write(f"{arguments.file}: {recording.recovery}\n")
    name = arguments.file.name.partition(".")[0]
    chosen = settings(arguments)
    folder = OutputFolder.given_or_new(arguments.out, name)
    with folder if arguments.identify else nullcontext():
        return _run(recording, arguments, folder, chosen)


def _run(
    recording: Recording, arguments: argparse.Namespace, folder: OutputFolder, chosen: dict[str, Any]
) -> int:
    """Play, tell, identify, tell."""
    out = folder.path
    replay, failure = asyncio.run(_play(recording, arguments, folder))
    report: dict[str, Any] = {
        "file": str(arguments.file),
        "seconds": replay.seconds,
        "published": dict(replay.source.publisher.counts),
        "stopped": replay.stopped,
    }
    console = Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True)
    how = "stopped at" if replay.stopped else "played"
    console.print(f"{how} {replay.seconds:.1f} of {replay.duration_s:.1f} s")
    if arguments.identify and not replay.stopped:
        report["identification"] = identification(arguments.file, out, failure, console, chosen)
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return ExitCode.ABORTED if replay.stopped else ExitCode.DONE


async def _play(
    recording: Recording, arguments: argparse.Namespace, folder: OutputFolder
) -> tuple[Replay, str]:
    """The replay, with a worker beside it that leaves `result.json`; else why it has not."""
    clock = None if arguments.speed == float("inf") else RealClock(arguments.speed)
    with ExitStack() as stack:
        endpoints = stack.enter_context(private_endpoints(telemetry=arguments.bus))
        worker = WorkerProcess(endpoints.telemetry, folder, arguments.set)
        async with Replay(recording, endpoints.telemetry, clock) as replay:
            replay.looping = arguments.loop
            sys.stderr.write(f"publishing on {replay.source.publisher.endpoint}\n")
            stack.enter_context(stop_signals(asyncio.get_running_loop(), lambda reason: replay.stop()))
            if arguments.identify:
                stack.enter_context(worker)
            if stack.enter_context(on_keys(_actions(replay))):
                sys.stderr.write(f"{_HELP}\n")
            async with open_view(endpoints, sys.stderr):
                await replay.play()
                await replay.followed({WorkerProcess.NAME: worker.alive})
        done = arguments.identify and not replay.stopped
        return replay, worker.take_result(folder.path / RESULT) if done else ""


def _actions(replay: Replay) -> dict[str, Any]:
    return {
        " ": replay.pause,
        LEFT: lambda: replay.seek(replay.seconds - STEP_S),
        RIGHT: lambda: replay.seek(replay.seconds + STEP_S),
        "l": replay.loop,
        "q": replay.stop,
    }
