"""Can the verdict be fooled? Healthy sessions and real recordings, with one mistake each.

    python benchmarks/mutations.py [--rigs sim_wam7 sim_panda] [--seeds 1] [--recordings panda ur10 ...] [--only NAME]
                                   [--arms 4 [--first 8]] [--keep FOLDER] [--verbose]

Mistakes: torques times 0.01, 0.5, 1.3, 100 and -1; one joint's torque times 2; a rate that is 2 and 20 times off, in
both directions; joints 2 and 3 exchanged (torques, positions, all columns); degrees for radians; gravity turned by 90
degrees. Printed for each: the grade, where among the reasons the right one stands ("?": not told, but said that it
cannot be known), and the first three; then a table for `docs/verdict.md`. A joint's gain and an exchange are right only
where the joints are named. `--arms`: so many random arms (`random_arms.py`) too. Exit code 1 where a mistake is called
`good`, a healthy simulated session is not, a healthy random arm is `unfit` for a cause, or the right cause is among the
first three reasons in less than 80 % of all.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from random_arms import random_arm
from recordings import RECORDINGS, real_recordings

from heft.daq.recording import Recording
from heft.identify import Dataset, Robot, fit
from heft.identify.data.from_recording import IDENTIFICATION, VALIDATION, datasets_of
from heft.identify.data.recorded_robot import robot_of
from heft.identify.errors import HeftError
from heft.identify.result.verdict import Grade
from heft.main import main as heft

CONFIGS = Path(__file__).parents[1] / "configs"
SESSIONS = {"sim_wam7": "wam7_excitation", "sim_panda": "panda_excitation"}
LEAST_SHARE = 0.8
FIRST = 3
CAUSES = {"torque-scale", "torque-sign", "joint-gain", "time-scale", "joints-exchanged", "position-unit"}
CAUSES |= {"gravity-direction", "too-fast", "too-slow"}
write = sys.stdout.write


@dataclass(frozen=True)
class Case:
    """A robot, what is fitted, what is held back.

    causes    ids of reasons that name the mistake, none if healthy
    named     joints that such a reason must name
    unknown   ids of reasons that say that the mistake could not be known
    """

    name: str
    robot: Robot
    fit: tuple[Dataset, ...]
    unseen: tuple[Dataset, ...]
    causes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The grade ("refused" where there is no result) and the reasons' ids and texts, worst first."""

    case: Case
    grade: Grade | str
    reasons: tuple[tuple[str, str], ...]

    @property
    def place(self) -> int | None:
        """Of the right cause among the reasons, from 1."""
        for place, (name, text) in enumerate(self.reasons, 1):
            said = text.partition(": ")[0]
            if name in self.case.causes and all(joint in said for joint in self.case.named):
                return place
        return None

    @property
    def blamed(self) -> bool:
        """Whether a cause is told at all."""
        return any(name in CAUSES for name, _ in self.reasons)

    @property
    def told(self) -> bool:
        """Whether the right cause is among the first reasons."""
        return self.place is not None and self.place <= FIRST

    @property
    def mark(self) -> str:
        """The place, "?" where it is said that the mistake cannot be known, or "-"."""
        if self.place is not None:
            return str(self.place)
        return "?" if any(name in self.case.unknown for name, _ in self.reasons) else "-"


