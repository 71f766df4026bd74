"""Motion and torque of a robot as they were measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.bridging import Interval, bridge_gaps
from heft.identify.data.cleaning import cleaned
from heft.identify.data.deflection import Deflection
from heft.identify.data.filters import Differentiator
from heft.identify.data.known_load import KnownLoad
from heft.identify.data.on_disk import OnDisk
from heft.identify.data.root_motion import COLUMNS, given_root, root_from_given, root_from_imu
from heft.identify.data.sampling import Piece, interpolate, read_late
from heft.identify.data.temperature import Temperature
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.daq.recording import Recording
    from heft.identify.robot import Robot

__all__ = ["Dataset"]

FEWEST = 16  # samples
OUTSIDE = "outside the part"
TABLES = ("q", "tau", "dq", "wrench", "motor", "wrenches", "base", "imu")


@dataclass(frozen=True, eq=False)
class Dataset:
    """T samples of n joints; the caller's arrays, not copies of them. Made by `from_arrays` or `from_recording`.

    t        [s], increasing, shape (T,)
    q, tau   joint positions [rad, m] and torques [N m, N], shape (T, n)
    dq       measured velocities [rad/s, m/s], shape (T, n), or None: from positions
    wrench   of a wrist sensor, forces [N] and torques [N m], shape (T, 6), NaN where it is not known; or None
    temperature   of the joints, or None where nothing measured it
    motor    positions of the motors as those of the joints [rad, m], shape (T, n), where encoders on the links measure
             q: velocities and accelerations come from it; or None: from q
    deflection   how links and motors differ, where both are measured
    source   where the data come from
    notes    what was noticed on the way, with numbers
    torque_stream, motion_stream, wrench_stream   names of what measured torques, positions and the wrench
    removed  samples that were left out on the way, by reason
    sent     samples that each stream had, lost ones included
    part_of  digest of the recording that this is of: all of one have torque offsets and delay in common. Empty: of none
    load     known load on the flange while it was recorded, or None
    has_torque    whether torques were measured: tau is zero where they were not, and no row is made of it
    wrenches      of six-axis sensors side by side, each as `wrench`, shape (T, 6 S), or None; `wrench_names` are theirs
    base          motion of a free root as it was given (`heft.identify.data.root_motion`), shape (T, 18), or None
    imu           angular rate, specific force and, where it is known, orientation of sensor `imu_name`, shape (T, 6) or
                  (T, 10), or None
    drift_from_s  when drifts of sensors are zero [s], the same for all parts of a recording; None: in the middle
    """

    t: Array
    q: NDArray[Any]
    tau: NDArray[Any]
    dq: NDArray[Any] | None = None
    wrench: NDArray[Any] | None = None
    source: str = "arrays"
    notes: tuple[str, ...] = ()
    torque_stream: str = "torque"
    motion_stream: str = "position"
    wrench_stream: str = "wrench"
    removed: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    part_of: str = ""
    load: KnownLoad | None = None
    temperature: Temperature | None = None
    motor: NDArray[Any] | None = None
    deflection: Deflection | None = None
    has_torque: bool = True
    wrenches: NDArray[Any] | None = None
    wrench_names: tuple[str, ...] = ()
    base: NDArray[Any] | None = None
    imu: NDArray[Any] | None = None
    imu_name: str = ""
    drift_from_s: float | None = None

    def __post_init__(self) -> None:
        t = np.asarray(self.t, dtype=np.float64)
        object.__setattr__(self, "t", t)
        tables = {name: getattr(self, name) for name in TABLES if getattr(self, name) is not None}
        for name, table in _shaped(t, tables).items():
            object.__setattr__(self, name, table)
        _finite("t", t)
        steps = np.diff(t)
        if steps.min() <= 0:
            where = int(np.argmin(steps > 0))
            raise DataError(
                f"time does not increase: t[{where + 1}] = {float(t[where + 1])!r} s follows {float(t[where])!r} s; "
                "sort the samples by time and leave out repeated ones"
            )
        for name in ("q", "tau", "dq", "motor", "base", "imu"):
            value = getattr(self, name)
            if value is not None:
                _finite(name, value)

    @classmethod
    def from_arrays(
        cls,
        t: ArrayLike,
        q: ArrayLike,
        tau: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
        motor: ArrayLike | None = None,
        *,
        wrenches: Mapping[str, ArrayLike] = MappingProxyType({}),
        base_pose: ArrayLike | None = None,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        imu: Mapping[str, ArrayLike] = MappingProxyType({}),
    ) -> Dataset:
        """From arrays: t [s] (T,), q [rad] and tau [N m] (T, n), dq [rad/s] (T, n), wrench [N, N m] (T, 6).

        They are treated as recordings are: rows that cannot be used are left out, counted (`removed`) and told
        (`notes`); see `heft.identify.data.cleaning`. `temperature` [K] (T, n) is that of the joints; `motor` [rad]
        (T, n) positions of the motors as those of the joints, where q was measured on the links.

        Without `tau` the robot is identified from `wrenches` [N, N m] (T, 6) of its six-axis sensors, by name. A root
        that moves freely does so as `base_pose` (T, 7), `base_twist` and `base_acceleration` (T, 6) say, or as an `imu`
        on it measured, by name (T, 6): conventions in docs/large-robots.md.
        """
        stamps = np.asarray(t, dtype=np.float64)
        if len(imu) > 1:
            raise DataError(f"IMUs {', '.join(imu)}: give one of them, the nearest to the root")
        given = {
            "q": q,
            "tau": tau,
            "dq": dq,
            "wrench": wrench,
            "motor": motor,
            "wrenches": _side_by_side(stamps, wrenches),
            "base": given_root(stamps, base_pose, base_twist, base_acceleration),
            "imu": next(iter(imu.values()), None),
        }
        if given["base"] is not None and imu:
            raise DataError("base_pose and imu: two accounts of the root's motion; give one of them")
        tables = _shaped(stamps, {name: value for name, value in given.items() if value is not None})
        clean = cleaned(stamps, tables)
        return cls(
            clean.t,
            clean.tables["q"],
            clean.tables.get("tau", np.zeros_like(clean.tables["q"], dtype=np.float64)),
            clean.tables.get("dq"),
            clean.tables.get("wrench"),
            motor=clean.tables.get("motor"),
            notes=clean.notes,
            removed=clean.removed,
            sent={"arrays": len(stamps)} if clean.removed else {},
            temperature=None if temperature is None else Temperature(stamps, np.asarray(temperature)),
            has_torque=tau is not None,
            wrenches=clean.tables.get("wrenches"),
            wrench_names=tuple(wrenches),
            base=clean.tables.get("base"),
            imu=clean.tables.get("imu"),
            imu_name=next(iter(imu), ""),
        )

    @classmethod
    def from_recording(cls, path: Path | str | Recording, robot: Robot, use: str | None = None) -> Dataset:
        """From a recording of Heft, or a part of one: see `heft.identify.data.recorded_signals`.

        `use` is that of the segments to read; None: identification, or all of the recording where none is marked so.
        """
        from heft.daq.recording import Recording
        from heft.identify.data.recorded_signals import recorded_signals

        recording = path if isinstance(path, Recording) else Recording.open(path)
        return cls(**recorded_signals(recording, robot, use))

    def with_load(self, mass: float, com: ArrayLike, inertia: ArrayLike | None = None) -> Dataset:
        """The same data, recorded with a known load on the flange.

        mass      [kg]
        com       centre of mass in the flange's frame [m], shape (3,); in the last link's for a robot without a flange
        inertia   about the centre of mass, in the flange's axes [kg m2], shape (3, 3); None: a point

        The load's torques are taken off before the fit, so that parameters are those of the robot without it. A wrist
        sensor carries the load too; its data are left out.
        """
        return self.loaded(KnownLoad.of(mass, com, inertia))

    def loaded(self, load: KnownLoad) -> Dataset:
        """The same data with a known load; see `with_load`."""
        notes = [*self.notes, f"a known load of {load} is taken off the torques"]
        if self.wrench is not None:
            notes.append(f"{self.wrench_stream} is not used: it carries the known load too")
        return replace(self, load=load, wrench=None, notes=tuple(notes))

    def bridged(self, longest_s: float) -> tuple[Dataset, tuple[Interval, ...]]:
        """The data with gaps up to `longest_s` filled, and where [s]; the same object if there is none."""
        tables = {name: getattr(self, name) for name in TABLES if getattr(self, name) is not None}
        t, filled, spans = bridge_gaps(self.t, tables, longest_s)
        changes: dict[str, Any] = {"t": t, **filled}
        return (replace(self, **changes), spans) if spans else (self, ())

    def on_disk(self) -> Dataset:
        """The same with tables that are read from a file where they are needed; only stamps stay in memory."""
        tables: dict[str, Any] = {
            name: OnDisk(getattr(self, name)) for name in TABLES if getattr(self, name) is not None
        }
        return replace(self, **tables)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def joints(self) -> int:
        """n."""
        return int(np.shape(self.q)[1]) if np.ndim(self.q) == 2 else 0

    @property
    def duration_s(self) -> float:
        """From the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def middle_s(self) -> float:
        """The instant that drifts of sensors are counted from [s]."""
        return float(self.t[0] + self.t[-1]) / 2 if self.drift_from_s is None else self.drift_from_s

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all numbers: equal data have equal ones."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update("".join(self.wrench_names).encode())
        for name in ("t", *TABLES):
            value = getattr(self, name)
            if value is not None:
                digest.update(f"{name}{value.dtype.str}{value.shape}".encode())
                for start in range(0, len(value), 65536):
                    digest.update(np.ascontiguousarray(value[start : start + 65536]).data)
        if self.load is not None:
            digest.update(np.array(self.load.numbers).data)
        if self.temperature is not None:
            digest.update(np.column_stack([self.temperature.t, self.temperature.kelvin]).data)
        return digest.hexdigest()

    def between(self, start_s: float, stop_s: float) -> Dataset:
        """Samples with start_s <= t < stop_s, on the data's own time."""
        low, high = np.searchsorted(self.t, [start_s, stop_s])
        if high - low < FEWEST:
            raise DataError(
                f"{high - low} samples from {start_s:g} to {stop_s:g} s; the data run from {self.t[0]:g} to "
                f"{self.t[-1]:g} s: choose a part with at least {FEWEST} samples"
            )
        return self._part(int(low), int(high))

    def split(self, fraction: float) -> tuple[Dataset, Dataset]:
        """The first part, by samples, and the rest: one to fit, one to validate."""
        if not 0 < fraction < 1:
            raise DataError(f"fraction {fraction}: choose one between 0 and 1")
        middle = round(fraction * len(self))
        return self._part(0, middle), self._part(middle, len(self))

    def motion(self, piece: Piece, step_s: float, start: int, stop: int) -> tuple[Array, Array | None]:
        """q and dq at samples start .. stop - 1 of a piece's grid: each (n, stop - start)."""
        q = self._on_grid(self.q, piece, step_s, start, stop)
        return q, None if self.dq is None else self._on_grid(self.dq, piece, step_s, start, stop)

    def kinematics(
        self, piece: Piece, step_s: float, start: int, stop: int, motion: Differentiator
    ) -> tuple[Array, Array, Array]:
        """Smoothed position, velocity and acceleration at samples start .. stop - 1 of a piece's grid, (n, K) each.

        Velocity and acceleration come from measured velocities, else from the motors, else from the positions.
        """
        around = (piece, step_s, start - motion.half, stop + motion.half)
        q, dq = self.motion(*around)
        position, velocity, acceleration = motion.apply(q)
        if dq is not None:
            velocity, acceleration, _ = motion.apply(dq)
        elif (turned := self.turning(*around)) is not None:
            _, velocity, acceleration = motion.apply(turned)
        return position, velocity, acceleration

    def root(
        self, robot: Robot, piece: Piece, step_s: float, start: int, stop: int, motion: Differentiator
    ) -> Array | None:
        """Smoothed motion of a free root at samples start .. stop - 1 of a piece's grid, (9, K); None: it is fixed."""
        if not robot.tree.free:
            return None
        around = (piece, step_s, start - motion.half, stop + motion.half)
        if self.base is not None:
            smooth, _, _ = motion.apply(self._on_grid(self.base, *around))
            return root_from_given(smooth, robot.gravity)
        if self.imu is None:
            raise DataError(
                f"the root of {robot.name} moves freely, and the data do not say how; give base_pose, or the readings "
                f"of an IMU on it ({', '.join(robot.imus) or 'none is in its file'})"
            )
        if self.imu_name not in robot.imus:
            raise DataError(
                f"IMU {self.imu_name} has no place in {robot.name}: its file has {', '.join(robot.imus) or 'none'}; "
                "add it under `imu` with its frame"
            )
        late = robot.imu_delays.get(self.imu_name, 0.0) / step_s
        read = partial(self._on_grid, self.imu, piece, step_s)
        first, last = start - motion.half, stop + motion.half
        readings = read_late(read, piece, first, last, late) if late else read(first, last)
        on_root = robot.imus[self.imu_name][0] < 0
        joints = None if on_root else self.kinematics(piece, step_s, start, stop, motion)
        return root_from_imu(readings, robot, self.imu_name, motion, joints)

    def wrench_of(self, name: str, piece: Piece, step_s: float, start: int, stop: int) -> Array:
        """A sensor's wrench at samples start .. stop - 1 of a piece's grid: (6, stop - start); NaN: not known."""
        assert self.wrenches is not None
        first = 6 * self.wrench_names.index(name)
        return self._on_grid(self.wrenches, piece, step_s, start, stop)[first : first + 6]

    def turning(self, piece: Piece, step_s: float, start: int, stop: int) -> Array | None:
        """`motor` at samples start .. stop - 1 of a piece's grid: (n, stop - start); None where q is all there is."""
        return None if self.motor is None else self._on_grid(self.motor, piece, step_s, start, stop)

    @property
    def turned(self) -> NDArray[Any]:
        """The positions that velocities and accelerations come from [rad, m], shape (T, n)."""
        return self.q if self.motor is None else self.motor

    def torque(self, piece: Piece, step_s: float, start: int, stop: int) -> Array:
        """tau at samples start .. stop - 1 of a piece's grid: (n, stop - start)."""
        return self._on_grid(self.tau, piece, step_s, start, stop)

    def wrist_wrench(self, piece: Piece, step_s: float, start: int, stop: int) -> Array:
        """The wrench at samples start .. stop - 1 of a piece's grid: (6, stop - start); NaN where it is not known."""
        assert self.wrench is not None
        return self._on_grid(self.wrench, piece, step_s, start, stop)

    def _on_grid(self, values: NDArray[Any], piece: Piece, step_s: float, start: int, stop: int) -> Array:
        if piece.even:
            part = values[piece.first + start : piece.first + stop]
            return np.ascontiguousarray(part.T, dtype=np.float64)
        t = self.t[piece.first : piece.last]
        ends = piece.start_s + step_s * np.array([start, stop])
        low, high = np.searchsorted(t, ends)
        low, high = max(0, int(low) - 4), min(len(t), int(high) + 4)
        low = max(0, min(low, high - 4))
        part = np.ascontiguousarray(values[piece.first + low : piece.first + high], dtype=np.float64)
        out = np.empty((values.shape[1], stop - start))
        interpolate(np.ascontiguousarray(t[low:high]), part, float(ends[0]), step_s, out)
        return out

    def _part(self, low: int, high: int) -> Dataset:
        """Samples low .. high - 1; views, not copies."""
        part = slice(low, high)
        left = self.removed.get(OUTSIDE, 0) + len(self) - (high - low)
        tables = {name: getattr(self, name) for name in TABLES}
        cut: dict[str, Any] = {name: table[part] for name, table in tables.items() if table is not None}
        removed = {**self.removed, OUTSIDE: left} if self.sent and left else self.removed
        return replace(self, removed=removed, t=self.t[part], drift_from_s=self.middle_s, **cut)


