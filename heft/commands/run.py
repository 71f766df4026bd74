"""`heft run`: an excitation session on hardware or on the simulated rig."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.arming import Arming
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.runtime import private_endpoints
from heft.daq.config.session import SessionConfig, load_session
from heft.daq.errors import ConfigError, RecordError
from heft.daq.motion.state import State
from heft.daq.session.outcome import Outcome
from heft.doubts import tell_doubts
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode, of_error, of_state
from heft.interruption import aborted, immediate_interrupt, stop_signals, uninterrupted
from heft.options import add_settings, seed, settings, speed
from heft.output_folder import OutputFolder, recording_names
from heft.planning import show_plan
from heft.rehearsed import rehearsal_state, store_rehearsal
from heft.service.asking import ask_service
from heft.service.registration import RunningService, service_of
from heft.session_run import SessionOrder, SessionRun
from heft.terminal.keys import listen_to_keys
from heft.terminal.rehearsal import describe_rehearsal
from heft.terminal.summary import summarise
from heft.terminal.view import open_view
from heft.worker_process import REPORT, RESULT, identification

__all__ = ["DEFAULT_SESSION", "add", "run"]

DEFAULT_SESSION = Path("configs/sessions/wam7_excitation.yaml")  #: the simulated WAM


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("session", nargs="?", type=Path, help="session file (default: the simulated WAM)")
    parser.add_argument(
        "--out", type=Path, help="folder for the results (default: sessions/<UTC time>-<session>)"
    )
    parser.add_argument(
        "--speed", type=speed, default=1.0, help="1, at most N times real time, or max (simulated rigs only)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="seed of the simulated rig")
    parser.add_argument(
        "--arm", metavar="ROBOT", help="the robot's name: a rig of real devices then moves without asking"
    )
    parser.add_argument("--dry-run", action="store_true", help="show and check the plan, and open no device")
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="play it on the simulated twin of the rig first, and say what will come out; with --dry-run no more "
        "than that",
    )
    parser.add_argument(
        "--unrehearsed",
        action="store_true",
        help="move real devices by a plan that has not been rehearsed; the recording says so",
    )
    parser.add_argument("--no-identify", action="store_true", help="record only")
    parser.add_argument(
        "--no-viewer", action="store_true", help="record without the copies for viewers: a third of the size"
    )
    parser.add_argument("--page", action="store_true", help="with a page that shows it")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: any)")
    parser.add_argument(
        "--foxglove",
        type=int,
        nargs="?",
        const=8766,
        metavar="PORT",
        help="serve it to the Foxglove app (port 8766)",
    )
    parser.add_argument(
        "--alone", action="store_true", help="open the rig here, even where a service owns one of its file"
    )
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the session; the exit code says how it ended."""
    with immediate_interrupt(arguments.json):  # loads the libraries of its devices
        config = load_session(arguments.session or DEFAULT_SESSION)
        tell_doubts(config.rig.robot, "heft run")
    chosen = settings(arguments.set)
    if arguments.dry_run:
        with immediate_interrupt(arguments.json):
            return show_plan(
                config, arguments.json, partial(_rehearsed, config, chosen) if arguments.rehearse else None
            )
    service = None if arguments.alone or arguments.rehearse else service_of(config.rig.path)
    if service is not None:
        return _by_service(service, config, arguments)
    if arguments.speed != 1.0 and not config.rig.simulated:
        raise ConfigError(
            f"{config.rig.path}: --speed {arguments.speed:g}: real and emulated devices run at speed 1 only"
        )
    arming = Arming(config.rig, arguments.arm)
    if arguments.rehearse:
        with immediate_interrupt(arguments.json):
            facts = _rehearsed(config, chosen)
        if not facts["good"]:
            if arguments.json:
                sys.stdout.write(json.dumps({"rehearsal": facts}) + "\n")
            return ExitCode.NO
    arming.rehearsal = rehearsal_state(config, needed=bool(arming.movers), unrehearsed=arguments.unrehearsed)
    identify = not arguments.no_identify and any(step.use == "identification" for step in config.steps)
    if identify and (chosen or config.identify):
        _check_settings(config, chosen)
    names = recording_names(config.name) + ([RESULT, REPORT] if identify else [])
    with OutputFolder.given_or_new(arguments.out, config.name, names) as folder:
        return _run(config, arguments, arming, folder, identify, chosen)


def _by_service(service: RunningService, config: SessionConfig, arguments: argparse.Namespace) -> int:
    """The service that owns the rig runs it; its page shows it."""
    request = {
        "session": config.path,
        "out": arguments.out,
        "speed": arguments.speed,
        "seed": arguments.seed,
        "identify": not arguments.no_identify,
        "settings": list(arguments.set),
        "unrehearsed": arguments.unrehearsed,
        "viewer": not arguments.no_viewer,
    }
    return ask_service(service, "run", request, arm=arguments.arm, as_json=arguments.json)


