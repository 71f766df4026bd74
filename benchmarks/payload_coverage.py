"""Payloads on the simulated rig: seeded pick-ups of random objects against their truth.

Each session moves the bare arm (from which it is identified, and the hand is known), then picks up four objects, holds
each still and turns the wrist, and a fifth that is turned so slowly that its inertia cannot be known. Objects and
motions are drawn by the session's seed. `benchmarks/coverage.py --rigs payload` runs it.

Joint currents weigh twice: with gains that are exact, and (`gains off`) with a robot's file whose gains are off by up
to 10 % together and by up to 10 % more each, from which the arm is identified anew; stated is no more than the spread.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.identify import Dataset, Robot, fit
from heft.identify.bodies.consistency import consistency
from heft.identify.data.recorded_robot import robot_of
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.kinematics.robot_frames import sensor_in_flange
from heft.identify.payload.output.payload_frames import in_frames
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.weighing.recorded_pickups import Weighed, weigh_recording
from heft.main import main as heft

MOVED = 4  # pick-ups of a session with the wrist's motion
SLOW = 1 / 50  # of the motion, for one more
STILL_S = 0.5
GAINS_OFF = 0.1  # at most: in common, and of each joint on top
write = sys.stdout.write


def drawn_object(rng: np.random.Generator) -> dict[str, Any]:
    """Something of 0.3 to 3 kg as it lies in the hand: a box, even or not, of any attitude, gripped off its centre."""
    mass = float(np.exp(rng.uniform(np.log(0.3), np.log(3.0))))
    sides = np.exp(rng.uniform(np.log(0.03), np.log(0.25), 3))
    second = mass * sides**2 / 12 * rng.uniform(0.6, 1.6)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    inertia = axes @ np.diag(second.sum() - second) @ axes.T
    reach = min(0.06, 0.09 / mass)
    com = [
        rng.uniform(-reach, reach),
        rng.uniform(-reach, reach),
        rng.uniform(0.1, min(0.2, 0.45 / mass)),
    ]  # what the sensor can bear
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return {
        "mass": mass,
        "com": [float(x) for x in com],
        "inertia": [float(inertia[i, j]) for i, j in places],
        "width": 0.05,
    }


def plan(folder: Path, seed: int) -> Path:
    """The session of a seed, with its rig, written to `folder`."""
    rng = np.random.default_rng([seed, 7])
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig["robot"] = str(CONFIGS / "robots" / "wam7.yaml")
    names = [f"object{k + 1}" for k in range(MOVED + 1)]
    rig["devices"]["gripper"]["objects"] = {name: drawn_object(rng) for name in names}
    (folder / "rig.yaml").write_text(yaml.safe_dump(rig), encoding="utf-8")
    sessions = {
        name: yaml.safe_load((CONFIGS / "sessions" / f"{name}.yaml").read_text(encoding="utf-8"))["steps"]
        for name in ("wam7_excitation", "pick_and_weigh")
    }
    wrist, rest = sessions["pick_and_weigh"][0]["fourier"], sessions["pick_and_weigh"][1]["move"]
    rest = rest | {"fraction": 0.6}
    steps = [
        sessions["wam7_excitation"][0],
        {"name": "bare", "use": "payload", "fourier": _turned(wrist, rng)},
        {"name": "to rest", "move": rest},
    ]
    for name in names:
        size = 1.0 if name != names[-1] else SLOW
        steps += [
            {"name": f"above {name}", "wait": 0.5},
            {"name": f"take {name}", "grip": name},
            {"name": f"hold {name}", "use": "payload", "wait": STILL_S + 0.1},
            {"name": f"weigh {name}", "use": "payload", "fourier": _turned(wrist, rng, size, rest["to"])},
            {"name": f"back with {name}", "move": rest},
            {"name": f"let {name} go", "release": True},
        ]
    steps.append({"name": "empty", "wait": 0.5})
    path = folder / "session.yaml"
    session = {"name": "payload", "rig": "rig.yaml", "approach_fraction": 0.6, "steps": steps}
    path.write_text(yaml.safe_dump(session), encoding="utf-8")
    return path


def _turned(
    wrist: dict[str, Any], rng: np.random.Generator, size: float = 1.0, centre: list[float] | None = None
) -> dict[str, Any]:
    """The wrist's motion with other signs of its coefficients."""
    changed = dict(wrist)
    for key in ("a", "b"):
        table = np.array(wrist[key])
        changed[key] = (size * table * rng.choice([-1.0, 1.0], table.shape)).tolist()
    if size < 1.0 and centre is not None:
        changed["q0"] = centre
    return changed