def _shaped(t: Array, tables: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """The tables as arrays of numbers, a row for every stamp, a column for every joint."""
    if t.ndim != 1 or len(t) < FEWEST:
        raise DataError(f"t has shape {t.shape}; give at least {FEWEST} stamps, shape (T,)")
    q = _table("q", tables["q"], len(t), None)
    n = q.shape[1]
    widths = {"tau": n, "dq": n, "motor": n, "wrench": 6, "wrenches": None, "base": COLUMNS, "imu": None}
    others = {name: _table(name, tables[name], len(t), widths[name]) for name in widths if name in tables}
    if "imu" in others and others["imu"].shape[1] not in (6, 10):
        raise DataError(
            f"imu has {others['imu'].shape[1]} columns; give rate and specific force (6), and the orientation (10)"
        )
    return {"q": q, **others}


def _side_by_side(t: Array, wrenches: Mapping[str, ArrayLike]) -> Array | None:
    """Wrenches of several sensors as one table (T, 6 S), None where there is none."""
    if not wrenches:
        return None
    return np.hstack([_table(f"wrench {name}", value, len(t), 6) for name, value in wrenches.items()])


def _table(name: str, value: ArrayLike, length: int, width: int | None) -> NDArray[Any]:
    array: NDArray[Any] = value if isinstance(value, OnDisk) else np.asarray(value)  # type: ignore[assignment]
    if array.dtype.kind not in "fiu":
        raise DataError(f"{name} holds {array.dtype}, not numbers; give an array of floats")
    if array.ndim != 2 or len(array) != length or (width is not None and array.shape[1] != width):
        shape = f"({length}, {'n' if width is None else width})"
        raise DataError(f"{name} has shape {array.shape}; with {length} stamps it must be {shape}")
    return array


def _finite(name: str, value: NDArray[Any]) -> None:
    for start in range(0, len(value), 65536):
        good = np.isfinite(value[start : start + 65536])
        if not good.all():
            bad = np.argwhere(~good)[0]
            bad[0] += start
            place = ", ".join(str(index) for index in bad)
            raise DataError(
                f"{name}[{place}] is {value[tuple(bad)]}; leave samples out that were not measured "
                "(a gap in time is noticed and kept apart)"
            )
