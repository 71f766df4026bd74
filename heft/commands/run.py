"""`heft run`: an excitation session on hardware or on the simulated rig."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from daq.bus.endpoint import Endpoints
from daq.clock import HostClock, RealClock, SimulatedClock
from daq.config.session import SessionConfig, load_session
from daq.errors import ConfigError, RecordError
from daq.motion.state import State
from daq.session.outcome import Outcome
from daq.session.session import Session
from drivers.errors import HeftError
from heft import __version__
from heft.configs import default_session
from heft.exit_codes import of_error, of_state
from heft.terminal.summary import summarise
from heft.terminal.view import open_view

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("session", nargs="?", type=Path, help="session file (default: the simulated WAM)")
    parser.add_argument(
        "--out", type=Path, help="folder for the results (default: sessions/<UTC time>-<session>)"
    )
    parser.add_argument(
        "--speed", type=_speed, default=1.0, help="1, N times real time, or max (simulated rigs only)"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="seed of the simulated rig")
    parser.add_argument("--no-identify", action="store_true", help="record only")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the session; the exit code says how it ended."""
    config = load_session(arguments.session or default_session())
    if arguments.speed != 1.0 and not config.rig.simulated:
        raise ConfigError(
            f"{config.rig.path}: --speed {arguments.speed:g}: real and emulated devices run at speed 1 only"
        )
    out = arguments.out or Path("sessions") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{config.name}"
    try:
        outcome = asyncio.run(_acquire(config, arguments, out))
    except RecordError as exc:  # the recording could not be begun, and nothing has moved
        raise ConfigError(f"--out {out}: {exc}") from exc
    console = Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True)
    summarise(outcome, console)
    report, code = outcome.to_dict(), of_state(outcome.state)
    if outcome.state is State.DONE and not arguments.no_identify and _identifiable(config):
        try:
            report["identification"] = _identify(outcome.file, out, console)
        except HeftError as exc:  # the recording is good all the same
            report["identification"] = {"error": str(exc)}
            sys.stderr.write(f"heft run: recorded, but not identified: {exc}\n")
            code = of_error(exc)
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return code


def _identifiable(config: SessionConfig) -> bool:
    return any(step.use == "identification" for step in config.steps)


def _identify(file: Path, out: Path, console: Console) -> dict[str, Any]:
    from heft.commands.identify import identify_and_report  # heavy imports, after the motion

    summary, _ = identify_and_report([file], out=out, console=console)
    return summary


async def _acquire(config: SessionConfig, arguments: argparse.Namespace, out: Path) -> Outcome:
    clock: HostClock = SimulatedClock() if arguments.speed == float("inf") else RealClock(arguments.speed)
    with Endpoints.private(telemetry=config.rig.telemetry) as endpoints:
        session = Session(
            config,
            clock=clock,
            out=out,
            endpoints=endpoints,
            seed=arguments.seed,
            attachments=_attachments(config),
            notes={"software": {"name": "heft", "version": __version__}},
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` wants it
                loop.add_signal_handler(number, session.stop, f"{number.name} received")
        async with open_view(endpoints, sys.stderr):
            return await session.run()


def _attachments(config: SessionConfig) -> dict[str, bytes]:
    """The files that describe the session, by the names they have inside the recording."""
    robot = config.rig.robot
    files = {"session.yaml": config.path, "rig.yaml": config.rig.path, "robot.yaml": robot.path}
    if robot.model is not None:
        files[robot.model.name] = robot.model_file
    return {f"configuration/{name}": path.read_bytes() for name, path in files.items()}


def _speed(text: str) -> float:
    try:
        speed = float("inf") if text == "max" else float(text)
    except ValueError:
        speed = 0.0
    if not speed > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; give 1, a positive factor, or max")
    return speed


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; give a whole number from 0 on")
    return int(text)