@dataclass(frozen=True)
class Check:
    """One number of one pick-up: how far off in standard deviations."""

    group: str
    off: float


@dataclass
class Outcome:
    """One session: checks of intervals, the largest errors by name, broken promises, and what went wrong."""

    checks: list[Check] = field(default_factory=list)
    errors: dict[str, list[float]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    pickups: int = 0

    def error(self, name: str, value: float) -> None:
        """One more error of a kind."""
        self.errors.setdefault(name, []).append(float(value))


#: Elsewhere an interval may be wider than it had to be: where the prior's width is a part of it.
TWO_SIDED = ("mass", "com", "inertia")
BOUNDS = {
    "still: mass [%]": 2.0,
    "mass [%]": 0.5,
    "centre of mass [mm]": 1.0,
    "largest moment [%]": 5.0,
    "currents: mass [%]": 3.0,
}


def session(seed: int, keep: Path | None = None) -> Outcome:
    """Record, unless it is at hand, weigh, compare."""
    with tempfile.TemporaryDirectory(prefix="heft-coverage-") as name:
        folder = Path(name) if keep is None else keep / "payload" / str(seed)
        if not (folder / "out").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            told, out = io.StringIO(), Path(name) / "recorded"
            arguments = [
                "run",
                str(plan(folder, seed)),
                "--speed",
                "max",
                "--seed",
                str(seed),
                "--no-identify",
            ]
            with redirect_stdout(told), redirect_stderr(told):
                code = heft([*arguments, "--out", str(out)])
            if code:
                raise RuntimeError(f"payload, seed {seed}: exit code {code}: {told.getvalue()[-300:]}")
            shutil.move(out, folder / "out")
        truth = json.loads((folder / "out" / "payload.truth.json").read_text(encoding="utf-8"))
        return compared(folder / "out" / "payload.mcap", truth, seed)


def compared(file: Path, truth: dict[str, Any], seed: int) -> Outcome:
    """Every pick-up of a session against the truth."""
    recording, where = Recording.open(file), f"seed {seed}"
    robot = robot_of(recording)
    weighed = _weighed(recording, robot)
    outcome = Outcome()
    found = [pickup for pickup in weighed.pickups if pickup.t_pick is not None]
    if len(found) != len(truth["payloads"]) or len(found) != MOVED + 1:
        outcome.broken.append(f"{where}: {len(found)} pick-ups found, {len(truth['payloads'])} happened")
        return outcome
    place = sensor_in_flange(robot)
    for pickup, true in zip(found, truth["payloads"], strict=True):
        at = f"{where}, {true['object']} of {true['mass']:.2f} kg"
        if not all(consistency(one.estimate.ten, "full").ok for one in pickup.estimates):
            outcome.broken.append(f"{at}: an estimate that cannot exist")
        still = in_frames(_after(pickup, STILL_S), *place)
        assert pickup.latest is not None
        last = in_frames(pickup.latest.estimate, *place)
        _judge("still: ", still.flange, true, outcome)
        _expect_untold(f"{at}, still", still.flange, outcome)
        outcome.error("still: mass [%]", 100 * abs(still.flange.mass / true["mass"] - 1))
        if true is truth["payloads"][-1]:
            _judge("slow: ", last.flange, true, outcome)
            _expect_untold(f"{at}, slow", last.flange, outcome)
            continue
        outcome.pickups += 1
        _judge("", last.flange, true, outcome)
        outcome.error("mass [%]", 100 * abs(last.flange.mass / true["mass"] - 1))
        outcome.error("centre of mass [mm]", 1e3 * np.abs(last.flange.com - true["com"]).max())
        largest = _largest_moment(true)
        if largest > 2e-3:
            outcome.error("largest moment [%]", 100 * abs(last.principal.moments[0] / largest - 1))
        by_torque = pickup.by_joints
        assert by_torque is not None
        outcome.error("currents: mass [%]", 100 * abs(by_torque.mass / true["mass"] - 1))
        outcome.checks.append(Check("currents: mass", (by_torque.mass - true["mass"]) / by_torque.std.mass))
    rng = np.random.default_rng([seed, 13])
    off = 1.0 + GAINS_OFF * (rng.uniform(-1, 1) + rng.uniform(-1, 1, len(robot.joints)))
    unsure = _weighed(recording, replace(robot, gain=robot.gain * off), gain_spread=GAINS_OFF / np.sqrt(3))
    again = [pickup.by_joints for pickup in unsure.pickups if pickup.t_pick is not None]
    for told, true in zip(again[:MOVED], truth["payloads"], strict=False):
        assert told is not None
        outcome.checks.append(Check("gains off: mass", (told.mass - true["mass"]) / told.std.mass))
    return outcome


def _weighed(recording: Recording, robot: Robot, gain_spread: float | None = None) -> Weighed:
    """Every pick-up, also by joint currents, with the arm identified in the same session."""
    arm = fit(robot, Dataset.from_recording(recording, robot, "identification"))
    return weigh_recording(recording, robot=robot, arm=ArmModel.of(arm, "this session", gain_spread))


def _after(pickup: Pickup, seconds: float) -> PayloadEstimate:
    """What was known so long after the pick-up."""
    assert pickup.t_pick is not None
    return [e.estimate for e in pickup.estimates if e.time - pickup.t_pick <= seconds][-1]


def _judge(prefix: str, told: PayloadEstimate, true: dict[str, Any], outcome: Outcome) -> None:
    """Everything that has an interval."""
    pairs = {
        "mass": (told.mass - true["mass"], told.std.mass),
        "com": (told.com - true["com"], told.std.com),
        "inertia": (
            (told.inertia - true["inertia"])[np.triu_indices(3)],
            told.std.inertia[np.triu_indices(3)],
        ),
    }
    for name, (off, std) in pairs.items():
        sigmas = np.atleast_1d(np.asarray(off) / np.asarray(std))[np.isfinite(np.atleast_1d(std))]
        outcome.checks += [Check(prefix + name, float(z)) for z in sigmas]


def _expect_untold(where: str, told: PayloadEstimate, outcome: Outcome) -> None:
    """A motion that cannot tell the inertia is said to be one."""
    if "inertia" not in told.prior_dominated:
        outcome.broken.append(f"{where}: the inertia is called measured")


def _largest_moment(true: dict[str, Any]) -> float:
    com = np.array(true["com"])
    about = np.array(true["inertia"]) - true["mass"] * (com @ com * np.eye(3) - np.outer(com, com))
    return float(np.linalg.eigvalsh(about)[-1])


def tell(pickups: int, first: int, workers: int, keep: Path | None = None) -> bool:
    """Record and judge so many pick-ups, from the seed `first` on; True if every bound holds."""
    return table(list(run(pickups, first, workers, keep)))


def table(outcomes: list[Outcome]) -> bool:
    """All that was found. Of few numbers the share may be as much off as chance is."""
    pickups = sum(outcome.pickups for outcome in outcomes)
    good = True
    write(f"\npayload: {pickups} pick-ups with the wrist's motion, {len(outcomes)} in slow motion\n")
    write(f"{'':<18} {'95 % intervals':>15} {'of':>5} {'rms z':>7} {'mean z':>7} {'largest z':>10}\n")
    groups: dict[str, list[float]] = {}
    for check in (check for outcome in outcomes for check in outcome.checks):
        groups.setdefault(check.group, []).append(check.off)
    for name, offs in sorted(groups.items()):
        z = np.array(offs)
        inside = float(np.mean(np.abs(z) <= 1.96))
        count = len(outcomes) if name.startswith("gains off") else len(z)  # a session has one draw of gains
        chance = 3 * np.sqrt(0.05 * 0.95 / count) if count < 100 else 0.0
        most = 0.99 + chance if name in TWO_SIDED else 1.0
        ok = 0.9 - chance <= inside <= most
        good &= ok
        write(
            f"{name:<18} {100 * inside:>13.1f} % {len(z):>5} {np.sqrt(np.mean(z**2)):>7.2f} {z.mean():>7.2f} "
            f"{np.abs(z).max():>10.1f}   {'ok' if ok else 'MISSED'}\n"
        )
    for name, bound in BOUNDS.items():
        values = np.array([value for outcome in outcomes for value in outcome.errors.get(name, [])])
        good &= bool(values.max() < bound)
        verdict = "ok" if values.max() < bound else "MISSED"
        write(
            f"{name:<22} median {np.median(values):.3f}, largest of {len(values)}: {values.max():.3f} "
            f"(below {bound:g})   {verdict}\n"
        )
    for line in (line for outcome in outcomes for line in outcome.broken):
        write(f"{line}   MISSED\n")
        good = False
    return good


def sessions_of(pickups: int) -> int:
    """How many sessions yield so many pick-ups with motion."""
    return -(-pickups // MOVED)


def run(pickups: int, first: int, workers: int, keep: Path | None = None) -> Iterator[Outcome]:
    """As many sessions as it takes, in as many processes."""
    count = sessions_of(pickups)
    with ProcessPoolExecutor(workers) as pool:
        seeds = range(first, first + count)
        for k, outcome in enumerate(pool.map(session, seeds, [keep] * count), start=1):
            sys.stderr.write(f"\rpayload: {k} of {count} sessions")
            yield outcome
    sys.stderr.write("\n")
