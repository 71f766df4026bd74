"""Simulated months of a fleet: rows of the table, drawn directly from what one whole session can tell.

A whole session (`whole_session`) is identified, for the values of its estimates and what it states of their errors; and
some more, for what they scatter and what a load on the flange does to them (masses and gains hold a part of the prior,
the same every night: they scatter by a tenth of what they state, and a load is shared out among links). An estimate is
linear in the torques, so that of another night of the same excitation is that night's truth plus an error of this
scatter: drawn, in a microsecond where the session would take two seconds. The table's quantities are the truth's:

    friction_j = f_j (1 + wear) exp(-c_j (T_j - T_0)) (1 + scatter),   T_j: season, day, and how long the arm had run

Tests hold this against whole sessions (`tests/identify/fleet/test_simulated_months.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.fleet.friction import friction_intervals
from heft.identify.fleet.simulated.events import PlantedEvent, planted
from heft.identify.fleet.table import Row
from heft.identify.result import Result

__all__ = ["Climate", "Months", "Reference"]

NIGHT_US = 86_400_000_000
FIRST_US = 1_767_225_600_000_000  # 2026-01-01


@dataclass(frozen=True)
class Reference:
    """What one whole session of a robot tells: the values of its quantities, and their errors.

    names    quantities: `JOINT.friction`, `JOINT.offset`, `JOINT.gain`, link masses that the data know, `hand.mass`
    values   and standard deviations `std` as a session states them, shape (q,) each
    scatter  of sessions of one arm, shape (q,): less than they state where a prior has a part; None: as they state
    per_kg   what a load that nobody states moves each by, per kilogram, shape (q,); None: hand and last link as it is
    """

    robot: str
    joints: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    std: Array
    scatter: Array | None = None
    per_kg: Array | None = None

    @classmethod
    def of(cls, result: Result) -> Reference:
        """From an identified session."""
        intervals = {
            name: one
            for name, one in (dict(result.intervals) | friction_intervals(result)).items()
            if not one.prior_dominated
            and np.isfinite(one.std)
            and (
                name.endswith((".friction", ".offset", ".gain"))
                or name == "hand.mass"
                or _link_mass(name, result)
            )
        }
        return cls(
            result.robot.name,
            result.robot.joints,
            tuple(intervals),
            tuple(one.unit for one in intervals.values()),
            np.array([one.value for one in intervals.values()]),
            np.array([one.std for one in intervals.values()]),
        )

    def compared(self, others: Sequence[Reference], loaded: Reference, load_kg: float) -> Reference:
        """With what `others`, sessions of the same arm, scatter; and with what one with a load on the flange tells."""
        sessions = np.array([one.at(self.names) for one in (self, *others)])
        moved = np.array([name.endswith((".mass", ".gain")) for name in self.names])
        per_kg = np.where(moved, (loaded.at(self.names) - sessions.mean(axis=0)) / load_kg, 0.0)
        return replace(self, scatter=sessions.std(axis=0, ddof=1), per_kg=per_kg)

    def at(self, names: Sequence[str]) -> Array:
        """Values of these quantities; NaN for those that there are none of."""
        known = dict(zip(self.names, self.values.tolist(), strict=True))
        return np.array([known.get(name, np.nan) for name in names])


def _link_mass(name: str, result: Result) -> bool:
    return name.endswith(".mass") and name.removesuffix(".mass") in result.robot.links


@dataclass(frozen=True)
class Climate:
    """How warm joints are, and what sessions scatter beyond their intervals.

    season_K, day_K       amplitude of the hall's temperature over the year, and spread from night to night
    warm_up_K             how much warmer joints are that have run, evenly between 0 and this
    friction_per_K        share of friction that is lost for each kelvin; arms and joints differ by a quarter of it
    hour_K                swing of a day, where sessions are at any hour
    thermometer           whether temperatures are measured
    scatter               of friction from session to session, as a share; `offset_scatter` over the joint's friction
    mass_scatter          of masses, as a share; `measured_K` error of the temperature
    tails                 degrees of freedom of the scatter's Student distribution, of the same variance
    bend_per_K            friction per kelvin changes by this share of itself with each kelvin
    """

    season_K: float = 8.0
    day_K: float = 2.0
    warm_up_K: float = 4.0
    friction_per_K: float = 0.008
    scatter: float = 0.01
    offset_scatter: float = 0.005
    mass_scatter: float = 0.002
    measured_K: float = 0.3
    hour_K: float = 0.0
    thermometer: bool = True
    tails: float = np.inf
    bend_per_K: float = 0.0

    def scattered(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Deviates of variance 1."""
        if not np.isfinite(self.tails):
            return rng.normal(size=shape)
        return np.asarray(rng.standard_t(self.tails, shape) * np.sqrt((self.tails - 2.0) / self.tails))