def _run(
    config: SessionConfig,
    arguments: argparse.Namespace,
    arming: Arming,
    folder: OutputFolder,
    identify: bool,
    chosen: dict[str, Any],
) -> int:
    """Acquire, tell, identify, tell. A signal after the acquisition ends what is left, and the recording is told."""
    told: dict[str, Any] | None = {}

    def last_words(reason: str) -> dict[str, Any] | None:
        folder.release()
        if not arguments.json or told is None:
            return None
        return {**told, "identification": {"error": f"interrupted: {reason}"}} if told else aborted(reason)

    with immediate_interrupt(last_words):
        try:
            outcome, failure = asyncio.run(_acquire(config, arguments, arming, folder, identify))
        except RecordError as exc:  # the recording could not be begun, and nothing has moved
            raise ConfigError(f"--out {folder.path}: {exc}") from exc
        told = {**outcome.to_dict(), "rehearsal": arming.rehearsal}
        console = Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True)
        summarise(outcome, console)
        report, code = dict(told), of_state(outcome.state)
        if outcome.state is State.DONE and identify and outcome.file is not None:
            try:
                report["identification"] = identification(outcome.file, folder.path, failure, console, chosen)
                if report["identification"]["verdict"]["grade"] == "unfit":
                    code = ExitCode.NO
            except HeftError as exc:  # the recording is good all the same
                report["identification"] = {"error": str(exc)}
                sys.stderr.write(f"heft run: recorded, but not identified: {exc}\n")
                code = of_error(exc)
        with uninterrupted():
            if arguments.json:
                sys.stdout.write(json.dumps(report) + "\n")
                sys.stdout.flush()
            told = None
    return code


def _rehearsed(config: SessionConfig, chosen: dict[str, Any]) -> dict[str, Any]:
    """Rehearse, tell it on standard error, and remember it where it went well."""
    from heft.rehearsal import rehearse

    rehearsal = rehearse(config, chosen)
    facts = rehearsal.to_dict()
    describe_rehearsal(facts, Console(file=sys.stderr, highlight=False, soft_wrap=True, markup=False))
    if rehearsal.good:
        store_rehearsal(config, rehearsal.plan, facts)
    return facts


def _check_settings(config: SessionConfig, chosen: dict[str, Any]) -> None:
    """`ConfigError` before anything moves, where the identification afterwards could not be done as it is set."""
    from heft.identify.robot import Robot
    from heft.identify.settings import Settings
    from heft.identify.settings.choices import Choices

    session = Settings.of(config.identify, f"{config.path}: identify")
    Settings.of(chosen).over(session).applied(Choices(Robot.from_config(config.rig.robot)))


async def _acquire(
    config: SessionConfig, arguments: argparse.Namespace, arming: Arming, folder: OutputFolder, identify: bool
) -> tuple[Outcome, str]:
    """The session, with a worker beside it that leaves `result.json`; else why it has not."""
    requests: list[str] = []
    running: SessionRun | None = None

    def stop(reason: str) -> None:
        requests.append(reason)
        if running is not None:
            running.session.stop(reason)

    with ExitStack() as stack:
        stack.enter_context(stop_signals(asyncio.get_running_loop(), stop))
        endpoints = stack.enter_context(
            private_endpoints(telemetry=config.rig.telemetry, outside=config.rig.outside)
        )
        order = SessionOrder(
            config,
            folder,
            identify,
            rehearsal=arming.rehearsal,
            speed=arguments.speed,
            seed=arguments.seed,
            settings=tuple(arguments.set),
            copies=not arguments.no_viewer,
        )
        running = SessionRun(order, endpoints, arming.confirm)
        arming.outlook = running.preflight.outlook
        for reason in requests:
            running.session.stop(reason)
        async with (
            _page(config, arguments, endpoints),
            open_view(endpoints, sys.stderr, arming.settled),
            listen_to_keys(dict.fromkeys("p ", running.session.toggle_pause), arming.settled),
        ):
            return await running.run()


@asynccontextmanager
async def _page(
    config: SessionConfig, arguments: argparse.Namespace, endpoints: Endpoints
) -> AsyncIterator[None]:
    """A page beside the session, where one is wanted."""
    if not arguments.page and arguments.foxglove is None:
        yield
        return
    from heft.service.drawing import arm_of_config
    from heft.service.watching import page_beside

    scene = arm_of_config(config.rig.robot)
    async with page_beside(config.name, endpoints, scene, port=arguments.port, foxglove=arguments.foxglove):
        yield
