"""`heft calibrate`: what the drives' torques are to be multiplied by, from a weighed load."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError
from heft.exit_codes import ExitCode
from heft.options import gain_spread

if TYPE_CHECKING:
    from heft.identify.bodies.arrays import Array
    from heft.identify.payload.weighing.gain_calibration import GainCalibration, KnownLoad
    from heft.identify.result import Result
    from heft.identify.robot import Robot

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("what", choices=["gains"], help="gains: of the drives, by a load that was weighed")
    parser.add_argument(
        "bare", type=Path, metavar="BARE", help="recording of the bare arm, or its result (.json)"
    )
    parser.add_argument(
        "loaded", type=Path, metavar="LOADED", help="recording with the weighed load on the flange"
    )
    parser.add_argument(
        "--load",
        required=True,
        type=load_numbers,
        metavar="M,CX,CY,CZ[,XX,XY,YY,XZ,YZ,ZZ]",
        help="mass [kg], centre of mass [m] in the flange's frame, and inertia about it [kg m2] if known",
    )
    parser.add_argument(
        "--load-std", type=float, metavar="KG", help="of the scale (default: a thousandth of the load)"
    )
    parser.add_argument(
        "--com-std", type=float, default=0.003, metavar="M", help="of the centre of mass [m] (default: 0.003)"
    )
    parser.add_argument(
        "--robot", required=True, type=Path, help="robot's file, which the gains are written into"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write there instead, and leave the robot's file alone"
    )
    parser.add_argument(
        "--gain-spread",
        type=gain_spread,
        help="relative standard deviation of the gains beforehand (default: as the robot's file has it, or 0.2)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def load_numbers(text: str) -> tuple[float, ...]:
    """Four numbers, or ten."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (4, 10) or not np.all(np.isfinite(numbers)):
        raise argparse.ArgumentTypeError(
            f"{text!r}: give four numbers, mass,cx,cy,cz, or ten with the inertia xx,xy,yy,xz,yz,zz"
        )
    return numbers


def run(arguments: argparse.Namespace) -> int:
    """Calibrate, and write the gains with their standard deviations."""
    from heft.daq.config.robot_gains import write_gains
    from heft.daq.recording import Recording
    from heft.identify.data.from_recording import datasets_of
    from heft.identify.data.recorded_robot import robot_of
    from heft.identify.payload.weighing.gain_calibration import calibrate_gains
    from heft.identify.robot import Robot

    source = locate(arguments.robot)
    robot = Robot.load(source)
    loaded = Recording.open(arguments.loaded)
    robot_of(loaded, robot)
    load = _known_load(arguments)
    result, refit = _bare(arguments.bare, robot)
    data = datasets_of(loaded, robot, None)
    found = calibrate_gains(result, data, load, arguments.gain_spread, refit=refit)
    target = source if arguments.out is None else arguments.out
    pairs = {
        joint: (float(g), float(s)) for joint, g, s in zip(found.joints, found.gains, found.std, strict=True)
    }
    write_gains(source, target, pairs)
    if arguments.json:
        sys.stdout.write(json.dumps(_document(found, target, robot), allow_nan=False) + "\n")
    else:
        sys.stdout.write("\n".join(_lines(found, target)) + "\n")
    for line in found.warnings:
        sys.stderr.write(f"heft calibrate: {line}\n")
    return ExitCode.DONE


def _known_load(arguments: argparse.Namespace) -> KnownLoad:
    from heft.identify.bodies.pseudo_inertia import INERTIA_ELEMENTS
    from heft.identify.payload.weighing.gain_calibration import KnownLoad

    mass, *rest = arguments.load
    inertia = None
    if len(rest) > 3:
        inertia = np.zeros((3, 3))
        for value, (i, j) in zip(rest[3:], INERTIA_ELEMENTS, strict=True):
            inertia[i, j] = inertia[j, i] = value
    return KnownLoad(mass, rest[:3], inertia, arguments.load_std, arguments.com_std)


def _bare(path: Path, robot: Robot) -> tuple[Result, Callable[[Array], Result] | None]:
    """The bare arm, by a result or a recording; and how to identify it anew from the latter with torques times
    factors."""
    from heft.daq.recording import Recording
    from heft.identify.fit import identify_recordings
    from heft.identify.result import load

    if path.suffix != ".json":
        recording = Recording.open(path)

        def identified(factors: Array) -> Result:
            return identify_recordings([recording], robot=replace(robot, gain=robot.gain * factors))

        return identified(np.ones(len(robot.joints))), identified
    result = load(path)
    if result.layout.names != robot.parameter_names or not np.array_equal(result.robot.gain, robot.gain):
        raise ConfigError(
            f"{path}: identified as another robot, or with other gains than {robot.name}'s file has now; "
            "give the recording of the bare arm"
        )
    return result, None


def _document(found: GainCalibration, target: Path, robot: Robot) -> dict[str, Any]:
    return {
        "robot": str(target),
        "gains": {
            joint: {
                "gain": one.value,
                "std": one.std,
                "low": one.low,
                "high": one.high,
                "before": float(before),
            }
            for (joint, one), before in zip(found.intervals.items(), robot.gain, strict=True)
        },
        "common": {"gain": found.common.value, "low": found.common.low, "high": found.common.high},
        "warnings": list(found.warnings),
    }


def _lines(found: GainCalibration, target: Path) -> list[str]:
    """Each gain with its 95 % interval."""
    width = max(len(joint) for joint in (*found.joints, "common"))
    rows = {**found.intervals, "common": found.common}
    return [
        "gains: what reported torques are to be multiplied by",
        *(
            f"  {name:<{width}}  {one.value:.4f}  [{one.low:.4f}, {one.high:.4f}]"
            for name, one in rows.items()
        ),
        f"written to {target}; identify the bare arm anew with it",
    ]
