"""Large robots: time and memory of a whole identification, growth with the number of links, errors and coverage.

    python benchmarks/large.py [speed] [links] [kernel] [table] [coverage] [--seeds 12] [--method sdp ...] [--each]

`speed`: the humanoid (33 links), 60 s at 200 Hz, crane and both ankles measured, no joint torques; the whole `fit` at
level full, each method in a process of its own, with its peak memory. `links`: free trees of 7, 14, 33 and 66 links;
the solver's time and the whole. `kernel`: rows of a floating base against those of a fixed one, per link. `table`:
relative errors of mass, centre of mass and inertia by method, medians of the links or with `--each` link by link.
`coverage`: how often 95 % intervals of masses, centres and principal moments hold the truth, with files that are off by
the stated spread (one that is off by less is covered always, see `coverage.py`).

The exit code is 1 where a bound is missed: times and memory; solvers that grow nearly as the cube of the links;
what docs/large-robots.md says of the methods of the table (`missed`); intervals that hold less than 90 or more than
99 %.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
from floating import HUMANOID, RATE_HZ, Array, Motion, drawn, recorded, swing, tree_file
from robot_files import about

from heft.identify import Dataset, Robot, fit
from heft.identify.bodies.consistency import Consistency, consistency_of_links
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.screw_entries import LANES
from heft.identify.data import Processing
from heft.identify.data.rows import BLOCK
from heft.identify.result import Parameters, Result
from heft.identify.result.parameter_values import LinkParameters

SENSORS = ("crane", "left_ankle", "right_ankle")
MOST_S, MOST_MB = 10.0, 1000.0
KERNEL = 1.5
POWER = 2.8  # of the links, with which a solver's time grows from 14 to 66: below a dense one's 3
SAME = 0.05  # of an error on the fit: with and without the prior
LINKS = (7, 14, 33, 66)
METHODS: dict[str, tuple[str, Literal["none"] | None]] = {  # estimator and prior
    "ols": ("ols", None),
    "closest": ("closest", None),
    "masspoint": ("masspoint", None),
    "masspoint, no prior": ("masspoint", "none"),
    "sdp": ("sdp", None),
    "manifold": ("manifold", None),
}
write = sys.stdout.write


def fitted(robot: Robot, data: Dataset, method: str, cutoff_hz: float | None = None) -> Result:
    name, prior = METHODS[method]
    return fit(robot, data, name, cutoff_hz=cutoff_hz, prior=prior)


def humanoid(
    seed: int, seconds: float, method: str, usual: bool = False
) -> tuple[Robot, Array, Result, float]:
    """The humanoid, its true links, what a method finds, and how long that takes [s].

    usual   the file is off by the spread that files usually have, instead of less
    """
    robot = Robot.load(HUMANOID)
    truth = drawn(robot, seed)
    if usual:
        robot = about(robot, np.pad(truth, (0, len(robot.parameter_names) - len(truth))), seed)
    data = recorded(robot, swing(robot, seconds, seed), truth, SENSORS, seed)
    started = time.perf_counter()
    result = fitted(robot, data, method)
    return robot, truth, result, time.perf_counter() - started


def one_speed(method: str) -> None:
    """In a process of its own: time and memory as JSON."""
    robot = Robot.load(HUMANOID)
    truth = drawn(robot, 0)
    data = recorded(robot, swing(robot, 60.0, 0), truth, SENSORS, 0)
    fit(robot, data.between(0.0, 10.0), "ols", cutoff_hz=8.0)  # compiled code is read from its cache
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    started = time.perf_counter()
    result = fitted(robot, data, method)
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found = {"seconds": took, "before_mb": before, "peak_mb": peak, "consistent": result.consistency().ok}
    write(json.dumps(found) + "\n")


def speed(methods: list[str]) -> bool:
    good = True
    for method in methods:
        done = subprocess.run(
            [sys.executable, __file__, "--one", method], check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        ok = found["seconds"] <= MOST_S and found["peak_mb"] <= MOST_MB
        write(
            f"33 links, 60 s at 200 Hz, {method:<20} {found['seconds']:6.2f} s, peak {found['peak_mb']:.0f} MB "
            f"(bounds {MOST_S:g} s, {MOST_MB:g} MB), consistent {found['consistent']}: {'ok' if ok else 'MISSED'}\n"
        )
        good &= ok
    return good


def growth(methods: list[str]) -> bool:
    times: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for links in LINKS:
        with tempfile.TemporaryDirectory() as folder:
            robot = Robot.from_mjcf(tree_file(links, Path(folder) / "tree.xml"), imu={"imu": "imu"})
        data = recorded(robot, swing(robot, 30.0, 0), drawn(robot, 0), ("base",), 0)
        for method in methods:
            spent: list[float] = []
            name = METHODS[method][0]
            module = import_module(f"heft.identify.estimation.estimators.{name}")
            solver = getattr(module, name)

            def timed(
                *arguments: Any, solver: Any = solver, spent: list[float] = spent, **options: Any
            ) -> Any:
                started = time.perf_counter()
                answer = solver(*arguments, **options)
                spent.append(time.perf_counter() - started)
                return answer

            started = time.perf_counter()
            with mock.patch.object(module, name, wraps(solver)(timed)):
                fitted(robot, data, method, cutoff_hz=8.0)
            times[method].append((sum(spent), time.perf_counter() - started))
    good = True
    for method, found in times.items():
        told = ", ".join(f"{n}: {s:.2f} of {w:.2f} s" for n, (s, w) in zip(LINKS, found, strict=True))
        power = np.log(found[-1][0] / found[1][0]) / np.log(LINKS[-1] / LINKS[1])
        good &= bool(power <= POWER)
        write(
            f"solver of whole by links, {method:<12} {told}; grows with the power {power:.1f} of the links "
            f"(bound {POWER:g}): {'ok' if power <= POWER else 'MISSED'}\n"
        )
    return good


def kernel() -> bool:
    """Rows of the humanoid with its base free, and of the same with its trunk fixed, per link.

    By themselves, which the bound is for: one sample of each block is kept, since keeping all would measure how fast
    memory is handed out. And as a fit has them, low-passed and decimated, which costs by the entry. A free base adds
    six equations that every link is part of, whatever its place in the tree: 42 entries (four in each force, ten in
    each moment) to the ten of each joint above it.
    """
    humanoid = Robot.load(HUMANOID)
    text = HUMANOID.with_suffix(".xml").read_text().replace('<freejoint name="root"/>', "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fixed.xml"
        path.write_text(text)
        robots = {
            "fixed": Robot.from_mjcf(path),
            "free": humanoid.measuring(("joints", "base")),
            "base equations alone": humanoid.measuring(("base",)),
        }
    motion = swing(humanoid, BLOCK / RATE_HZ, 0)
    processing = Processing(cutoff_hz=8.0)
    filters = {
        "rows": (np.ones(1), LANES),
        "filtered rows": (processing.taps(RATE_HZ), processing.decimation(RATE_HZ)),
    }
    widths = {name: one.regressor.layout.width / len(one.links) for name, one in robots.items()}
    ratios = {}
    for what, (taps, step) in filters.items():
        times = dict.fromkeys(robots, np.inf)
        for _ in range(25):  # in turns, the best of each
            for name, robot in robots.items():
                times[name] = min(times[name], _seconds_per_link(robot, motion, taps, step))
        for name, width in widths.items():
            made, filtering = products(robots[name], taps, step)
            write(
                f"kernel, {what}, {name}: {times[name] / BLOCK * 1e9:.0f} ns per link and sample, {width:.0f} entries, "
                f"{made + filtering:.0f} products ({made:.0f} to make them, {filtering:.0f} to filter them)\n"
            )
        ratios[what] = times["free"] / times["fixed"]
    write(
        f"kernel, floating over fixed, per link: {ratios['rows']:.2f} (bound {KERNEL:g}); filtered "
        f"{ratios['filtered rows']:.2f}, with {widths['free'] / widths['fixed']:.2f} times the entries: "
        f"{'ok' if ratios['rows'] <= KERNEL else 'MISSED'}\n"
    )
    return ratios["rows"] <= KERNEL


def _seconds_per_link(robot: Robot, motion: Motion, taps: Array, step: int) -> float:
    """Processor time of `motion`'s rows per link [s]: other programs have no part in it."""
    q, dq, ddq, root = (np.ascontiguousarray(one.T) for one in (motion.q, motion.dq, motion.ddq, motion.root))
    measured = np.zeros((robot.regressor.layout.count, q.shape[1]))
    out = np.full((q.shape[1] // step, robot.regressor.layout.width), 0.0)  # memory that is at hand
    moved = root if robot.tree.free else None
    started = time.thread_time()
    robot.regressor.decimate(q, dq, ddq, measured, taps, step, 0, out, None, moved)
    return (time.thread_time() - started) / len(robot.links)


def products(robot: Robot, taps: Array, step: int) -> tuple[float, float]:
    """Multiplications per link and sample, as the kernel's functions have them: of the rows, and of their filter."""
    layout = robot.regressor.layout
    cuts = len(layout.passed[0]) + len(layout.roots)
    motion = len(robot.joints) * (24 + 4 * 12 + 30 + 6)  # pose, two motion vectors carried, joint, body
    rows = motion + len(layout.pairs[0]) * (24 + 51) + cuts * (36 + 3 * 21 + 3 * 38)
    return rows / len(robot.links), layout.width * (LANES + len(taps)) / step / len(robot.links)


def errors(robot: Robot, truth: Array, values: Array) -> Array:
    """Relative errors of mass, centre of mass (to the link's half length) and inertia of each link, (links, 3)."""
    found = []
    for one, other in zip(_links(robot, values[: len(truth)]), _links(robot, truth), strict=True):
        half = np.linalg.norm(np.ptp(robot.extents[one.name], axis=0)) / 2
        about = np.linalg.norm(one.inertia_com - other.inertia_com) / np.linalg.norm(other.inertia_com)
        found.append([abs(one.mass / other.mass - 1), np.linalg.norm(one.com - other.com) / half, about])
    return np.array(found)


def _links(robot: Robot, numbers: Array) -> tuple[LinkParameters, ...]:
    """The links that have these ten numbers each, (10 links,)."""
    layout = Layout(robot.parameter_names)
    return Parameters(layout, np.pad(numbers, (0, len(layout) - len(numbers)))).links


@dataclass(frozen=True)
class Row:
    """Of a method: the links' median errors (3,), links that cannot exist, torque errors on the fit and unseen."""

    method: str
    errors: Array
    bad: int
    seen: float
    unseen: float


def missed(rows: list[Row], file: Array) -> list[str]:
    """What docs/large-robots.md says of the methods, and does not hold of these; `file`: errors of the file (3,)."""
    found, out = {row.method: row for row in rows}, []
    for row in rows:
        plain = row.method in ("ols", "closest")
        if plain == (row.bad == 0):
            out.append(f"{row.method}: {row.bad} links that cannot exist")
        if not plain and "ols" in found and row.unseen >= found["ols"].unseen:
            out.append(f"{row.method}: no better than ols on unseen motion")
        if row.method in ("sdp", "manifold") and np.any(row.errors >= file):
            out.append(f"{row.method}: no nearer to the truth than the file")
        if row.method == "masspoint" and row.errors[0] >= file[0]:
            out.append(f"{row.method}: masses no nearer to the truth than the file")
    pair = [found[name] for name in ("masspoint", "masspoint, no prior") if name in found]
    if len(pair) == 2 and abs(pair[0].seen / pair[1].seen - 1) > SAME:
        out.append("masspoint: the prior changes the error on the fit")
    return out


def table(methods: list[str], each: bool, seconds: float = 60.0) -> bool:
    robot = Robot.load(HUMANOID)
    truth = drawn(robot, 0)
    assert robot.prior is not None
    by_link = {"the file": errors(robot, truth, robot.prior)}
    held = recorded(robot, swing(robot, 30.0, 77), truth, SENSORS, 77)
    rows: list[Row] = []
    for method in methods:
        result = humanoid(0, seconds, method)[2]
        by_link[method] = errors(robot, truth, result.parameters.values)
        bad = sum(not one.ok for one in link_levels(result))
        seen, unseen = result.fit.total, result.relative_error(held).total
        rows.append(Row(method, np.median(by_link[method], axis=0), bad, seen, unseen))
    write(
        "| method | mass | centre of mass | inertia | links that cannot exist | error, fit | error, unseen motion |\n"
    )
    write("|---|---|---|---|---|---|---|\n")
    file = np.median(by_link["the file"], axis=0)
    write(f"| the file | {file[0]:.1%} | {file[1]:.1%} | {file[2]:.1%} | | | |\n")
    for row in rows:
        mass, com, inertia = row.errors
        write(
            f"| `{row.method}` | {mass:.1%} | {com:.1%} | {inertia:.1%} | {row.bad} | {row.seen:.2%} | "
            f"{row.unseen:.2%} |\n"
        )
    if each:
        write(f"\n| link | {' | '.join(by_link)} |\n|{'---|' * (1 + len(by_link))}\n")
        for k, link in enumerate(robot.links):
            cells = (" / ".join(f"{100 * error:.0f}" for error in three[k]) for three in by_link.values())
            write(f"| {link} | {' | '.join(cells)} |\n")
    wrong = missed(rows, file)
    write("".join(f"MISSED: {line}\n" for line in wrong))
    return not wrong


def link_levels(result: Result) -> list[Consistency]:
    """Consistency of each link by itself."""
    return [
        consistency_of_links({link.name: link.ten}, "full", {}, {link.name: 0.2})
        for link in result.parameters.links
    ]


def coverage(methods: list[str], seeds: int, seconds: float = 30.0) -> bool:
    good = True
    for method in methods:
        inside: dict[str, list[bool]] = {}
        for seed in range(seeds):
            robot, truth, result, _ = humanoid(seed, seconds, method, usual=True)
            for link in _links(robot, truth):
                moments = link.principal_moments
                values = {"mass": link.mass, **{f"com.{a}": v for a, v in zip("xyz", link.com, strict=True)}}
                values |= {f"principal_moments.{k}": v for k, v in enumerate(moments, start=1)}
                for name, value in values.items():
                    interval = result.intervals[f"{link.name}.{name}"]
                    held = bool(interval.low <= value <= interval.high)
                    inside.setdefault(name.partition(".")[0], []).append(held)
        every = [one for held in inside.values() for one in held]
        share = float(np.mean(every))
        good &= 0.90 <= share <= 0.99
        each = ", ".join(f"{name} {np.mean(held):.1%}" for name, held in inside.items())
        write(
            f"95 % intervals of {method} hold {share:.1%} of {len(every)} true values ({each}), {seeds} seeds "
            f"(90 to 99 %): {'ok' if 0.90 <= share <= 0.99 else 'MISSED'}\n"
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", default=["speed", "links", "kernel", "table", "coverage"])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--method", nargs="*", choices=METHODS, default=None)
    parser.add_argument("--each", action="store_true", help="table: every link, mass / centre / inertia [%%]")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one_speed(arguments.one)
        return 0
    solvers = arguments.method or ["sdp", "masspoint", "manifold"]
    work = {
        "speed": lambda: speed(solvers),
        "links": lambda: growth(solvers),
        "kernel": kernel,
        "table": lambda: table(arguments.method or list(METHODS), arguments.each),
        "coverage": lambda: coverage(solvers, arguments.seeds),
    }
    done = [work[part]() for part in arguments.parts]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
