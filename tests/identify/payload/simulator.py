"""A load on a wrist sensor, from first principles: point masses, each accelerated and weighed on its own.

Nothing here comes from the package under test: positions of the points are differentiated numerically, and force
and torque are summed over the points in the world frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GRAVITY = np.array([0.0, 0.0, -9.81])
_H = 2e-4  # [s] step of the five-point differences


def first(f: Callable[[Array], Array], t: Array) -> Array:
    """Derivative of f at t."""
    return (f(t - 2 * _H) - 8 * f(t - _H) + 8 * f(t + _H) - f(t + 2 * _H)) / (12 * _H)


def second(f: Callable[[Array], Array], t: Array) -> Array:
    """Second derivative of f at t."""
    return (-f(t - 2 * _H) + 16 * f(t - _H) - 30 * f(t) + 16 * f(t + _H) - f(t + 2 * _H)) / (12 * _H**2)


@dataclass(frozen=True)
class Points:
    """A body made of points: positions [m] (n, 3) in the sensor frame and masses [kg] (n,)."""

    positions: Array
    masses: Array

    @property
    def mass(self) -> float:
        return float(self.masses.sum())

    @property
    def com(self) -> Array:
        return self.masses @ self.positions / self.mass

    def inertia(self, about: Array) -> Array:
        total = np.zeros((3, 3))
        for mass, r in zip(self.masses, self.positions - about, strict=True):
            total += mass * (r @ r * np.eye(3) - np.outer(r, r))
        return total

    @property
    def ten(self) -> Array:
        inertia = self.inertia(np.zeros(3))
        return np.array(
            [self.mass, *(self.mass * self.com), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
        )


def box(rng: np.random.Generator, mass: float, dimensions: Array, com: Array) -> Points:
    """A box of 27 points in any orientation, unevenly heavy."""
    corners = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    positions = corners * np.asarray(dimensions) / 2 @ q.T
    masses = rng.uniform(0.6, 1.4, size=27)
    masses *= mass / masses.sum()
    body = Points(positions, masses)
    return Points(positions - body.com + com, masses)


def hand() -> Points:
    """A gripper of 0.78 kg."""
    return box(np.random.default_rng(7), 0.78, np.array([0.07, 0.12, 0.09]), np.array([0.002, -0.001, 0.052]))


@dataclass(frozen=True)
class Motion:
    """Angles (z, y, x) and position as sums of sines that swell after `start` [s]; amplitudes [rad] and [m]."""

    start: float
    angle: Array
    angle_hz: Array
    place: Array
    place_hz: Array
    pose: Array = field(default_factory=lambda: np.zeros(3))

    def _swell(self, t: Array) -> Array:
        u = np.clip((t - self.start) / 0.7, 0.0, 1.0)
        return u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)

    def _sines(self, t: Array, size: Array, hz: Array) -> Array:
        return self._swell(t)[:, None] * np.sum(
            size * np.sin(2 * np.pi * hz * (t[:, None, None] - self.start)), axis=1
        )

    def rotation(self, t: Array) -> Array:
        a, b, c = (self.pose + self._sines(t, self.angle, self.angle_hz)).T
        zero, one = np.zeros_like(a), np.ones_like(a)
        z = np.array([[np.cos(a), -np.sin(a), zero], [np.sin(a), np.cos(a), zero], [zero, zero, one]])
        y = np.array([[np.cos(b), zero, np.sin(b)], [zero, one, zero], [-np.sin(b), zero, np.cos(b)]])
        x = np.array([[one, zero, zero], [zero, np.cos(c), -np.sin(c)], [zero, np.sin(c), np.cos(c)]])
        return np.einsum("ijt,jkt,klt->til", z, y, x)

    def position(self, t: Array) -> Array:
        return self._sines(t, self.place, self.place_hz)

    def kinematics(self, t: Array) -> dict[str, Array]:
        """Arguments of the estimators at t."""
        R = self.rotation(t)
        back = np.swapaxes(R, 1, 2)
        spin, jolt = back @ first(self.rotation, t), back @ second(self.rotation, t)
        jolt = (jolt - np.swapaxes(jolt, 1, 2)) / 2

        def axial(m: Array) -> Array:
            return np.stack([m[:, 2, 1], m[:, 0, 2], m[:, 1, 0]], axis=1)

        return {
            "rotation": R,
            "angular_velocity": axial(spin),
            "angular_acceleration": axial(jolt),
            "linear_acceleration": np.einsum("tij,tj->ti", back, second(self.position, t)),
        }

    def linear_velocity(self, t: Array) -> Array:
        return np.einsum("tji,tj->ti", self.rotation(t), first(self.position, t))

    def wrench(self, t: Array, body: Points, gravity: Array = GRAVITY) -> Array:
        """Force and torque on the body about the sensor's origin, in the sensor frame, (T, 6)."""
        R = self.rotation(t)
        carried, swung = second(self.position, t) - gravity, second(self.rotation, t)
        force, torque = np.zeros((len(t), 3)), np.zeros((len(t), 3))
        for mass, r in zip(body.masses, body.positions, strict=True):
            pull = mass * (carried + swung @ r)  # the second difference of position + rotation @ r
            force += pull
            torque += np.cross(R @ r, pull)
        back = np.swapaxes(R, 1, 2)
        return np.concatenate([np.einsum("tij,tj->ti", back, v) for v in (force, torque)], axis=1)


