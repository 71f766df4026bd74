"""Drift of a fleet: what has changed on which arm, since when, how sure, and what usually causes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.fleet.causes import Cause, causes_of, place_of
from heft.identify.fleet.change import (
    FEWEST,
    Change,
    ChangeKind,
    event_column,
    false_alarms,
    find_changes,
    smallest_told,
    thresholds,
)
from heft.identify.fleet.noise import Noise, Scatter, scatter_of
from heft.identify.fleet.series import DAY_US, FRICTION, Series
from heft.identify.fleet.shared import with_shared

__all__ = [
    "DriftEvent",
    "DriftOptions",
    "Drifted",
    "SeriesReport",
    "allowances",
    "find_drift",
    "short_series",
]

#: Steps of one arm that are no further apart are one event [days]; of one place of it, a few days more count as the
#: same, and trends begin less sharply.
AT_ONCE, APART, TREND_APART = 1.5, 5, 45
#: Other series of the same quantity and robot say of wander as much as so many, however many they are.
ALIKE = 10.0
#: How the false alarms that an arm may give in a year are shared out: to steps, to trends of friction, and to other
#: trends; each share evenly to the series it is for. Steps that matter stand far out of the scatter within days, and
#: need little; a trend is told the sooner the more it is allowed, and what wears shows in friction.
STEPS, WEAR, TRENDS = 0.3, 0.5, 0.2
#: Sessions within which a step and a trend are to be told, and days of a month.
STEP_SESSIONS, TREND_SESSIONS, MONTH = 5, 60, 30


@dataclass(frozen=True)
class DriftOptions:
    """What is asked.

    rate     false alarms that are expected per arm and year, over all its quantities
    least    changes that are told, as a share of quantities that are looked at by their logarithm; smaller ones are no
             drift, however sure
    """

    rate: float = 0.6
    least: float = 0.01


@dataclass(frozen=True)
class Drifted:
    """One quantity that has changed.

    size    of a step, or of a trend in 30 days, in the series' own scale (logarithm or unit); `now` all of it up to now
    sure    probability that of an arm without a change no series looks like this in a year, each by its own threshold
    """

    parameter: str
    unit: str
    log: bool
    kind: ChangeKind
    first: int
    since: int
    session: str
    size: float
    std: float
    now: float
    z: float
    sure: float

    @property
    def share(self) -> float:
        """The change of a quantity that is looked at by its logarithm, over what it was before."""
        return float(np.expm1(self.size))

    @property
    def text(self) -> str:
        """As people say it."""
        size = f"{100 * self.share:+.1f} %" if self.log else f"{self.size:+.3g} {self.unit}".rstrip()
        a_month = " a month" if self.kind == "trend" else ""
        return f"{self.parameter} {size}{a_month}"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "parameter": self.parameter,
            "unit": self.unit,
            "relative": self.log,
            "kind": self.kind,
            "since": _utc(self.since),
            "session": self.session,
            "size": self.share if self.log else self.size,
            "std": self.std,
            "now": float(np.expm1(self.now)) if self.log else self.now,
            "z": self.z,
            "sure": self.sure,
        }


@dataclass(frozen=True)
class DriftEvent:
    """Quantities of one arm that changed together; the surest first. `causes` are what usually does that."""

    robot: str
    arm: str
    changes: tuple[Drifted, ...]
    causes: tuple[Cause, ...]

    @property
    def main(self) -> Drifted:
        """The surest change."""
        return self.changes[0]

    @property
    def text(self) -> str:
        """One line, for a terminal or a pager."""
        cause = f"; usually: {self.causes[0].text}" if self.causes else ""
        more = f" and {len(self.changes) - 1} more" if len(self.changes) > 1 else ""
        return (
            f"{self.arm}: {self.main.text} since {_utc(self.main.since)[:10]} "
            f"({_percent(self.main.sure)} sure){more}{cause}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "robot": self.robot,
            "arm": self.arm,
            "since": _utc(self.main.since),
            "text": self.text,
            "changes": [one.to_dict() for one in self.changes],
            "causes": [one.to_dict() for one in self.causes],
        }


@dataclass(frozen=True, eq=False)
class SeriesReport:
    """One series as it was looked at.

    allowed      false alarms that it may give in a year, of each kind
    changes      that were found
    noise        that they were held against
    level        what the model has for each session, in the quantity's unit, shape (T,)
    tells_step   the smallest step of 5 sessions ago that would mostly be told (`smallest_told`)
    tells_trend  the smallest trend in 30 days that began 60 sessions ago; both in the series' own scale
    """

    series: Series
    allowed: Mapping[ChangeKind, float]
    changes: tuple[Change, ...]
    noise: Noise
    level: Array
    tells_step: float
    tells_trend: float


def find_drift(
    series: Iterable[Series], options: DriftOptions = DriftOptions()
) -> tuple[list[DriftEvent], list[SeriesReport]]:
    """Events of all arms, the surest first; and every series as it was looked at."""
    recorded: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        recorded.setdefault((one.robot, one.arm), []).append(one)
    arms = {arm: [_Scattered.of(one) for one in with_shared(own)] for arm, own in recorded.items()}
    alike: dict[tuple[str, str], list[Array]] = {}
    for own in arms.values():
        for seen in own:
            alike.setdefault(seen.like, []).append(seen.scatter.misfit)
    sums = {like: np.sum(found, axis=0) for like, found in alike.items()}
    events: list[DriftEvent] = []
    reports: list[SeriesReport] = []
    for (robot, arm), own in arms.items():
        allowed = allowances([seen.series for seen in own], options.rate)
        looked = []
        for seen, alarms in zip(own, allowed, strict=True):
            others = len(alike[seen.like]) - 1
            said = (sums[seen.like] - seen.scatter.misfit) * min(1.0, ALIKE / max(others, 1))
            looked.append(_look(seen, said, alarms))
        reports += looked
        events += _events(robot, arm, looked, options)
    events.sort(key=lambda event: -abs(event.main.z))
    return events, reports


def allowances(series: Sequence[Series], rate: float) -> list[dict[ChangeKind, float]]:
    """False alarms that each series of an arm may give in a year, of each kind; `rate` in all."""
    wearing = [one.parameter.endswith(FRICTION) for one in series]
    of = {True: sum(wearing), False: len(wearing) - sum(wearing)}
    parts = {True: WEAR if of[False] else WEAR + TRENDS, False: TRENDS if of[True] else WEAR + TRENDS}
    return [
        {"step": rate * STEPS / len(wearing), "trend": rate * parts[wears] / of[wears]} for wears in wearing
    ]


@dataclass(frozen=True)
class _Scattered:
    """A series with its covariates and its scatter."""

    series: Series
    columns: Array
    scatter: Scatter

    @classmethod
    def of(cls, series: Series) -> _Scattered:
        _, columns = series.covariates()
        return cls(series, columns, scatter_of(*series.scaled, columns))

    @property
    def like(self) -> tuple[str, str]:
        """What series that wander alike have in common."""
        return self.series.robot, self.series.kind.pattern


def _look(seen: _Scattered, others: Array, allowed: Mapping[ChangeKind, float]) -> SeriesReport:
    """A series with its changes and its model."""
    one, columns, least = seen.series, seen.columns, thresholds(allowed)
    changes, noise = find_changes(seen.scatter, columns, least, one.days, others)
    level = _level(one.scaled[0], columns, changes, noise, one.days)
    step = smallest_told(columns, noise, "step", STEP_SESSIONS, least, one.days)
    trend = smallest_told(columns, noise, "trend", TREND_SESSIONS, least, one.days) * MONTH
    level = np.exp(level) if one.kind.log else level
    return SeriesReport(one, allowed, tuple(changes), noise, level, step, trend)


def _level(y: Array, columns: Array, changes: Sequence[Change], noise: Noise, days: Array) -> Array:
    """Base, covariates and changes together, fitted by weighted least squares, shape (T,)."""
    events = [event_column(one.kind, one.first, days) for one in changes]
    X = np.column_stack([np.ones(len(y)), columns, *events])
    found, *_ = np.linalg.lstsq(X / noise.std[:, None], y / noise.std, rcond=None)
    return np.asarray(X @ found)


def _events(
    robot: str, arm: str, looked: Sequence[SeriesReport], options: DriftOptions
) -> Iterable[DriftEvent]:
    """Changes of one arm, joined where they came together."""
    drifted = [
        one
        for report in looked
        for change in report.changes
        if (one := _drifted(report, change, options)) is not None
    ]
    drifted.sort(key=lambda one: -abs(one.z))
    groups: list[list[Drifted]] = []
    for one in drifted:
        for group in groups:
            if _together(one, group[0]):
                group.append(one)
                break
        else:
            groups.append([one])
    for group in groups:
        yield DriftEvent(robot, arm, tuple(group), causes_of(group, drifted))


def _together(one: Drifted, other: Drifted) -> bool:
    """Whether two changes are of one event: at once wherever they are, or soon after each other at one place."""
    days = abs(one.since - other.since) / DAY_US
    steps = one.kind == other.kind == "step"
    if steps and days <= AT_ONCE:
        return True
    return place_of(one.parameter) == place_of(other.parameter) and days <= (APART if steps else TREND_APART)


def _drifted(report: SeriesReport, change: Change, options: DriftOptions) -> Drifted | None:
    """A change as it is told; None where it is too small to matter."""
    series = report.series
    trend = change.kind == "trend"
    factor = float(MONTH) if trend else 1.0
    now = change.size * (series.days[-1] - series.days[change.first] if trend else 1.0)
    if series.kind.log and abs(now) < options.least:
        return None
    return Drifted(
        parameter=series.parameter,
        unit=series.unit,
        log=series.kind.log,
        kind=change.kind,
        first=change.first,
        since=int(series.time[change.first]),
        session=str(series.sessions[change.first]),
        size=change.size * factor,
        std=change.std * factor,
        now=now,
        z=change.z,
        sure=float(np.exp(-options.rate * false_alarms(change.kind, change.z) / report.allowed[change.kind])),
    )


def short_series(reports: Iterable[SeriesReport]) -> Mapping[str, int]:
    """Arms whose history is too short for a word, with their sessions."""
    lengths: dict[str, int] = {}
    for report in reports:
        arm = report.series.arm
        lengths[arm] = max(len(report.series), lengths.get(arm, 0))
    return {arm: length for arm, length in lengths.items() if length < FEWEST}


def _percent(share: float) -> str:
    return "over 99.9 %" if share > 0.999 else f"{100 * share:.3g} %"


def _utc(time_us: int) -> str:
    return f"{datetime.fromtimestamp(time_us * 1e-6, UTC):%Y-%m-%d %H:%M}"
