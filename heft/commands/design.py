"""`heft design`: the motion that tells most, inside every limit and past every obstacle."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from heft.daq.config.rig import RigConfig
from heft.daq.config.robot import RobotConfig
from heft.daq.errors import ConfigError
from heft.exit_codes import ExitCode
from heft.options import positive, seed

__all__ = ["add", "run"]

MODELS = (".urdf", ".xml", ".mjcf")
HIGH = 100.0  # a condition number above which is said what it comes from


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("robot", type=Path, metavar="ROBOT.yaml", help="the robot's file, or a rig's")
    parser.add_argument("--seconds", type=positive, default=20.0, help="how long it lasts (default: 20)")
    parser.add_argument("--harmonics", type=_count, default=5, help="of a Fourier series (default: 5)")
    parser.add_argument(
        "--fraction",
        type=_share,
        default=1.0,
        help="of the joints' velocity and acceleration limits that it may use (default: 1)",
    )
    parser.add_argument(
        "--criterion",
        choices=("d", "condition", "e", "worst"),
        default="d",
        help="what is made small: the volume of the confidence ellipsoid (d), the condition number, the worst "
        "direction (e), the worst relative deviation (default: d)",
    )
    parser.add_argument(
        "--for",
        dest="target",
        choices=("links", "payload"),
        default="links",
        help="what is to be identified: the arm, or what its hand holds, by the last joints (default: links)",
    )
    parser.add_argument(
        "--family",
        choices=("fourier", "moves", "poses"),
        default="fourier",
        help="a Fourier series, a chain of minimum-jerk moves, or static poses (default: fourier)",
    )
    parser.add_argument(
        "--given",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="results of earlier sessions (result.json), or their recordings: the motion adds to what they know",
    )
    parser.add_argument(
        "--obstacles", type=Path, metavar="FILE", help="a file with a `scene`, added to the robot's"
    )
    parser.add_argument(
        "--posture", type=_numbers, metavar="Q1,Q2,...", help="where to begin [rad]; default: chosen"
    )
    parser.add_argument(
        "--rate-hz", type=positive, default=1000.0, help="of the torques that will be measured"
    )
    parser.add_argument(
        "--starts",
        type=_count,
        help="searches, side by side (default: 12; for a payload 1, which takes seconds)",
    )
    parser.add_argument(
        "--budget", type=positive, default=50.0, help="seconds that it may take, about (default: 50)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the searches' starts")
    parser.add_argument("--out", type=Path, help="the trajectory's file (default: ROBOT_design.yaml here)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there already")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Design, write the trajectory and its page; exit code 2 where the request cannot be met."""
    from heft.designing import design_request, designed_files, search_motion, told
    from heft.identify.errors import ProblemError

    config, rig = _robot(arguments.robot)
    out = arguments.out or Path(f"{config.name}_design.yaml")
    page = out.with_suffix(".html")
    if not arguments.overwrite:
        for path in (out, page):
            if path.exists():
                raise ConfigError(f"{path}: is there already; choose another --out, or say --overwrite")
    try:
        request = design_request(arguments, config, rig)
        made = search_motion(request, arguments.family)
    except ProblemError as exc:
        raise ConfigError(f"{config.path}: {exc}") from exc
    designed_files(made, out, page)
    facts = {**told(made), "trajectory": str(out), "page": str(page)}
    if arguments.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    else:
        _print(facts)
    return ExitCode.DONE if facts["limits_ok"] else ExitCode.NO


def _print(facts: dict[str, Any]) -> None:
    worst = facts["worst_limit"]
    lines = [
        f"condition number {facts['condition_number']:.1f} (random: {facts['random']['condition_number']:.0f})",
        f"closest limit: {worst['quantity']} of {worst['joint']}, {100 * worst['share']:.1f} % of {worst['bound']:.4g}",
    ]
    if facts["condition_number"] > HIGH:
        remedy = "" if facts["criterion"] == "condition" else "; --criterion condition makes it small"
        lines.insert(1, f"  {facts['condition_comes_from']['why']}{remedy}")
    closest = facts["closest_approach"]
    if closest is not None:
        lines.append(f"closest approach: {closest['between']}, {closest['distance_m']:.3f} m")
    lines.append(f"hardest to tell: {facts['hardest']['name']}, +- {facts['hardest']['std']:.3g} expected")
    lines.append(f"{facts['trajectory']}, {facts['page']} ({facts['wall_seconds']:.1f} s)")
    sys.stdout.write("\n".join(lines) + "\n")


def _robot(path: Path) -> tuple[RobotConfig, RigConfig | None]:
    """The file as a robot's, or as a rig's."""
    from heft.daq.config.document import read_document
    from heft.daq.config.rig import load_rig
    from heft.daq.config.robot import load_robot
    from heft.daq.config.shipped import locate

    if path.suffix.lower() in MODELS:
        raise ConfigError(
            f"{path}: a model, which does not say how hard joints may accelerate; give a robot's file (YAML) with "
            f"`model: {path.name}` and the joints' limits"
        )
    if "devices" in read_document(locate(path)):
        rig = load_rig(path)
        return rig.robot, rig
    return load_robot(path), None


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100")
    return int(text)


def _share(text: str) -> float:
    value = positive(text)
    if value > 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a fraction; give a number above 0, at most 1")
    return value


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers; write 0.1,0.2,...") from exc