@dataclass(frozen=True)
class Months:
    """A fleet of `arms` arms with a session every night.

    share   of the arms have events, `each` so many close to each other; `events` in place of drawn ones
    missed  share of the nights without a session; `breaks` of one to four weeks in which there is none
    late    share of the arms that start between the first and the second third of the time
    loads   known loads [kg], one of which each session carries; each adds `friction_per_kg` of friction, as a share
    """

    reference: Reference
    arms: int = 20
    nights: int = 365
    seed: int = 0
    share: float = 0.75
    each: int = 1
    missed: float = 0.03
    breaks: int = 0
    late: float = 0.0
    loads: tuple[float, ...] = (0.0,)
    friction_per_kg: float = 0.03
    climate: Climate = field(default_factory=Climate)
    events: tuple[PlantedEvent, ...] | None = None

    @property
    def names(self) -> list[str]:
        """Of the arms."""
        return [f"arm{number:03d}" for number in range(self.arms)]

    def planted(self) -> tuple[PlantedEvent, ...]:
        """The events, by seed where none were given."""
        if self.events is not None:
            return self.events
        rng = np.random.default_rng([self.seed, 0])
        first = {arm: self._first(number) for number, arm in enumerate(self.names)}
        joints = len(self.reference.joints)
        return tuple(planted(first, self.nights, joints, rng, self.share, self.each))

    def _first(self, number: int) -> int:
        """The night that an arm starts."""
        rng = np.random.default_rng([self.seed, 1 + number, 1])
        return int(rng.integers(self.nights // 3, 2 * self.nights // 3)) if rng.random() < self.late else 0

    def _nights(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Those with a session."""
        there = rng.random(self.nights) >= self.missed
        there[: self._first(number)] = False
        for _ in range(self.breaks):
            begin = int(rng.integers(self.nights))
            there[begin : begin + int(rng.integers(7, 29))] = False
        return np.flatnonzero(there)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the table, arm by arm, as plain JSON values."""
        columns = self.columns()
        names = list(columns)
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))

    def columns(self) -> dict[str, list[Any]]:
        """The same by column, lists of one length."""
        events: dict[str, list[PlantedEvent]] = {}
        for one in self.planted():
            events.setdefault(one.arm, []).append(one)
        found: dict[str, list[Any]] = {name: [] for name in Row.__dataclass_fields__}
        for number, arm in enumerate(self.names):
            rng = np.random.default_rng([self.seed, 1 + number])
            self._arm(arm, self._nights(number, rng), rng, events.get(arm, []), found)
        return found

    def _arm(
        self,
        arm: str,
        night: NDArray[np.int64],
        rng: np.random.Generator,
        events: list[PlantedEvent],
        found: dict[str, list[Any]],
    ) -> None:
        """All sessions of one arm, appended to the columns."""
        kelvin, measured = self._temperatures(rng, night)
        load = (
            rng.choice(self.loads, len(night)) if len(self.loads) > 1 else np.full(len(night), self.loads[0])
        )
        at, extra = self._extra(rng, night), self.reference
        names, std = list(extra.names) + list(at), np.append(extra.std, [one[1] for one in at.values()])
        truth = np.column_stack(
            [self._truth(rng, night, kelvin, load, events), *(one[0] for one in at.values())]
        )
        scatter = extra.std if extra.scatter is None else extra.scatter
        err = np.append(scatter, np.zeros(len(at)))  # what is no estimate has its scatter already
        value = truth + rng.normal(0.0, 1.0, truth.shape) * err
        units = [*extra.units, *(one[2] for one in at.values())]
        joint = [
            extra.joints.index(head) if (head := name.partition(".")[0]) in extra.joints else -1
            for name in names
        ]
        warmth = np.column_stack([measured[:, j] if j >= 0 else measured.mean(axis=1) for j in joint])
        half = 1.96 * std
        count, width = truth.shape
        session = [f"{arm}/night{n:03d}" for n in night]
        repeated: dict[str, Any] = {
            "digest": "",
            "robot": extra.robot,
            "arm": arm,
            "prior_dominated": False,
            "verdict": "good",
            "reason": "",
            "method": "sdp",
            "level": "full",
            "cutoff_hz": 10.0,
            "software": "simulated",
            "result": "",
        }
        for name, one in repeated.items():
            found[name] += [one] * (count * width)
        found["load"] += np.repeat(load, width).tolist()
        found["session"] += [one for one in session for _ in range(width)]
        found["source"] += [f"simulated:{one}" for one in session for _ in range(width)]
        found["time"] += np.repeat(FIRST_US + night * NIGHT_US, width).tolist()
        found["parameter"] += names * count
        found["unit"] += units * count
        found["value"] += value.ravel().tolist()
        found["std"] += np.tile(std, count).tolist()
        found["low"] += (value - half).ravel().tolist()
        found["high"] += (value + half).ravel().tolist()
        found["temperature"] += warmth.ravel().tolist()

    def _temperatures(self, rng: np.random.Generator, night: NDArray[np.int64]) -> tuple[Array, Array]:
        """Of the joints, true and measured [K], shape (T, n) each."""
        climate, n = self.climate, len(self.reference.joints)
        hall = 295.0 - climate.season_K * np.cos(2 * np.pi * night / 365.25 + rng.normal(0.0, 0.1))
        hall = hall + rng.normal(0.0, climate.day_K, len(night))
        if climate.hour_K:
            hall = hall + climate.hour_K * np.sin(rng.uniform(0.0, 2 * np.pi, len(night)))
        warm = rng.uniform(0.0, climate.warm_up_K, len(night))[:, None] * rng.uniform(0.7, 1.3, n)
        kelvin = hall[:, None] + warm + rng.normal(0.0, 0.2, (len(night), n))
        measured = kelvin + rng.normal(0.0, climate.measured_K, kelvin.shape)
        return kelvin, measured if climate.thermometer else np.full_like(measured, np.nan)

    def _extra(
        self, rng: np.random.Generator, night: NDArray[np.int64]
    ) -> dict[str, tuple[Array, float, str]]:
        """Quantities that are no parameters: tracking, loss, clock; values (T,), std, unit."""
        count, nan = len(night), float("nan")
        found: dict[str, tuple[Array, float, str]] = {}
        for joint in self.reference.joints:
            found[f"{joint}.tracking_error"] = (
                2e-4 * np.exp(0.03 * self.climate.scattered(rng, (count,))),
                nan,
                "rad",
            )
        skew = rng.normal(0.0, 30.0)
        found["clock_skew.arm"] = (skew + rng.normal(0.0, 0.2, count), nan, "ppm")
        found["loss.arm.motion"] = (rng.binomial(60_000, 2e-6, count) / 60_000, 1 / 60_000, "")
        found["torque_error"] = (0.02 * np.exp(0.03 * self.climate.scattered(rng, (count,))), nan, "")
        return found

    def _truth(
        self,
        rng: np.random.Generator,
        night: NDArray[np.int64],
        kelvin: Array,
        load: Array,
        events: list[PlantedEvent],
    ) -> Array:
        """The quantities of the reference as they are each night, shape (T, q)."""
        reference, climate = self.reference, self.climate
        own = 1.0 + 0.05 * rng.normal(size=len(reference.names))  # arms of one model differ
        truth = np.tile(reference.values * own, (len(night), 1))
        places = {name: i for i, name in enumerate(reference.names)}
        per_K = climate.friction_per_K * rng.uniform(0.75, 1.25, len(reference.joints))
        scatter = climate.scattered(rng, truth.shape)
        for name, i in places.items():
            if name.endswith(".friction"):
                j = reference.joints.index(name.removesuffix(".friction"))
                warmer = kelvin[:, j] - 295.0
                colder = -per_K[j] * warmer * (1.0 - 0.5 * climate.bend_per_K * warmer)
                truth[:, i] *= np.exp(colder + climate.scatter * scatter[:, i]) * (
                    1.0 + self.friction_per_kg * load
                )
            elif name.endswith(".offset"):
                size = self._friction(name.removesuffix(".offset"), places)
                truth[:, i] += climate.offset_scatter * size * scatter[:, i]
            else:
                truth[:, i] *= 1.0 + climate.mass_scatter * scatter[:, i]
        for event in events:
            self._happen(event, night, truth, places, rng)
        return truth

    def _friction(self, joint: str, places: dict[str, int]) -> float:
        place = places.get(f"{joint}.friction")
        return 1.0 if place is None else float(abs(self.reference.values[place]))

    def _happen(
        self,
        event: PlantedEvent,
        night: NDArray[np.int64],
        truth: Array,
        places: dict[str, int],
        rng: np.random.Generator,
    ) -> None:
        """What an event does to the quantities, in place."""
        since = night >= event.night
        months = np.maximum(night - event.night, 0) / 30.0
        joint = self.reference.joints[event.joint]
        friction, offset = places.get(f"{joint}.friction"), places.get(f"{joint}.offset")
        if event.kind == "wear" and friction is not None:
            truth[:, friction] *= 1.0 + event.size * months
        elif event.kind == "gearbox-replaced" and friction is not None:
            truth[:, friction] *= np.where(since, 1.0 + event.size, 1.0)
            if offset is not None:
                moved = rng.choice([-1.0, 1.0]) * rng.uniform(0.05, 0.15) * self._friction(joint, places)
                truth[:, offset] += np.where(since, moved, 0.0)
        elif event.kind == "torque-sensor" and offset is not None:
            truth[:, offset] += event.size * self._friction(joint, places) * months
        elif event.kind in ("gripper-changed", "load-forgotten"):
            there = since & ((night < event.until) if event.until >= 0 else True)
            if self.reference.per_kg is not None:
                truth += np.outer(there, event.size * self.reference.per_kg)
                return
            last = [name for name in places if name.endswith(".mass") and name != "hand.mass"]
            for name in (["hand.mass"] if "hand.mass" in places else []) + last[-1:]:
                truth[:, places[name]] += np.where(there, event.size, 0.0)
