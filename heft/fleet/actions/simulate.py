"""`heft fleet simulate`: months of a fleet, with events planted in it, to try the rest on."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.daq.whole_file import write_whole
from heft.exit_codes import ExitCode
from heft.fleet.results import FolderResults
from heft.fleet.store import TABLE, write_table
from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset
from heft.identify.data.known_load import KnownLoad
from heft.identify.fit import fit
from heft.identify.fleet.simulated.months import FIRST_US, Months, Reference
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.result import load
from heft.identify.robot import Robot
from heft.options import prepared, seed

__all__ = ["add", "reference_of", "run"]

TRUTH = "truth.json"
#: Whole sessions that say what sessions of one arm scatter; and a gripper's mass [kg] and place [m] on the flange.
SESSIONS, LOAD_KG, LOAD_COM = 8, 0.5, (0.0, 0.0, 0.08)


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the action."""
    parser.add_argument(
        "--out", type=Path, default=Path("months"), help="folder of the table (default: months)"
    )
    parser.add_argument("--arms", type=int, default=20, help="number of arms (default: 20)")
    parser.add_argument("--nights", type=int, default=365, help="nights, a session each (default: 365)")
    parser.add_argument("--seed", type=seed, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument(
        "--robot", type=Path, default=CONFIGS / "robots" / "wam7.yaml", help="robot's file (default: the WAM)"
    )
    parser.add_argument(
        "--result",
        type=Path,
        help="result.json of a real session: the fleet's sessions tell as much as this one",
    )
    parser.add_argument(
        "--whole",
        type=int,
        default=0,
        metavar="N",
        help="write N whole recordings of 60 s instead, for heft fleet identify",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the table, and the truth beside it."""
    if arguments.arms < 1 or arguments.nights < 1:
        raise ConfigError(f"{arguments.arms} arms and {arguments.nights} nights: give at least 1 of each")
    out = prepared(arguments.out)
    if arguments.whole:
        return _write_whole_sessions(arguments, out)
    reference = (
        Reference.of(load(arguments.result))
        if arguments.result
        else reference_of(Robot.load(arguments.robot))
    )
    months = Months(reference, arguments.arms, arguments.nights, arguments.seed)
    write_table(FolderResults(out), months.rows())
    events = [event.to_dict() for event in months.planted()]
    write_whole(out / TRUTH, json.dumps({"seed": arguments.seed, "events": events}, indent=1).encode())
    facts = {"table": str(out / TABLE), "truth": str(out / TRUTH), "events": len(events)}
    text = json.dumps(facts) if arguments.json else f"table     {facts['table']}\ntruth     {facts['truth']}"
    sys.stdout.write(f"{text}\n")
    return ExitCode.DONE


def reference_of(robot: Robot, seconds: float = 60.0) -> Reference:
    """What whole simulated sessions of a robot tell: `SESSIONS` of the same arm, and one with a load."""
    assert robot.prior is not None
    load = KnownLoad.of(LOAD_KG, LOAD_COM).parameters(robot)

    def session(seed: int, parameters: Array) -> Reference:
        whole = WholeSession(robot, "arm", parameters, FIRST_US * 1000, seconds, seed=seed)
        return Reference.of(fit(robot, Dataset.from_arrays(*whole.torques())))

    first, *others = [session(seed, robot.prior) for seed in range(SESSIONS)]
    return first.compared(others, session(SESSIONS, robot.prior + load), LOAD_KG)


def _write_whole_sessions(arguments: argparse.Namespace, out: Path) -> int:
    """Recordings, `OUT/armN/nightM.mcap`."""
    robot = Robot.load(arguments.robot)
    if robot.prior is None:
        raise ConfigError(f"{arguments.robot}: no parameters to simulate; give a robot's file with a prior")
    for number in range(arguments.whole):
        arm, night = number % arguments.arms, number // arguments.arms
        path = out / f"arm{arm:03d}" / f"night{night:03d}.mcap"
        path.parent.mkdir(exist_ok=True)
        own = np.random.default_rng([arguments.seed, arm]).normal(1.0, 0.03)
        utc_ns = (FIRST_US + night * 86_400_000_000) * 1000
        warm = np.full(len(robot.joints), 295.0)
        noise_seed = arguments.seed * 1_000_003 + number
        WholeSession(
            robot, f"arm{arm:03d}", robot.prior * own, utc_ns, temperature=warm, seed=noise_seed
        ).write(path)
    sys.stdout.write(f"{arguments.whole} recordings below {out}\n")
    return ExitCode.DONE
