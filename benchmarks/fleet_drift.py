"""Drift in simulated years: how soon planted events are told, how often nothing is taken for something.

    python benchmarks/fleet_drift.py [--seeds 201 202 203] [--every 1] [--calibrate YEARS]

Each seed is a fleet of 20 arms over a year of nightly sessions (`heft fleet simulate`), looked at every so many nights
as if it were that day; seeds below 102 were used for tuning. For their delay, steps of friction are exactly 10 % and
trends exactly 1 % a month (30 nights). Exit code 1 where a bound is missed. `--calibrate` prints how often a series
without events passes a threshold in a year, which the constants of `heft.identify.fleet.change` are read from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heft.daq.config.shipped import CONFIGS
from heft.fleet.actions.simulate import reference_of
from heft.identify.fleet.change import FEWEST, deviates, find_changes, noise_of, thresholds
from heft.identify.fleet.drift import DriftEvent, find_drift
from heft.identify.fleet.series import Series, series_of
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import FIRST_US, NIGHT_US, Months, Reference
from heft.identify.robot import Robot

STEP_SESSIONS, TREND_SESSIONS = 5, 60
FALSE_ALARMS, NAMED = 1.0, 0.8
ARRAYS = ("sessions", "time", "value", "std", "temperature", "load")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def cut(series: Sequence[Series], night: int) -> list[Series]:
    """The series as they stood after a night."""
    found = []
    for one in series:
        n = int(np.searchsorted(one.time, FIRST_US + night * NIGHT_US, side="right"))
        if n:
            parts = {
                name: getattr(one, name)[:n]
                for name in ("sessions", "time", "value", "std", "temperature", "load")
            }
            found.append(replace(one, **parts))
    return found


def affected(event: PlantedEvent, reference: Reference) -> tuple[str, ...]:
    """Quantities that an event moves."""
    joint = reference.joints[event.joint]
    return {
        "wear": (f"{joint}.friction",),
        "gearbox-replaced": (f"{joint}.friction", f"{joint}.offset"),
        "torque-sensor": (f"{joint}.offset",),
    }.get(event.kind, tuple(name for name in reference.names if name.endswith(".mass")))


def delay(reference: Reference, seed: int, kind: str) -> list[int | None]:
    """Sessions until a step of 10 %, or a trend of 1 % a month, of one joint's friction is told, for every arm."""
    rng, most = (
        np.random.default_rng([seed, 7]),
        STEP_SESSIONS if kind == "gearbox-replaced" else TREND_SESSIONS,
    )
    size = 0.1 if kind == "gearbox-replaced" else 0.01
    events = [
        PlantedEvent(f"arm{i:03d}", kind, int(rng.integers(7)), int(rng.integers(120, 270)), size)  # type: ignore[arg-type]
        for i in range(20)
    ]
    months = Months(reference, seed=seed, events=tuple(events))
    series = list(series_of(months.columns()))
    found: list[int | None] = []
    for event in events:
        joint = reference.joints[event.joint]
        own = [one for one in series if one.arm == event.arm]
        (one,) = [one for one in own if one.parameter == f"{joint}.friction"]
        first = int(np.searchsorted(one.time, FIRST_US + event.night * NIGHT_US))
        told = None
        for later in range(2, most + 1):
            if first + later > len(one):
                break
            night = int((one.time[first + later - 1] - FIRST_US) // NIGHT_US)
            # The threshold is that of all the arm's quantities; the others need not be looked at for the delay.
            events_now = _told(cut([one], night), len(own))
            if any(change >= first - (3 if kind == "gearbox-replaced" else 40) for change in events_now):
                told = later
                break
        found.append(told)
    return found


def _told(series: Sequence[Series], quantities: int) -> list[int]:
    """First sessions of the changes that are told."""
    (one,) = series
    y, std = one.scaled
    changes, _ = find_changes(y, std, one.covariates()[1], thresholds(quantities))
    return [change.first for change in changes]


def year(reference: Reference, seed: int, every: int) -> tuple[int, int, int, int]:
    """False alarms, planted events, those that were told by the end, and those whose cause was named right."""
    months = Months(reference, seed=seed)
    series, planted = list(series_of(months.columns())), {event.arm: event for event in months.planted()}
    false: set[tuple[str, str]] = set()
    final: list[DriftEvent] = []
    for night in [*range(FEWEST, months.nights, every), months.nights]:
        final, _ = find_drift(cut(series, night))
        for event in final:
            truth = planted.get(event.arm)
            moved = affected(truth, reference) if truth else ()
            since = 0 if truth is None else FIRST_US + (truth.night - 45) * NIGHT_US
            for one in event.changes:
                if one.parameter not in moved or one.since < since:
                    false.add((event.arm, one.parameter))
    told = named = 0
    for arm, truth in planted.items():
        own = [
            e
            for e in final
            if e.arm == arm and any(c.parameter in affected(truth, reference) for c in e.changes)
        ]
        told += bool(own)
        named += bool(own) and own[0].causes[0].id == truth.kind
    return len(false), len(planted), told, named


def calibrate(years: int) -> None:
    """How often a series without events passes a threshold in a year of looks."""
    rng = np.random.default_rng(11)
    largest: dict[str, list[float]] = {"step": [], "trend": []}
    nights = [*range(FEWEST, 60, 3), *range(60, 366, 7)]
    for _ in range(years):
        warm = 8 * np.sin(2 * np.pi * (np.arange(365) / 365 + rng.random())) + rng.normal(0, 2, 365)
        y, most = rng.normal(0, 0.01, 365), {"step": 0.0, "trend": 0.0}
        for n in nights:
            X = (warm[:n] - warm[:n].mean())[:, None]
            for kind, (_, _, t) in deviates(y[:n], X, noise_of(y[:n], np.full(n, 0.002), X)).items():
                most[kind] = max(most[kind], float(np.abs(t).max(initial=0.0)))
        for kind, one in most.items():
            largest[kind].append(one)
    for kind, found in largest.items():
        for h in (2.5, 3.0, 3.5, 4.0, 4.5, 5.0):
            say(f"{kind} above {h:.1f}: in {np.mean(np.array(found) > h):.4f} of {years} years")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[201, 202, 203])
    parser.add_argument("--every", type=int, default=1, help="nights between two looks for false alarms")
    parser.add_argument("--calibrate", type=int, default=0, metavar="YEARS")
    arguments = parser.parse_args()
    if arguments.calibrate:
        calibrate(arguments.calibrate)
        return 0
    say(
        f"seeds {' '.join(map(str, arguments.seeds))}; a look for false alarms every {arguments.every} night(s)"
    )
    reference = reference_of(Robot.load(CONFIGS / "robots" / "wam7.yaml"))
    ok = True
    for kind, most, what in (
        ("gearbox-replaced", STEP_SESSIONS, "step of 10 % in one joint's friction"),
        ("wear", TREND_SESSIONS, "trend of 1 % a month"),
    ):
        delays = [one for seed in arguments.seeds for one in delay(reference, seed, kind)]
        missed = sum(one is None for one in delays)
        known = sorted(one for one in delays if one is not None)
        late = known[-1] if known else 0
        middle = known[len(known) // 2] if known else 0
        later = f"{missed} of {len(delays)} later than {most}"
        say(f"{what}: told after {middle} sessions (median), {late} at most; {later}")
        ok &= missed <= 0.05 * len(delays)
    totals = np.zeros(4, dtype=np.int64)
    for seed in arguments.seeds:
        counts = year(reference, seed, arguments.every)
        say("seed {}: {} false alarms; {} events planted, {} told, {} named right".format(seed, *counts))
        totals += np.array(counts)
    false, planted, told, named = totals.tolist()
    years = 20 * len(arguments.seeds)
    say(f"false alarms: {false} in {years} robot-years ({false / years:.2f} each, at most {FALSE_ALARMS:g})")
    share = f"{named / planted:.0%}, at least {NAMED:.0%}"
    say(f"planted events: {told} of {planted} told, cause named right for {named} ({share})")
    ok &= false <= FALSE_ALARMS * years and named >= NAMED * planted
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