def mutations(healthy: Case) -> Iterator[Case]:
    """The healthy case, and each mistake made to it."""
    yield healthy
    n = len(healthy.robot.joints)
    mass = ("total-mass", "data-sheet")
    for factor in (0.01, 0.5, 1.3, 100.0):
        made = _made(healthy, f"torque x {factor:g}", ("torque-scale", *mass), tau=np.full(n, factor))
        yield replace(made, unknown=("scale-unknown",))
    yield _made(healthy, "torque negated", ("torque-sign",), tau=np.full(n, -1.0))
    for j in sorted({1, n // 2, n - 2}):
        factors = np.ones(n)
        factors[j] = 2.0
        made = _made(healthy, f"torque of joint {j + 1} x 2", ("joint-gain",), tau=factors)
        yield replace(made, named=(healthy.robot.joints[j],), unknown=("gain-unknown", "scale-unknown"))
    for factor in (2.0, 20.0, 0.5, 0.05):
        made = _made(healthy, f"time x {factor:g}", ("time-scale", "too-fast", "too-slow"), time=factor)
        yield replace(made, unknown=("time-unknown", "scale-unknown"))
    swap = np.arange(n)
    swap[[1, 2]] = 2, 1
    for what in ("torques", "positions", "columns"):
        name = f"{what} of joints 2 and 3 exchanged"
        made = _made(healthy, name, ("joints-exchanged",), swap=swap, what=what)
        yield replace(made, named=healthy.robot.joints[1:3])
    turning = np.where(healthy.robot.tree.prismatic, 1.0, 180 / np.pi)
    yield _made(healthy, "degrees for radians", ("position-unit",), q=turning)
    for axis, name in ((0, "x"), (1, "y")):
        gravity = np.zeros(3)
        gravity[axis] = np.linalg.norm(healthy.robot.gravity)
        robot = replace(healthy.robot, tree=replace(healthy.robot.tree, gravity=gravity))
        turned = replace(healthy, name=f"gravity along {name}", robot=robot, causes=("gravity-direction",))
        yield replace(turned, unknown=("scale-unknown",))


def _made(
    case: Case,
    name: str,
    causes: tuple[str, ...],
    *,
    tau: np.ndarray | float = 1.0,
    q: np.ndarray | float = 1.0,
    time: float = 1.0,
    swap: np.ndarray | None = None,
    what: str = "",
) -> Case:
    """The case with torques and positions times factors, stamps times a factor, and columns exchanged."""

    def changed(data: Dataset) -> Dataset:
        motion = slice(None) if swap is None or what == "torques" else swap
        torque = slice(None) if swap is None or what == "positions" else swap
        dq = None if data.dq is None else np.asarray(data.dq)[:, motion] * q
        return replace(
            data,
            t=data.t * time,
            q=np.asarray(data.q)[:, motion] * q,
            tau=np.asarray(data.tau)[:, torque] * tau,
            dq=dq,
        )

    return replace(
        case,
        name=name,
        fit=tuple(changed(one) for one in case.fit),
        unseen=tuple(changed(one) for one in case.unseen),
        causes=causes,
    )


def judged(case: Case) -> Outcome:
    """The verdict on a case."""
    try:
        verdict = fit(case.robot, case.fit, validate=case.unseen).verdict
    except HeftError as exc:
        ids = tuple((one, str(exc)) for one in case.causes if one in str(exc))
        return Outcome(case, "refused", ids or (("error", str(exc)),))
    return Outcome(case, verdict.grade, tuple((one.id, one.text) for one in verdict.reasons))


def simulated(rig: str, seed: int, keep: Path | None) -> Case:
    """A session of a simulated rig, recorded by the real acquisition."""
    with tempfile.TemporaryDirectory(prefix="heft-mutations-") as name:
        folder = (Path(name) if keep is None else keep / rig / str(seed)) / "out"
        if not folder.is_dir():
            session = CONFIGS / "sessions" / f"{SESSIONS[rig]}.yaml"
            options = ["--speed", "max", "--seed", str(seed), "--no-identify", "--out", str(folder)]
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                code = heft(["run", str(session), *options])
            if code:
                raise SystemExit(f"{rig} seed {seed}: exit code {code}")
        recording = Recording.open(next(folder.glob("*.mcap")))
        robot = robot_of(recording, None)
        seen, unseen = (tuple(datasets_of(recording, robot, use)) for use in (IDENTIFICATION, VALIDATION))
        return Case("healthy", robot, seen, unseen)


def healthy_cases(arguments: argparse.Namespace) -> Iterator[tuple[str, Case]]:
    """What is mutated, by name."""
    for rig in arguments.rigs:
        for seed in range(1, arguments.seeds + 1):
            yield f"{rig} {seed}", simulated(rig, seed, arguments.keep)
    names = tuple(arguments.recordings)
    for one in real_recordings(names) if names else ():
        yield one.name, Case("healthy", one.robot, one.fit, one.unseen)
    for seed in range(arguments.first, arguments.first + arguments.arms):
        arm = random_arm(seed)
        yield arm.name, Case("healthy", arm.robot, (arm.fit,), (arm.unseen,))


def table(outcomes: dict[str, list[Outcome]]) -> str:
    """What was told of each arm, in Markdown."""
    lines = ["| arm | unmutated | told | not told |", "|---|---|---|---|"]
    for name, all_of_it in outcomes.items():
        grade = next((one.grade for one in all_of_it if not one.case.causes), "")
        made = [one for one in all_of_it if one.case.causes]
        missed = ", ".join(f"{one.case.name} ({one.mark})" for one in made if not one.told)
        lines.append(f"| {name} | {grade} | {sum(one.told for one in made)} of {len(made)} | {missed} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rigs", nargs="*", default=["sim_wam7", "sim_panda"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--recordings", nargs="*", default=list(RECORDINGS), choices=list(RECORDINGS))
    parser.add_argument("--arms", type=int, default=0, help="random arms, of several qualities of motion")
    parser.add_argument("--first", type=int, default=0, help="first seed of the random arms")
    parser.add_argument("--only", default="", help="mutations whose name has this")
    parser.add_argument("--keep", type=Path, help="folder for recordings of simulated rigs")
    parser.add_argument("--verbose", action="store_true", help="texts of the first reasons")
    arguments = parser.parse_args()
    outcomes: dict[str, list[Outcome]] = {}
    fooled, found, total = 0, 0, 0
    for name, healthy in healthy_cases(arguments):
        write(f"{name}\n")
        for case in mutations(healthy):
            if arguments.only not in case.name:
                continue
            outcome = judged(case)
            first = ", ".join(one for one, _ in outcome.reasons[:FIRST])
            outcomes.setdefault(name, []).append(outcome)
            write(f"  {case.name:44s} {outcome.grade:8s} {outcome.mark:>2s}  {first}\n")
            if arguments.verbose:
                write("".join(f"      {text}\n" for _, text in outcome.reasons[:FIRST]))
            sys.stdout.flush()
            if case.causes:
                total += 1
                found += outcome.told
                fooled += outcome.grade == "good"
            elif name.startswith("sim_"):
                fooled += outcome.grade != "good"
            elif name.startswith("arm "):
                fooled += outcome.grade == "unfit" and outcome.blamed
    share = found / max(total, 1)
    write(table(outcomes))
    write(f"{fooled} misjudged; the right cause among the first {FIRST} reasons in {found} of {total}\n")
    return int(fooled > 0 or share < LEAST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
