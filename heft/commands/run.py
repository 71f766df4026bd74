"""`heft run`: an excitation session on hardware or on the simulated rig."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from heft import __version__
from heft.arming import Arming
from heft.attachments import attachments_of
from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import HostClock, RealClock, SimulatedClock
from heft.daq.config.session import SessionConfig, load_session
from heft.daq.errors import ConfigError, RecordError
from heft.daq.motion.state import State
from heft.daq.mqtt.session_report import SessionReport
from heft.daq.session.outcome import Outcome
from heft.daq.session.session import Session
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode, of_error, of_state
from heft.interruption import immediate_interrupt
from heft.options import add_settings, seed, settings, speed
from heft.priority import ahead_of_others
from heft.terminal.summary import summarise
from heft.terminal.view import open_view
from heft.worker_process import RESULT, WorkerProcess, identification

__all__ = ["DEFAULT_SESSION", "add", "run"]

DEFAULT_SESSION = Path("configs/sessions/wam7_excitation.yaml")  #: the simulated WAM


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("session", nargs="?", type=Path, help="session file (default: the simulated WAM)")
    parser.add_argument(
        "--out", type=Path, help="folder for the results (default: sessions/<UTC time>-<session>)"
    )
    parser.add_argument(
        "--speed", type=speed, default=1.0, help="1, N times real time, or max (simulated rigs only)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="seed of the simulated rig")
    parser.add_argument(
        "--arm", metavar="ROBOT", help="the robot's name: a rig of real devices then moves without asking"
    )
    parser.add_argument("--no-identify", action="store_true", help="record only")
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the session; the exit code says how it ended."""
    with immediate_interrupt():  # loads the libraries of its devices
        config = load_session(arguments.session or DEFAULT_SESSION)
    if arguments.speed != 1.0 and not config.rig.simulated:
        raise ConfigError(
            f"{config.rig.path}: --speed {arguments.speed:g}: real and emulated devices run at speed 1 only"
        )
    arming = Arming(config.rig, arguments.arm)
    out = arguments.out or Path("sessions") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{config.name}"
    identify = not arguments.no_identify and any(step.use == "identification" for step in config.steps)
    chosen = settings(arguments)
    if identify and (chosen or config.identify):
        _check_settings(config, chosen)
    try:
        outcome, failure = asyncio.run(_acquire(config, arguments, arming, out, identify))
    except RecordError as exc:  # the recording could not be begun, and nothing has moved
        raise ConfigError(f"--out {out}: {exc}") from exc
    console = Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True)
    summarise(outcome, console)
    report, code = outcome.to_dict(), of_state(outcome.state)
    if outcome.state is State.DONE and identify:
        try:
            report["identification"] = identification(outcome.file, out, failure, console, chosen)
            if report["identification"]["verdict"]["grade"] == "unfit":
                code = ExitCode.NO
        except HeftError as exc:  # the recording is good all the same
            report["identification"] = {"error": str(exc)}
            sys.stderr.write(f"heft run: recorded, but not identified: {exc}\n")
            code = of_error(exc)
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return code


def _check_settings(config: SessionConfig, chosen: dict[str, Any]) -> None:
    """`ConfigError` before anything moves, where the identification afterwards could not be done as it is set."""
    from heft.identify.robot import Robot
    from heft.identify.settings import Settings
    from heft.identify.settings.choices import Choices

    session = Settings.of(config.identify, f"{config.path}: identify")
    Settings.of(chosen).over(session).applied(Choices(Robot.from_config(config.rig.robot)))


async def _acquire(
    config: SessionConfig, arguments: argparse.Namespace, arming: Arming, out: Path, identify: bool
) -> tuple[Outcome, str]:
    """The session, with a worker beside it that leaves `result.json`; else why it has not."""
    clock: HostClock = SimulatedClock() if arguments.speed == float("inf") else RealClock(arguments.speed)
    with ExitStack() as stack:
        endpoints = stack.enter_context(private_endpoints(telemetry=config.rig.telemetry))
        worker = WorkerProcess(endpoints.telemetry, out / WorkerProcess.NAME, arguments.set)
        report = SessionReport(config.rig, config.name)
        session = Session(
            config,
            clock=clock,
            out=out,
            endpoints=endpoints,
            seed=arguments.seed,
            attachments=attachments_of(config),
            notes={"software": {"name": "heft", "version": __version__}},
            followers={WorkerProcess.NAME: worker.alive},
            sinks=[report],
            confirm=arming.confirm,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` wants it
                loop.add_signal_handler(number, session.stop, f"{number.name} received")
        if identify:
            stack.enter_context(worker)
        if arguments.speed <= 1.0:  # devices do not wait
            worker.step_aside()
            stack.enter_context(ahead_of_others())
        gc.collect()
        gc.freeze()  # what is loaded stays: looking through it again would stall the loop for a tenth of a second
        stack.callback(gc.unfreeze)
        async with open_view(endpoints, sys.stderr, arming.settled), report:
            outcome = await session.run()
        done = identify and outcome.state is State.DONE
        return outcome, worker.take_result(out / RESULT) if done else ""
