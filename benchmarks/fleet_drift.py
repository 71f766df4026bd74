"""Drift in simulated years: how soon planted events are told, how often nothing is taken for something.

    python benchmarks/fleet_drift.py [--seeds 901 902 903] [--world plain] [--every 1] [--calibrate YEARS]

Each seed is a fleet of 20 arms over a year of nightly sessions (`heft fleet simulate`), looked at every so many nights
as if it were that day; seeds below 102 were used for tuning. For their delay, steps of friction are exactly 10 % and
trends exactly 1 % a month (30 nights). Exit code 1 where a bound is missed. Worlds are harder ones: scatter with heavy
tails, no thermometer in a hall that warms by day, breaks, arms that start late, known loads that change from session to
session, several events of an arm close to each other, and all of these at once. Their events count where there were
sessions enough to tell them: 60 after a trend began, 5 after a step, 3 with a load. `--calibrate` prints how often a
series without events passes a threshold in a year, which the constants of `heft.identify.fleet.change` are read from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heft.daq.config.shipped import CONFIGS
from heft.fleet.actions.simulate import reference_of
from heft.identify.fleet.change import FEWEST, deviates, normal_deviate
from heft.identify.fleet.drift import DriftEvent, find_drift
from heft.identify.fleet.noise import scatter_of
from heft.identify.fleet.series import Series, series_of
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import FIRST_US, NIGHT_US, Climate, Months, Reference
from heft.identify.robot import Robot

STEP_SESSIONS, TREND_SESSIONS, LOAD_SESSIONS = 5, 60, 3
FALSE_ALARMS, NAMED = 1.0, 0.8
#: How far from its night an event may be told to have begun.
STEP_NEAR, TREND_NEAR = 10, 60
#: By how many sessions the beginning may be told too early, for the delay to count.
STEP_EARLY, TREND_EARLY = 3, 40
ARRAYS = ("sessions", "time", "value", "std", "temperature", "load")
WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "heavy-tails": {"climate": Climate(tails=3.0)},
    "no-thermometer": {"climate": Climate(thermometer=False, hour_K=8.0)},
    "breaks": {"missed": 0.3, "breaks": 3},
    "late": {"late": 0.6},
    "loads": {"loads": (0.0, 0.5, 1.0, 2.0)},
    "crowded": {"each": 3},
    "all": {
        "climate": Climate(tails=4.0, thermometer=False, hour_K=8.0),
        "missed": 0.2,
        "breaks": 2,
        "late": 0.4,
        "loads": (0.0, 0.5, 1.0, 2.0),
        "each": 2,
    },
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def cut(series: Sequence[Series], night: int) -> list[Series]:
    """The series as they stood after a night."""
    found = []
    for one in series:
        n = int(np.searchsorted(one.time, FIRST_US + night * NIGHT_US, side="right"))
        if n:
            found.append(replace(one, **{name: getattr(one, name)[:n] for name in ARRAYS}))
    return found


def affected(event: PlantedEvent, reference: Reference) -> tuple[str, ...]:
    """Quantities that an event moves."""
    joint = reference.joints[event.joint]
    return {
        "wear": (f"{joint}.friction",),
        "gearbox-replaced": (f"{joint}.friction", f"{joint}.offset"),
        "torque-sensor": (f"{joint}.offset",),
    }.get(event.kind, tuple(name for name in reference.names if name.endswith(".mass")))


def delay(reference: Reference, seed: int, kind: str, world: dict[str, Any]) -> list[int | None]:
    """Sessions until a step of 10 %, or a trend of 1 % a month, of one joint's friction is told, for every arm.

    Told by all that `heft fleet drift` does with the table of the whole fleet as it stood on that day.
    """
    rng, step = np.random.default_rng([seed, 7]), kind == "gearbox-replaced"
    most, size, near = (STEP_SESSIONS, 0.1, STEP_EARLY) if step else (TREND_SESSIONS, 0.01, TREND_EARLY)
    events = [
        PlantedEvent(f"arm{i:03d}", kind, int(rng.integers(7)), int(rng.integers(120, 270)), size)  # type: ignore[arg-type]
        for i in range(20)
    ]
    months = Months(reference, seed=seed, events=tuple(events), **world)
    series = list(series_of(months.columns()))
    told: dict[str, int | None] = {}
    looks: dict[int, list[tuple[str, str, int, int]]] = {}
    for event in events:
        parameter = f"{reference.joints[event.joint]}.friction"
        (time,) = [one.time for one in series if (one.arm, one.parameter) == (event.arm, parameter)]
        nights = (time - FIRST_US) // NIGHT_US
        first = int(np.searchsorted(nights, event.night))
        if first < FEWEST or first + most > len(nights):
            continue
        told[event.arm] = None
        for later in range(2, most + 1):
            look = (event.arm, parameter, first - near, later)
            looks.setdefault(int(nights[first + later - 1]), []).append(look)
    for night in sorted(looks):
        waiting = [look for look in looks[night] if told[look[0]] is None]
        if not waiting:
            continue
        found, _ = find_drift(cut(series, night))
        for arm, parameter, earliest, later in waiting:
            changes = [one for event in found if event.arm == arm for one in event.changes]
            if any(one.parameter == parameter and one.first >= earliest for one in changes):
                told[arm] = later
    return list(told.values())


def tellable(event: PlantedEvent, nights: np.ndarray[Any, Any]) -> bool:
    """Whether an arm's sessions were enough to tell it."""
    after = int((nights >= event.night).sum())
    if event.kind in ("wear", "torque-sensor"):
        return after >= TREND_SESSIONS
    if event.until >= 0:
        return int(((nights >= event.night) & (nights < event.until)).sum()) >= LOAD_SESSIONS
    return after >= STEP_SESSIONS


