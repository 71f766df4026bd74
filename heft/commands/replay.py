"""`heft replay`: a recording on the bus again, for everyone who would have watched the session."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import RealClock
from heft.daq.recording import Recording
from heft.daq.replay.replay import Replay
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode
from heft.interruption import stop_signals
from heft.options import add_settings, endpoint, settings, speed
from heft.output_folder import OutputFolder
from heft.terminal.keys import LEFT, RIGHT, on_keys
from heft.terminal.view import open_view
from heft.worker_process import RESULT, WorkerProcess, identification

__all__ = ["add", "run"]

STEP_S = 5.0
#: What a viewer is told of a replay that has no speed (times real time).
FASTEST = 1000.0
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
    parser.add_argument("--page", action="store_true", help="with a page that shows it, with a time line")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: any)")
    parser.add_argument("--browser", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--foxglove",
        type=int,
        nargs="?",
        const=8766,
        metavar="PORT",
        help="serve it to the Foxglove app (port 8766)",
    )
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
    chosen = settings(arguments.set)
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
            async with _page(recording, replay, arguments, endpoints), open_view(endpoints, sys.stderr):
                await replay.play()
                await replay.followed({WorkerProcess.NAME: worker.alive})
        done = arguments.identify and not replay.stopped
        return replay, worker.take_result(folder.path / RESULT) if done else ""


@asynccontextmanager
async def _page(
    recording: Recording, replay: Replay, arguments: argparse.Namespace, endpoints: Endpoints
) -> AsyncIterator[None]:
    """A page beside the replay, where one is wanted."""
    if not arguments.page and arguments.foxglove is None:
        yield
        return
    from heft.identify.data.recorded_robot import robot_of
    from heft.service.drawing import arm_of_robot
    from heft.service.watching import page_beside, replay_control
    from heft.service.web_process import Played

    scene = None
    with suppress(HeftError):  # a recording without a robot's model is shown without the arm
        scene = arm_of_robot(robot_of(recording))
    async with (
        replay_control(replay, endpoints),
        page_beside(
            arguments.file.stem,
            endpoints,
            scene,
            port=arguments.port,
            foxglove=arguments.foxglove,
            played=Played(*replay.span_ns, min(arguments.speed, FASTEST)),
        ) as url,
    ):
        if arguments.browser:
            webbrowser.open(url)
        yield


def _actions(replay: Replay) -> dict[str, Any]:
    return {
        " ": replay.pause,
        LEFT: lambda: replay.seek(replay.seconds - STEP_S),
        RIGHT: lambda: replay.seek(replay.seconds + STEP_S),
        "l": replay.loop,
        "q": replay.stop,
    }