def wrist_motion(rng: np.random.Generator, start: float, vigour: float = 1.0) -> Motion:
    """A short motion of the wrist: two sines per axis, turned by up to half a radian and more."""
    return Motion(
        start,
        vigour * rng.uniform(0.15, 0.35, size=(2, 3)) * rng.choice([-1, 1], size=(2, 3)),
        rng.uniform(0.4, 1.6, size=(2, 3)),
        vigour * rng.uniform(0.0, 0.04, size=(2, 3)),
        rng.uniform(0.3, 1.0, size=(2, 3)),
        rng.uniform(-0.6, 0.6, size=3),
    )


def smoothed(noise: Array, cutoff: float) -> Array:
    """Noise through a first-order filter with this cutoff (per sample), at the same rms."""
    root = np.exp(-2 * np.pi * cutoff)
    result = noise * np.sqrt(1 - root**2)
    for k in range(1, len(result)):
        result[k] += root * result[k - 1]
    return result


@dataclass(frozen=True)
class PickUp:
    """One pick-up as the streams show it; samples from `picked` on have the object in the hand.

    `kinematics` belong to the stamps minus the nominal delay, as an aligned recording has them.
    """

    time: Array
    wrench: Array
    kinematics: dict[str, Array]
    linear_velocity: Array
    picked: int
    body: Points
    gripper: Points
    bias: Array
    delay_error: float

    def samples(self, low: float, high: float) -> dict[str, Array]:
        """Arguments of `update` for stamps within [low, high)."""
        part = slice(
            int(np.searchsorted(self.time, low - 1e-9)), int(np.searchsorted(self.time, high - 1e-9))
        )
        return {
            "time": self.time[part],
            "wrench": self.wrench[part],
            **{k: v[part] for k, v in self.kinematics.items()},
        }


def twice_differentiated(noise: np.ndarray, width: float) -> np.ndarray:
    """White noise (T, k) through the second derivative of a bell of `width` samples, with a variance of one."""
    u = np.arange(-4 * round(width), 4 * round(width) + 1) / width
    taps = (u**2 - 1) * np.exp(-(u**2) / 2)
    taps -= taps.mean()
    taps /= np.linalg.norm(taps)
    return np.stack([np.convolve(column, taps, mode="same") for column in noise.T], axis=1)


def pick_up(
    seed: int,
    *,
    seconds: float = 6.5,
    picked_s: float = 1.0,
    moving_s: float = 1.5,
    rate_hz: float = 1000.0,
    vigour: float = 1.0,
    delay_std: float = 1e-4,
    gravity: Array = GRAVITY,
    mass: float | None = None,
    kinematic_noise: float = 1.0,
    noise: float = 1.0,
    filter_hz: float | None = None,
    slow_noise: float = 0.0,
) -> PickUp:
    """A seeded pick-up: an object of 0.3 to 3 kg, 0.05 N and 2 mN m of noise, bias with drift, a delay of 3 ms.

    `filter_hz` makes the sensor's noise slow; `slow_noise` adds the noise of positions, twice differentiated
    by a filter of 25 Hz, to the accelerations, in units of 0.01 m/s2 and 0.02 rad/s2.
    """
    rng = np.random.default_rng(seed)
    mass = float(np.exp(rng.uniform(np.log(0.3), np.log(3.0)))) if mass is None else mass
    body = box(
        rng,
        mass,
        rng.uniform(0.05, 0.25, size=3),
        np.array([*rng.uniform(-0.03, 0.03, 2), rng.uniform(0.1, 0.16)]),
    )
    motion = wrist_motion(rng, moving_s, vigour)
    tool = hand()
    t = np.arange(int(seconds * rate_hz)) / rate_hz
    error = delay_std * rng.standard_normal()
    late = t - 0.003 - error
    picked = int(picked_s * rate_hz)
    wrench = motion.wrench(late, tool, gravity)
    wrench[picked:] += motion.wrench(late[picked:], body, gravity)
    six = np.array([1.0] * 3 + [0.04] * 3)
    bias = six * rng.standard_normal(6)
    drift = 0.0005 * six * rng.standard_normal(6)
    grain = 0.05 * noise * six * rng.standard_normal((len(t), 6))
    if filter_hz is not None:
        grain = smoothed(grain, filter_hz / rate_hz)
    kinematics = motion.kinematics(t - 0.003)
    kinematics["linear_acceleration"] += kinematic_noise * 0.01 * rng.standard_normal((len(t), 3))
    kinematics["angular_acceleration"] += kinematic_noise * 0.1 * rng.standard_normal((len(t), 3))
    kinematics["angular_velocity"] += kinematic_noise * 0.001 * rng.standard_normal((len(t), 3))
    if slow_noise:
        drawn = slow_noise * twice_differentiated(rng.standard_normal((len(t), 6)), 0.008 * rate_hz)
        kinematics["linear_acceleration"] += 0.01 * drawn[:, :3]
        kinematics["angular_acceleration"] += 0.02 * drawn[:, 3:]
    return PickUp(
        t,
        wrench + bias + drift * t[:, None] + grain,
        kinematics,
        motion.linear_velocity(t - 0.003),
        picked,
        body,
        tool,
        bias,
        error,
    )
