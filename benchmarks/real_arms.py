"""Arms that nobody tuned this to: every real recording at hand, by every method.

    python benchmarks/real_arms.py [--recordings panda ur10 ...] [--methods sdp closest ...] [--markdown FILE]

For each recording (`recordings.py`): the error on motion that the fit has not seen, the total mass and the link whose
mass is furthest from the robot's file, the verdict, the cut-off and the time, with everything chosen from the data.
Exit code 1 where the default method misses one of:

- no link is outside a third to three times its file's mass, unless the data demand it at four standard deviations
- the total is within 30 % of the file's, or its interval says so
- the held-out error is at most 1.03 times that of the best method whose links can all exist

Errors are those of the joints that an answer is made from: one whose torque is none is left out by the fit itself
(`unmeasured`), by every method alike, and the line says which. With `--markdown` the table is written as the page that
docs/real-arms.md shows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from recordings import RECORDINGS, RealRecording, real_recordings

from heft.identify import Result, fit
from heft.identify.errors import HeftError
from heft.identify.estimation.estimators import ESTIMATORS

LINK_RATIO, TOTAL_SHARE, BEST_RATIO = 3.0, 0.3, 1.03
DEMANDED = 4.0  # standard deviations
DEFAULT = "sdp"
write = sys.stdout.write


@dataclass(frozen=True)
class Row:
    """One recording by one method; `result` None where the method refused, for `reason`."""

    recording: RealRecording
    method: str
    result: Result | None
    seconds: float
    reason: str = ""

    @property
    def masses(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Of the links, identified and as the file has them [kg]; None without a prior."""
        if self.result is None or self.result.prior is None:
            return None
        first = [self.result.layout.link(link).start for link in self.result.layout.links]
        return self.result.parameters.values[first], self.result.prior[first]

    @property
    def error(self) -> float:
        """On unseen motion, relative."""
        return (
            np.inf if self.result is None or self.result.validation is None else self.result.validation.total
        )


def rows_of(recording: RealRecording, methods: tuple[str, ...]) -> Iterator[Row]:
    """By each method, cut-off and delay as the data say."""
    for method in methods:
        started = time.perf_counter()
        try:
            result = fit(recording.robot, recording.fit, method, validate=recording.unseen)
        except HeftError as exc:
            yield Row(recording, method, None, time.perf_counter() - started, str(exc))
            continue
        yield Row(recording, method, result, time.perf_counter() - started)


def mass_misses(result: Result, masses: np.ndarray, filed: np.ndarray) -> list[str]:
    """Links and total that are far from the file though the data do not say so."""
    found = []
    for link, mass, expected in zip(result.layout.links, masses, filed, strict=True):
        interval, bound = result.intervals[f"{link}.mass"], LINK_RATIO * expected
        beyond = max(expected / LINK_RATIO - mass, mass - bound) / interval.std
        if expected > 0 and 0 < beyond < DEMANDED:
            found.append(
                f"{link} has {mass:.3g} kg, the file {expected:.3g}; not demanded ({beyond:.1f} sigma)"
            )
    total, expected = float(masses.sum()), float(filed.sum())
    low, high = result.intervals["total_mass"].low, result.intervals["total_mass"].high
    if abs(total / expected - 1) > TOTAL_SHARE and not low <= expected <= high:
        found.append(f"total {total:.3g} kg, the file {expected:.3g}, outside [{low:.3g}, {high:.3g}]")
    return found


def misses(rows: list[Row]) -> list[str]:
    """What the default method misses on one recording."""
    default = next((row for row in rows if row.method == DEFAULT), None)
    if default is None:
        return []
    if default.result is None:
        return [f"no answer: {default.reason}"]
    of_mass = [] if default.masses is None else mass_misses(default.result, *default.masses)
    able = [
        row
        for row in rows
        if ESTIMATORS[row.method].feasible and row.result is not None and row.result.consistent
    ]
    best = min(able, key=lambda row: row.error)
    of_error = []
    if default.error > BEST_RATIO * best.error:
        of_error = [f"held-out error {100 * default.error:.2f} %, {best.method} has {100 * best.error:.2f} %"]
    return of_error + of_mass


def line_of(row: Row) -> list[str]:
    """Cells of the table."""
    if row.result is None:
        return [row.recording.name, row.method, "-", "-", "-", "-", "-", f"{row.seconds:.1f}"]
    worst = "-"
    total = f"{row.result.total_mass:.1f}"
    if row.masses is not None:
        mass, filed = row.masses
        ratios = np.where(filed > 0, np.maximum(mass, 1e-9) / np.maximum(filed, 1e-9), 1.0)
        k = int(np.argmax(np.abs(np.log(ratios))))
        worst = f"{row.result.layout.links[k]} {mass[k] / filed[k]:.2f}"
        total += f" / {filed.sum():.1f}"
    return [
        row.recording.name,
        row.method,
        f"{100 * row.error:.2f}",
        total,
        worst,
        ", without ".join([row.result.verdict.grade, *row.result.robot.unmeasured]),
        f"{row.result.processing.cutoff_hz:.1f}",
        f"{row.seconds:.1f}",
    ]


HEAD = [
    "recording",
    "method",
    "unseen [%]",
    "mass / file [kg]",
    "furthest link",
    "verdict",
    "cut-off [Hz]",
    "time [s]",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recordings", nargs="+", choices=list(RECORDINGS), default=list(RECORDINGS))
    parser.add_argument("--methods", nargs="+", choices=list(ESTIMATORS), default=list(ESTIMATORS))
    parser.add_argument("--markdown", type=Path, help="file that the table is written to")
    arguments = parser.parse_args()
    lines, wrong = [], []
    for recording in real_recordings(tuple(arguments.recordings)):
        rows = []
        for row in rows_of(recording, tuple(arguments.methods)):
            rows.append(row)
            lines.append(line_of(row))
            write("  ".join(f"{cell:<16}" for cell in lines[-1]) + "\n")
            sys.stdout.flush()
        wrong += [f"{recording.name}: {what}" for what in misses(rows)]
    for line in wrong:
        write(f"MISSED {line}\n")
    if arguments.markdown is not None:
        table = [HEAD, ["---"] * len(HEAD), *lines]
        arguments.markdown.write_text(
            "".join("| " + " | ".join(line) + " |\n" for line in table), encoding="utf-8"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