def year(
    reference: Reference, seed: int, every: int, world: dict[str, Any], verbose: bool
) -> tuple[float, int, int, int, int]:
    """Robot-years, false alarms, planted events, those that were told by the end, and those named right."""
    months = Months(reference, seed=seed, **world)
    series = list(series_of(months.columns()))
    planted: dict[str, list[PlantedEvent]] = {}
    for event in months.planted():
        planted.setdefault(event.arm, []).append(event)
    false: dict[tuple[str, str], str] = {}
    final: list[DriftEvent] = []
    for night in [*range(FEWEST, months.nights, every), months.nights]:
        final, _ = find_drift(cut(series, night))
        for told in final:
            for one in told.changes:
                causes = [e for e in planted.get(told.arm, []) if one.parameter in affected(e, reference)]
                if not any(one.since >= FIRST_US + (e.night - 45) * NIGHT_US for e in causes):
                    false.setdefault(
                        (told.arm, one.parameter),
                        f"night {night}: {one.text}, z {one.z:.1f}, since {one.session}",
                    )
    if verbose:
        for (arm, _), text in false.items():
            say(f"    false: {arm}: {text}")
    nights = {one.arm: (one.time - FIRST_US) // NIGHT_US for one in series}
    counted = [event for own in planted.values() for event in own if tellable(event, nights[event.arm])]
    told_right = named = 0
    for event in counted:
        first = min(night for night in nights[event.arm] if night >= event.night)
        near = TREND_NEAR if event.kind in ("wear", "torque-sensor") else STEP_NEAR
        own = [
            e
            for e in final
            if e.arm == event.arm
            and any(
                c.parameter in affected(event, reference)
                and abs((c.since - FIRST_US) / NIGHT_US - first) <= near
                for c in e.changes
            )
        ]
        told_right += bool(own)
        right = bool(own) and own[0].causes[0].id == event.kind
        named += right
        if verbose and not right:
            say(f"    {event}: " + ("; ".join(f"{e.text}" for e in own) or "not told"))
    years = sum(float(night[-1] - night[0] + 1) for night in nights.values()) / 365.0
    return years, len(false), len(counted), told_right, named


def scatter(kind: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A year of scatter of variance 1."""
    white = rng.normal(size=365)
    if kind == "heavy-tails":
        return np.asarray(rng.standard_t(3.0, 365) / np.sqrt(3.0))
    if kind == "correlated":
        for t in range(1, 365):
            white[t] = 0.4 * white[t - 1] + np.sqrt(1.0 - 0.4**2) * white[t]
    return white


def calibrate(years: int) -> None:
    """How often a series without events passes a threshold in a year of looks."""
    nights = [*range(FEWEST, 60, 2), *range(60, 366, 4)]
    for world in ("normal", "heavy-tails", "correlated"):
        rng = np.random.default_rng(11)
        largest: dict[str, list[float]] = {"step": [], "trend": []}
        for _ in range(years):
            warm = 8 * np.sin(2 * np.pi * (np.arange(365) / 365 + rng.random())) + rng.normal(0, 2, 365)
            y, most = 0.01 * scatter(world, rng), {"step": 0.0, "trend": 0.0}
            for n in nights:
                X = (warm[:n] - warm[:n].mean())[:, None]
                seen = scatter_of(y[:n], np.full(n, 0.002), X)
                for kind, (_, _, t) in deviates(seen.y, X, seen.noise(), np.arange(float(n))).items():
                    z = abs(normal_deviate(float(np.abs(t).max(initial=0.0)), n, 2))
                    most[kind] = max(most[kind], z)
            for kind, one in most.items():
                largest[kind].append(one)
        for kind, found in largest.items():
            passed = [(h, float(np.mean(np.array(found) > h))) for h in (3.0, 3.5, 4.0, 4.5, 5.0, 5.5)]
            say(f"{world} {kind}: " + ", ".join(f"above {h:g}: {share:.4f}" for h, share in passed))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[901, 902, 903])
    parser.add_argument("--world", choices=list(WORLDS), default="plain")
    parser.add_argument("--every", type=int, default=1, help="nights between two looks for false alarms")
    parser.add_argument("--calibrate", type=int, default=0, metavar="YEARS")
    parser.add_argument("--verbose", action="store_true", help="print each false alarm and each event missed")
    arguments = parser.parse_args()
    if arguments.calibrate:
        calibrate(arguments.calibrate)
        return 0
    world = WORLDS[arguments.world]
    seeds = " ".join(map(str, arguments.seeds))
    say(f"world {arguments.world}, seeds {seeds}; a look for false alarms every {arguments.every} night(s)")
    reference = reference_of(Robot.load(CONFIGS / "robots" / "wam7.yaml"))
    ok = True
    for kind, most, what in (
        ("gearbox-replaced", STEP_SESSIONS, "step of 10 % in one joint's friction"),
        ("wear", TREND_SESSIONS, "trend of 1 % a month"),
    ):
        delays = [one for seed in arguments.seeds for one in delay(reference, seed, kind, world)]
        missed = sum(one is None for one in delays)
        known = sorted(one for one in delays if one is not None)
        late = known[-1] if known else 0
        middle = known[len(known) // 2] if known else 0
        later = f"{missed} of {len(delays)} later than {most}"
        say(f"{what}: told after {middle} sessions (median), {late} at most; {later}")
        ok &= missed <= 0.05 * len(delays)
    years, totals = 0.0, np.zeros(4, dtype=np.int64)
    for seed in arguments.seeds:
        one, *counts = year(reference, seed, arguments.every, world, arguments.verbose)
        say("seed {}: {} false alarms; {} events planted, {} told, {} named right".format(seed, *counts))
        years += one
        totals += np.array(counts)
    false, planted, told, named = totals.tolist()
    say(
        f"false alarms: {false} in {years:.0f} robot-years ({false / years:.2f} each, at most {FALSE_ALARMS:g})"
    )
    share = f"{named / planted:.0%}, at least {NAMED:.0%}"
    say(f"planted events: {told} of {planted} told, cause named right for {named} ({share})")
    ok &= false <= FALSE_ALARMS * years and named >= NAMED * planted
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
