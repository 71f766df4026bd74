"""Joints and a scale on one time: what the arm did when each of the scale's samples was taken.

Positions are brought to an even grid and differentiated by local polynomials (001), which are symmetric and so have
no phase; the price is that half a window must have passed. What the scale shows is not filtered: the joints' motion
is smooth, so it is interpolated to the instants at which that was taken.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data.filters import savitzky_golay
from heft.identify.data.sampling import interpolate
from heft.identify.payload.kinematics.wrist_motion import WristMotion, wrist_motion
from heft.identify.robot import Robot

__all__ = ["Aligner", "Samples", "joined"]

CUTOFF_HZ = 25.0  # of the joints' motion; local polynomials then reach over 32 ms either way at 1 kHz
GAP_STEPS = 8.0  # a hole of more samples in the positions is not bridged


@dataclass(frozen=True)
class Samples:
    """T samples of a scale, and what the arm did at the instants that they belong to.

    time     stamp of each on the host's clock [s], shape (T,)
    shown    by a wrist sensor: force [N] and torque [N m] in its frame, shape (T, 6); by joints: torque [N m] (T, n)
    wrist    motion of the wrist sensor's frame, or of the flange where there is none
    q, dq, ddq   of the joints, shape (T, n)
    """

    time: Array
    shown: Array
    wrist: WristMotion
    q: Array
    dq: Array
    ddq: Array

    def __len__(self) -> int:
        return len(self.time)

    @property
    def wrench_motion(self) -> dict[str, Array]:
        """Arguments of `PayloadEstimator.update`, of a wrist sensor's samples."""
        wrist = {field.name: getattr(self.wrist, field.name) for field in fields(self.wrist)}
        return {"time": self.time, "wrench": self.shown, **wrist}

    def part(self, rows: slice) -> Samples:
        """Some of the samples."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return Samples(**{name: v.part(rows) if name == "wrist" else v[rows] for name, v in values.items()})

    def between(self, start: float, end: float) -> Samples:
        """Samples with start <= time < end [s]."""
        first, last = np.searchsorted(self.time, [start, end])
        return self.part(slice(int(first), int(last)))


class Aligner:
    """Streams in, in any blocks; samples out as soon as everything that they need is there.

    `by_joints`: the scale is the joints' torques; else it is the wrist sensor's wrench. `delay_s`: what is stamped t
    shows the load at t - delay_s (on the clock of the positions); it may be set while running. `rate_hz` is that of
    the positions.
    """

    def __init__(
        self, robot: Robot, rate_hz: float, *, delay_s: float = 0.0, by_joints: bool = False
    ) -> None:
        self.robot, self.delay_s = robot, delay_s
        self._frame: Literal["sensor", "flange"] = "flange" if by_joints else "sensor"
        self._step = 1.0 / rate_hz
        self._filter = savitzky_golay(min(CUTOFF_HZ, rate_hz / 10), rate_hz)
        n = len(robot.joints)
        self._raw = _Series(n)  # positions as measured
        self._even = _Series(n)  # on the grid
        self._smooth = _Series(3 * n)  # positions, velocities, accelerations
        self._shown = _Series(n if by_joints else 6)
        self._last = -np.inf

    def motion(self, time: Array, q: Array) -> None:
        """Positions [rad] (N, n) at `time` [s] (N,)."""
        self._raw.add(time, q)
        self._smoothen()

    def scale(self, time: Array, shown: Array) -> None:
        """Wrenches (N, 6), or torques of the joints [N m] (N, n)."""
        self._shown.add(time, shown)

    def ready(self) -> Samples | None:
        """What is complete since the last call."""
        smooth, time = self._smooth, self._shown.time
        if len(smooth.time) < 4 or not len(time):
            return None
        at = time - self.delay_s
        done = int(np.searchsorted(at, smooth.time[-2], side="right"))
        if not done:
            return None
        keep = (at[:done] >= smooth.time[1]) & (time[:done] > self._last)
        place = np.searchsorted(smooth.time, at[:done], side="right") - 1
        place = np.clip(place, 1, len(smooth.time) - 3)
        keep &= smooth.time[place + 2] - smooth.time[place - 1] < 3.5 * self._step  # no hole in between
        rows = np.flatnonzero(keep)
        samples = self._samples(time[rows], self._shown.values[rows], at[rows], place[rows])
        self._shown.forget(done)
        smooth.forget(max(0, int(np.searchsorted(smooth.time, float(at[done - 1]))) - 4))
        if not len(rows):
            return None
        self._last = float(samples.time[-1])
        return samples

    def _samples(self, time: Array, shown: Array, at: Array, place: np.ndarray) -> Samples:
        smooth = self._smooth
        u = (at - smooth.time[place]) / self._step
        weights = np.stack(
            [
                -u * (u - 1) * (u - 2) / 6,
                (u + 1) * (u - 1) * (u - 2) / 2,
                -(u + 1) * u * (u - 2) / 2,
                (u + 1) * u * (u - 1) / 6,
            ],
            axis=1,
        )
        near = np.stack([smooth.values[place + k] for k in (-1, 0, 1, 2)], axis=1)
        q, dq, ddq = np.split(np.einsum("tk,tkj->tj", weights, near), 3, axis=1)
        return Samples(time, shown, wrist_motion(self.robot, q, dq, ddq, self._frame), q, dq, ddq)

    def _smoothen(self) -> None:
        """Everything that has half a window of positions on either side, up to each hole and behind it."""
        raw = self._raw
        holes = np.flatnonzero(np.diff(raw.time) > GAP_STEPS * self._step) + 1
        parts: list[tuple[Array, Array]] = []
        begin = 0
        for end in [*holes.tolist(), len(raw.time)]:
            self._to_grid(raw.time[begin:end], raw.values[begin:end])
            parts.append(self._filtered())
            if end < len(raw.time):
                self._even.forget(len(self._even.time))  # begin again behind the hole
                begin = end
        raw.forget(max(begin, len(raw.time) - 4))
        self._smooth.add(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def _filtered(self) -> tuple[Array, Array]:
        """What is new of the grid's positions, velocities and accelerations, with its time."""
        even, half = self._even, self._filter.half
        count = len(even.time) - 2 * half
        if count <= 0:
            return np.empty(0), np.empty((0, self._smooth.values.shape[1]))
        windows = np.lib.stride_tricks.sliding_window_view(even.values, 2 * half + 1, axis=0)
        taps = (self._filter.value, self._filter.first, self._filter.second)
        values = np.concatenate([windows @ tap for tap in taps], axis=1)
        time = even.time[half : half + count]
        even.forget(count)
        return time, values

    def _to_grid(self, time: Array, values: Array) -> None:
        """Measured positions without a hole go on with the grid, or begin one."""
        if len(time) < 4:
            return
        even = self._even
        start = even.time[-1] + self._step if len(even.time) else time[0]
        count = int(np.floor((time[-1] - start) / self._step + 1e-6)) + 1
        if count > 0:
            out = np.empty((values.shape[1], count))
            interpolate(time, values, float(start), self._step, out)
            even.add(start + self._step * np.arange(count), out.T)


class _Series:
    """Values over time that grow at one end and are forgotten at the other."""

    def __init__(self, width: int) -> None:
        self.time, self.values = np.empty(0), np.empty((0, width))

    def add(self, time: Array, values: Array) -> None:
        good = np.isfinite(values).all(axis=1)
        if len(self.time):
            good &= time > self.time[-1]
        if not good.all():
            time, values = time[good], values[good]
        self.time = np.concatenate([self.time, time])
        self.values = np.concatenate([self.values, values])

    def forget(self, count: int) -> None:
        self.time, self.values = self.time[count:], self.values[count:]


def joined(parts: list[Samples]) -> Samples:
    """Samples that follow one another, as one."""
    values = {
        f.name: np.concatenate([getattr(part, f.name) for part in parts])
        for f in fields(Samples)
        if f.name != "wrist"
    }
    wrist = WristMotion(
        *(np.concatenate([getattr(part.wrist, f.name) for part in parts]) for f in fields(WristMotion))
    )
    return replace(parts[0], wrist=wrist, **values)
