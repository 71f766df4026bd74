"""Do intervals hold what they promise? Seeded sessions on simulated rigs against their truth.

    python benchmarks/coverage.py [--sessions 100] [--rigs sim_wam7 sim_wam7_lossy sim_panda payload] [--workers 2]
                                  [--keep FOLDER] [--file drawn spread thin heavy shifted all]

Every session is recorded by the real acquisition, identified by the real code, and compared with what the simulation
says is true; recordings are deleted, or with `--keep` stored as FOLDER/RIG/SEED and found there the next time (most of
the time goes into them). Beside it, the same data as peers treat them: all streams alike in time (no delay;
that clocks have been fitted is a gift), least squares, and standard deviations as if every filtered sample were
independent. `--file` says what is known beforehand: a file that the truth was `drawn` from, with its spread; or, with
the usual spread, one that is off by as much as that `spread` says, or one whose links are thin cylinders, whose masses
are off by up to 50 %, whose centres of mass are off by 5 cm, or with `all` of this. Exit code 1 where a bound is
missed; with fewer than 100 sessions bounds are as much wider as chance is.

Bounds are those of a class of quantities, 90 to 99 %. Where the data do not decide, an interval is as wide as the
stated spread. It holds the truth in 95 % of cases only if files are off by that spread: one that is off by less is
covered always, which says nothing of the interval. With `drawn` and `spread` the file's errors are drawn from the
spread, and every rig has both bounds. With the others they are not: then every rig has the lower bound, and all rigs
of a run together have both.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import payload_coverage
from robot_files import FILES, about, mistaken
from scipy.stats import binom

from heft.daq.config.session import load_session
from heft.identify import Dataset, Processing, Robot, base_parameters, fit
from heft.identify.bodies.parameters import Layout
from heft.identify.data import choose_cutoff, filtered_rows
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.prior import prior_of
from heft.identify.estimation.problem import Bounds, Problem
from heft.identify.information.fit_data import FitData
from heft.identify.payload.bare_hand.hand_alone import hand_alone, wrenches_alone
from heft.identify.result.parameter_values import Parameters
from heft.identify.robot import PriorSpread
from heft.main import main as heft

CONFIGS = Path(__file__).parents[1] / "configs"
SESSIONS = {
    "sim_wam7": "wam7_excitation",
    "sim_wam7_lossy": "wam7_excitation",
    "sim_panda": "panda_excitation",
}
LINKS = "with the prior"
LEAST, MOST = 0.9, 0.99
DRAWN = ("drawn", "spread")  # files whose errors are drawn from the spread
CLASSES = ("base parameters", "friction", "delays", "wrench rows", LINKS)
write = sys.stdout.write


@dataclass(frozen=True)
class Check:
    """One quantity of one session: how far off in standard deviations, and whether its 95 % interval has the truth.

    `dominated`: the data narrow what the prior says by less than 30 %.
    """

    group: str
    name: str
    off: float
    inside: bool
    dominated: bool = False


@dataclass(frozen=True)
class Outcome:
    """One session: our checks, those of the peers' treatment, held-out error over noise floor, delay errors.

    `expected` is what the result's own covariance makes of that error: the validation may ask for what the fit's motion
    has shown little of.
    """

    ours: list[Check]
    peers: list[Check]
    floor: list[float]
    expected: list[float] = field(default_factory=list)
    delays: list[dict[str, float]] = field(default_factory=list)
    failure: str = ""


def session(rig: str, seed: int, keep: Path | None = None, file: str = "drawn") -> Outcome:
    """Record, unless it is at hand, identify, compare."""
    with tempfile.TemporaryDirectory(prefix="heft-coverage-") as name:
        folder = Path(name) if keep is None else keep / rig / str(seed)
        plan = folder / "session.yaml"
        if not (folder / "out").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            fresh = Path(name) / "fresh"
            if failure := recorded(rig, seed, plan, fresh):
                return Outcome([], [], [], failure=f"{rig} seed {seed}: {failure}")
            shutil.copytree(fresh, folder / "out")
        recording = next((folder / "out").glob("*.mcap"))
        truth = json.loads(next((folder / "out").glob("*.truth.json")).read_text(encoding="utf-8"))
        spread = load_session(plan).rig.simulation.perturbation
        return compared(recording, truth, PriorSpread(**spread.model_dump()), file, seed)


def recorded(rig: str, seed: int, plan: Path, out: Path) -> str:
    """Write the plan of a session on this rig and record it; what went wrong, or nothing."""
    ready = CONFIGS / "sessions" / f"{SESSIONS[rig]}.yaml"
    own = load_session(ready).rig.path.name
    text = ready.read_text(encoding="utf-8").replace(
        f"rig: ../rigs/{own}", f"rig: {CONFIGS / 'rigs' / rig}.yaml"
    )
    text = text.replace("design: ", f"design: {ready.parent}/")
    plan.write_text(text, encoding="utf-8")
    told = io.StringIO()
    arguments = ["run", str(plan), "--speed", "max", "--seed", str(seed), "--no-identify", "--out", str(out)]
    with redirect_stdout(told), redirect_stderr(told):
        code = heft(arguments)
    return f"exit code {code}: {told.getvalue()[-300:]}" if code else ""


def compared(recorded: Path, truth: dict[str, Any], spread: PriorSpread, file: str, seed: int) -> Outcome:
    """Both treatments of one recording against the truth, which was drawn with this spread about the prior."""
    from heft.daq.recording import Recording
    from heft.identify.data.recorded_robot import robot_of

    recording = Recording.open(recorded)
    robot = robot_of(recording)
    layout = Layout(robot.parameter_names)
    true = np.array([truth["parameters"][name] for name in layout.names])
    if file == "drawn":
        robot = replace(robot, spread=spread)
    else:
        robot = about(robot, true, seed) if file == "spread" else mistaken(robot, file, seed)
    data = Dataset.from_recording(recording, robot, "identification")
    unseen = Dataset.from_recording(recording, robot, "validation")
    result = fit(robot, data, validate=unseen)
    base = base_parameters(robot)
    ours = [
        Check("friction" if name.startswith("joint") else "base parameters", name, *_judge(value - goal, std))
        for name, value, goal, std in zip(
            base.names, result.base.values, base.matrix @ true, result.base.std, strict=True
        )
    ]
    delays = []
    for stream, delay in result.delays.items():
        off = delay.value_s - (truth["delays"][stream] - truth["delays"][delay.against])
        ours.append(
            Check("delays", stream, off / delay.std_s, delay.low_s <= delay.value_s - off <= delay.high_s)
        )
        step = float(np.median(np.diff(data.t)))
        delays.append({"error_s": off, "std_s": delay.std_s, "bound_s": max(0.1 * step, 3 * delay.std_s)})
    goals = dict(_quantities(layout, true, truth.get("hand")))
    for name, interval in result.intervals.items():
        if name in goals:
            group = "wrench rows" if name.startswith("hand") else LINKS
            inside = interval.low <= goals[name] <= interval.high
            off = (interval.value - goals[name]) / interval.std
            ours.append(Check(group, name, off, inside, interval.prior_dominated))
    assert result.validation is not None
    sensor = truth["sensors"][data.torque_stream]
    scale = np.abs(robot.gear * robot.torque_constant)
    noise = scale * np.sqrt(np.array(sensor["noise"]) ** 2 + np.array(sensor["resolution"]) ** 2 / 12)
    floor = noise * np.linalg.norm(result.processing.taps(1 / np.median(np.diff(data.t))))
    return Outcome(
        ours,
        list(_as_peers(robot, data, base.matrix @ true, goals)),
        (result.validation.rms / floor).tolist(),
        np.sqrt(1 + (result.predict(unseen).std ** 2).mean(axis=0) / floor**2).tolist(),
        delays,
    )


def _quantities(layout: Layout, true: np.ndarray, hand: dict[str, Any] | None) -> Iterator[tuple[str, float]]:
    for link in Parameters(layout, true).links:
        yield f"{link.name}.mass", link.mass
        yield from ((f"{link.name}.com.{axis}", float(c)) for axis, c in zip("xyz", link.com, strict=True))
        yield from (
            (f"{link.name}.principal_moments.{k + 1}", float(m)) for k, m in enumerate(link.principal_moments)
        )
    yield "total_mass", sum(link.mass for link in Parameters(layout, true).links)
    if hand is not None:
        yield "hand.mass", hand["mass"]
        yield from ((f"hand.com.{axis}", c) for axis, c in zip("xyz", hand["com"], strict=True))
        tensor = np.array(hand["inertia"])
        for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
            yield f"hand.inertia.{'xyz'[i]}{'xyz'[j]}", float(tensor[i, j])


def _judge(off: float, std: float) -> tuple[float, bool]:
    return float(off / std), bool(abs(off) <= 1.96 * std)


def _as_peers(robot: Robot, data: Dataset, goal: np.ndarray, goals: dict[str, float]) -> Iterator[Check]:
    """No delay; least squares; residuals of all samples, filtered as they are, taken for independent."""
    processing = Processing(choose_cutoff(data))
    source = FitData.of(robot, [data], processing)
    problem = Problem(
        source.reduced()[0], base_parameters(robot), Layout(robot.parameter_names),
        prior=prior_of(robot, None), boxes=robot.boxes, bounds=Bounds(),
    )  # fmt: skip
    answer = estimate(problem, "wls")
    samples = processing.decimation(1 / source.surveys[0].sampling.step_s)
    std = np.sqrt(np.diag(answer.covariance) / samples)
    for name, value, true, s in zip(problem.base.names, answer.base, goal, std, strict=True):
        yield Check(
            "friction" if name.startswith("joint") else "base parameters", name, *_judge(value - true, s)
        )
    if data.wrench is None or robot.sensor is None:
        return
    alone = hand_alone(robot)
    survey = wrenches_alone(source.surveys[0])
    blocks = list(filtered_rows(alone, survey.data, processing, survey))
    layout = alone.regressor.layout
    known = np.concatenate([block.keep[:, -6:] for block in blocks])
    table = np.concatenate([block.table for block in blocks])
    design, wrench = np.zeros((len(table), 6, 16)), np.zeros((len(table), 6))
    for k in range(6):
        part = table[:, layout.row(len(robot.joints) + k)]
        width = layout.per_body(len(robot.joints) + k)
        design[:, k, :width], design[:, k, 10 + k], wrench[:, k] = part[:, :width], 1.0, part[:, -1]
    design, wrench = design[known[:, 0]], wrench[known[:, 0]]
    size = np.ones(6)
    for _ in range(3):
        X, y = (design / size[None, :, None]).reshape(-1, 16), (wrench / size).ravel()
        theta = np.linalg.lstsq(X, y, rcond=None)[0]
        size = np.sqrt(((wrench - design @ theta) ** 2).mean(axis=0))
    std = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) / samples)
    names = ["mass", None, None, None, *(f"inertia.{pair}" for pair in ("xx", "xy", "yy", "xz", "yz", "zz"))]
    for name, value, s in zip(names, theta, std, strict=False):
        if name is not None and f"hand.{name}" in goals:
            yield Check("wrench rows", f"hand.{name}", *_judge(value - goals[f"hand.{name}"], s))


def _chance(count: int) -> float:
    """By how much bounds of so many sessions are wider."""
    return float(3 * np.sqrt(0.05 * 0.95 / count)) if count < 100 else 0.0


def tell(rig: str, outcomes: list[Outcome], file: str = "drawn", alone: bool = True) -> bool:
    """The table of one rig; True if every bound holds.

    A wrong file is wrong in the same way in every session: then only the pooled share has a bound, and unless this rig
    is `alone` only the lower one.
    """
    count = len(outcomes)
    chance, most = _chance(count), MOST if alone or file in DRAWN else 1.0
    good = True
    write(f"\n{rig}, file {file}: {count} sessions\n")
    write(
        f"{'':<18} {'95 % intervals':>15} {'rms z':>7} {'worst single':>34} {'beyond 4 sigma':>15}   "
        "as peers do: inside, rms z\n"
    )
    for group in CLASSES:
        ours = [check for outcome in outcomes for check in outcome.ours if check.group == group]
        theirs = [check for outcome in outcomes for check in outcome.peers if check.group == group]
        if not ours:
            continue
        inside = float(np.mean([check.inside for check in ours]))
        names = sorted({check.name for check in ours})
        share = {name: float(np.mean([c.inside for c in ours if c.name == name])) for name in names}
        worst = min(names, key=lambda name: share[name])
        far = float(np.mean([abs(check.off) > 4 for check in ours]))
        # The worst of many: below this, one quantity of a hundred such tables would be, if each covers 90 %.
        least = 0.85 if count >= 100 else float(binom.ppf(0.01 / len(names), count, 0.9)) / count
        ok = LEAST - chance / 2 <= inside <= most + chance / 2 and (
            file != "drawn" or (share[worst] >= least and far <= 0.01 + chance / 10)
        )
        good &= ok
        peers = "-"
        if theirs:
            peers = f"{100 * np.mean([c.inside for c in theirs]):.0f} %, {_rms(theirs):.1f}"
        write(
            f"{group:<18} {100 * inside:>13.1f} % {_rms(ours):>7.2f} {worst.split(' ')[0]:>24} "
            f"{100 * share[worst]:>7.0f} % {100 * far:>13.2f} %   {peers:<20} {'ok' if ok else 'MISSED'}\n"
        )
    _tell_links([check for outcome in outcomes for check in outcome.ours if check.group == LINKS])
    floor = float(np.sqrt(np.mean(np.array([outcome.floor for outcome in outcomes]) ** 2)))
    expected = float(np.sqrt(np.mean(np.array([outcome.expected for outcome in outcomes]) ** 2)))
    delays = [delay for outcome in outcomes for delay in outcome.delays]
    late = sum(abs(delay["error_s"]) > delay["bound_s"] for delay in delays)
    largest = max(abs(delay["error_s"]) for delay in delays)
    good &= floor <= (1.05 + chance / 10) * expected and late <= 0.003 * len(delays) + (
        1 if count < 100 else 0
    )
    write(
        f"held-out torque error over noise floor {floor:.3f} (expected {expected:.3f}, at most 1.05 times that)\n"
    )
    write(
        f"delays: largest error {1e3 * largest:.3f} ms; {late} of {len(delays)} beyond 0.1 sample and 3 sigma\n"
    )
    return bool(good)


def tell_pooled(outcomes: list[Outcome], file: str) -> bool:
    """All rigs together, by class; True if their shares are within the bounds."""
    chance, good = _chance(len(outcomes)), True
    write(f"\nall rigs, file {file}: {len(outcomes)} sessions\n")
    for group in CLASSES:
        checks = [check for outcome in outcomes for check in outcome.ours if check.group == group]
        if not checks:
            continue
        inside = float(np.mean([check.inside for check in checks]))
        ok = LEAST - chance / 2 <= inside <= MOST + chance / 2
        good &= ok
        write(f"{group:<18} {100 * inside:>13.1f} % {_rms(checks):>7.2f} {'ok' if ok else 'MISSED'}\n")
    return good


def _tell_links(checks: list[Check]) -> None:
    """Of the links: where data decide and where the prior does, and by kind of quantity."""
    parts = {
        "by data": [check for check in checks if not check.dominated],
        "prior-dominated": [check for check in checks if check.dominated],
        **{kind: [check for check in checks if kind in check.name] for kind in ("mass", "com", "moments")},
    }
    for name, part in parts.items():
        if part:
            inside = 100 * float(np.mean([check.inside for check in part]))
            write(f"  {name:<16} {inside:>13.1f} % {_rms(part):>7.2f} {len(part):>7} intervals\n")


def _rms(checks: list[Check]) -> float:
    return float(np.sqrt(np.mean([min(abs(check.off), 1e6) ** 2 for check in checks])))


def run(
    rig: str, sessions: int, first: int, workers: int, keep: Path | None = None, file: str = "drawn"
) -> list[Outcome]:
    """All sessions of a rig, in as many processes."""
    found = []
    with ProcessPoolExecutor(workers) as pool:
        seeds = range(first, first + sessions)
        for k, outcome in enumerate(pool.map(partial(session, rig, keep=keep, file=file), seeds), start=1):
            if outcome.failure:
                raise RuntimeError(outcome.failure)
            found.append(outcome)
            sys.stderr.write(f"\r{rig}: {k} of {sessions}")
    sys.stderr.write("\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=100)
    rigs = [*SESSIONS, "payload"]  # `payload`: so many pick-ups, see payload_coverage.py
    parser.add_argument("--rigs", nargs="+", choices=rigs, default=rigs)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--keep", type=Path, help="folder in which recordings stay")
    parser.add_argument(
        "--file",
        nargs="+",
        choices=["drawn", "spread", *FILES],
        default=["drawn"],
        help="what is known beforehand",
    )
    arguments = parser.parse_args()
    good = True
    given = arguments.sessions, arguments.first, arguments.workers, arguments.keep
    alone = len({*arguments.rigs} - {"payload"}) == 1
    pooled: dict[str, list[Outcome]] = {file: [] for file in arguments.file}
    for rig in arguments.rigs:
        if rig == "payload":
            good &= payload_coverage.tell(*given)
            continue
        for file in arguments.file:
            outcomes = run(rig, *given, file)
            good &= tell(rig, outcomes, file, alone)
            pooled[file] += outcomes
    for file, outcomes in pooled.items():
        if outcomes and not alone:
            good &= tell_pooled(outcomes, file)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
