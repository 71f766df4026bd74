"""`heft payload`: what the gripper picked up, from a recording or live."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.daq.config.objects import load_objects
from heft.daq.config.rig import load_rig
from heft.daq.config.session import is_session, load_session
from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError
from heft.daq.importing.open_file import is_foreign
from heft.daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.importing import recording_of
from heft.options import add_log_options, gain_spread, prepared, seed, speed
from heft.service.asking import ask_service
from heft.service.registration import RunningService, running_services, service_of
from heft.terminal.payloads import describe_payloads

__all__ = ["add", "run"]

REFUSED = "not weighed: the answer would be meaningless; mend the recording as said, or say --force"


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="recording (.mcap); other files are imported first"
    )
    parser.add_argument(
        "--live",
        type=Path,
        metavar="RIG.yaml",
        help="weigh on this rig, whenever something is picked up; a session's file runs that session meanwhile",
    )
    add_log_options(parser)
    parser.add_argument(
        "--bare", type=Path, metavar="FILE", help="recording in which the bare hand moves (default: this one)"
    )
    parser.add_argument(
        "--find-gravity",
        action="store_true",
        help="find its direction from the bare hand's motion, for an arm that is mounted otherwise than its file says",
    )
    parser.add_argument(
        "--result",
        type=Path,
        metavar="RESULT.json",
        help="identified arm, to weigh by joint torques too, or by them alone where there is no wrist sensor",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="the arm carries one load throughout the recording: weigh it by joint torques (--result)",
    )
    parser.add_argument(
        "--gain-spread",
        type=gain_spread,
        metavar="S",
        help="relative standard deviation of the drives' torque scales: 0.1 is 10 %%; off by at most 10 %% is 0.06 "
        "(default: as the robot's file has it)",
    )
    parser.add_argument(
        "--objects",
        type=Path,
        default=Path("configs/objects"),
        help="folder of objects to recognise (default: configs/objects, your own or the shipped)",
    )
    parser.add_argument(
        "--dimensions", type=float, nargs=3, metavar="M", help="of the object's box [m], if known"
    )
    parser.add_argument("--density", type=float, help="of the object [kg/m3], if known")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for live recordings (default: sessions/<UTC time>), or for imported ones",
    )
    parser.add_argument(
        "--arm",
        metavar="ROBOT",
        help="live: the robot's name; a short wrist motion may be played, and a session moves without asking",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="live: tell the robot's controller what hangs on its flange, hand and object together, and what it held "
        "before when the object is gone; needs --arm where no session asks",
    )
    parser.add_argument(
        "--speed",
        type=speed,
        default=1.0,
        help="live, simulated rigs only: 1, at most N times real time, or max",
    )
    parser.add_argument("--seed", type=seed, default=0, help="live: seed of the simulated rig")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="live: open the rig here, even where a service owns one of its file",
    )
    parser.add_argument(
        "--force", action="store_true", help="weigh also where the recording makes the answer meaningless"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON on standard output: one object; live, one a line"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Weigh; exit code 1 where nothing was picked up, or the recording makes the answer meaningless."""
    if (arguments.file is None) == (arguments.live is None):
        raise ConfigError("give either a recording or --live RIG.yaml")
    if arguments.apply and arguments.live is None:
        raise ConfigError("--apply tells a controller on a rig: give --live RIG.yaml")
    if arguments.all and (arguments.file is None or arguments.result is None):
        raise ConfigError(
            "--all weighs a recording by the identified arm: give the recording and --result RESULT.json"
        )
    if arguments.live is not None:
        service = None if arguments.alone else _service(arguments.live)
        if service is not None:
            return _by_service(service, arguments)
        from heft.payload_run import PayloadOrder, run_live

        asked = {one.name: getattr(arguments, one.name) for one in fields(PayloadOrder) if one.name != "root"}
        return run_live(PayloadOrder(**asked))
    report = _weigh(arguments)
    console = Console(
        file=sys.stderr if arguments.json else sys.stdout, highlight=False, markup=False, soft_wrap=True
    )
    describe_payloads(report, console)
    if arguments.json:
        sys.stdout.write(json.dumps(report, allow_nan=False) + "\n")
    return ExitCode.DONE if report["payloads"] else ExitCode.NO


def _service(live: Path) -> RunningService | None:
    """The service that owns the rig of this file, a rig's or a session's."""
    path = locate(live)
    if not running_services():
        return None
    rig = load_session(path).rig if is_session(path) else load_rig(path)
    return service_of(rig.path)


def _by_service(service: RunningService, arguments: argparse.Namespace) -> int:
    """The service that owns the rig weighs; its page shows it."""
    path = locate(arguments.live)
    request = {
        "session": path if is_session(path) else None,
        "arm": arguments.arm is not None,
        "bare": arguments.bare,
        "result": arguments.result,
        "objects": locate(arguments.objects),
        "out": arguments.out,
        **{
            key: getattr(arguments, key)
            for key in ("speed", "seed", "find_gravity", "gain_spread", "apply", "dimensions", "density")
        },
    }
    return ask_service(service, "payload", request, arm=arguments.arm, as_json=arguments.json)


def _weigh(arguments: argparse.Namespace) -> dict[str, Any]:
    from heft.identify.data.recorded_robot import robot_of
    from heft.identify.diagnosis.cheap_reasons import payload_reasons
    from heft.identify.payload.estimation.object_prior import ObjectPrior
    from heft.identify.payload.scales.arm_model import ArmModel, require_gains
    from heft.identify.payload.weighing.recorded_pickups import weigh_all, weigh_recording
    from heft.identify.result import load
    from heft.identify.robot import Robot

    @cache  # --bare may name the same file
    def opened(file: Path) -> Recording:
        out = arguments.out or file.parent
        folder = prepared(out) if is_foreign(file) else out
        among = [one for one in (arguments.file, arguments.bare) if one is not None]
        return Recording.open(
            recording_of(file, folder, among=among, robot=arguments.robot, map_file=arguments.map)
        )

    recording = opened(arguments.file)
    prior = ObjectPrior(dimensions=arguments.dimensions, density=arguments.density)
    library = load_objects(arguments.objects)
    bare = None if arguments.bare is None else opened(arguments.bare)
    result = arm = None
    if arguments.all:
        result = load(arguments.result)
        robot = robot_of(recording, result.robot)
        if arguments.robot is not None:
            require_gains(arguments.result, result, Robot.load(arguments.robot))
    else:
        given = arguments.robot is not None and not is_foreign(arguments.file)
        robot = robot_of(recording, Robot.load(arguments.robot) if given else None)
        if arguments.result is not None:
            arm = ArmModel.of_file(arguments.result, robot, arguments.gain_spread)
    reasons = [
        one
        for file in dict.fromkeys(filter(None, (recording, bare)))
        for one in payload_reasons(file, robot, by_joints=arguments.result is not None)
    ]
    report = {"file": str(arguments.file), "reasons": [one.to_dict() for one in reasons]}
    told = [f"{one.severity}: {one.text}" for one in reasons]
    if not arguments.force and any(one.severity == "unfit" for one in reasons):
        told.append(REFUSED)
        return {**report, "payloads": [], "nothing": [], "hand": None, "notes": told}
    if result is not None:
        weighed = weigh_all(
            recording, result, gain_spread=arguments.gain_spread, prior=prior, library=library
        )
    else:
        weighed = weigh_recording(
            recording,
            robot=robot,
            bare=bare,
            arm=arm,
            prior=prior,
            library=library,
            find_gravity=arguments.find_gravity,
        )
    facts = weighed.to_dict()
    return {**report, **facts, "notes": [*told, *facts["notes"]]}
