"""A load on a wrist sensor: from one recorded motion (`fit_wrench`), and while it is carried (`PayloadEstimator`).

While the gripper is empty, its own known numbers and the wrench tell the sensor's bias, and gravity and delay where
they are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.wrench import WrenchTerms, integral_terms, window_means, wrench_terms
from heft.identify.data.white_noise import white_noise
from heft.identify.errors import ProblemError
from heft.identify.payload.estimation.batch import ChannelRows, fit_rows
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.force_direction import sign_doubt
from heft.identify.payload.estimation.inputs import gravity_vector, rotations, series, ten_numbers, times
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.recursive import LoadEstimator
from heft.identify.payload.estimation.sample_chunks import parabolas
from heft.identify.payload.estimation.track import ChunkRows, Track
from heft.identify.payload.estimation.unknowns import Unknowns
from heft.identify.payload.estimation.wrench_channels import DOWN, SIDES, WrenchChannels

__all__ = ["UNALIGNED_STD_S", "PayloadEstimator", "WristSensor", "fit_wrench", "fit_wrench_integral"]

UNALIGNED_STD_S = 1e-3
"""Standard deviation of a wrist sensor's delay [s] where nothing has told it."""


@dataclass(frozen=True)
class _QuickMotionRules:
    """How little quick motion counts.

    Tuned, as the drift of a sensor below, until 95 % intervals of the mass held on the simulated rig while standing, in
    slow and in quick motion (`benchmarks/coverage.py --rigs payload`).

    noise      times the noise of accelerations: more than that is motion
    distorted  part of quick motion that filters get wrong
    mass, arm  [kg], [m] of a load that this is weighed for
    memory_s   [s] of the noise that a filter of 25 Hz leaves in accelerations: rms of its integral over its own
    """

    noise: float = 3.0
    distorted: float = 0.4
    mass: float = 1.0
    arm: float = 0.15
    memory_s: float = 0.008


_QUICK = _QuickMotionRules()


@dataclass(frozen=True)
class WristSensor:
    """What is known of a wrist sensor and its timing.

    Noise [N], [N m] rms of a sample; drift [N], [N m] of the bias per square root of a second; bias [N], [N m]: its
    size when nothing has been measured; `delay_std` [s]: what is left of the delay after the streams were aligned
    (0: nothing); acceleration noise [m/s2], [rad/s2]: rms of what is left of it in the kinematics after filtering
    (white noise on top is seen by itself); `reaction`: the sensor reports the load's action on it.
    """

    force_noise: float = 0.05  # good strain-gauge sensors at 1 kHz
    torque_noise: float = 0.002
    force_drift: float = 0.00085  # a warm sensor: some mN in the seconds that matter
    torque_drift: float = 3.5e-5
    force_bias: float = 100.0  # as large as a sensor's range
    torque_bias: float = 10.0
    delay_std: float = 2e-4  # what clocks and delays can be aligned to
    linear_acceleration_noise: float = 0.01  # encoders of 1e-5 rad through a filter of 10 to 20 Hz
    angular_acceleration_noise: float = 0.02
    reaction: bool = False

    @classmethod
    def from_samples(cls, time: Array, wrench: Array, *, delay_std: float | None = None) -> WristSensor:
        """With the white noise that samples (T, 6) at `time` [s] (T,) show; that of three axes is taken to be alike."""
        force, torque = np.sqrt(np.mean(white_noise(time, wrench).reshape(2, 3) ** 2, axis=1)).tolist()
        default = cls()
        return replace(
            default,
            force_noise=max(force, 1e-4),
            torque_noise=max(torque, 1e-6),
            delay_std=default.delay_std if delay_std is None else delay_std,
        )

    def __post_init__(self) -> None:
        for name in ("force_noise", "torque_noise", "force_bias", "torque_bias"):
            if not 0 < getattr(self, name) < np.inf:
                raise ProblemError(f"sensor: {name} {getattr(self, name):g}, must be above zero")
        for name in (
            "force_drift",
            "torque_drift",
            "delay_std",
            "linear_acceleration_noise",
            "angular_acceleration_noise",
        ):
            if not 0 <= getattr(self, name) < np.inf:
                raise ProblemError(f"sensor: {name} {getattr(self, name):g}, must not be negative")


def fit_wrench(
    rotation: ArrayLike,
    wrench: ArrayLike,
    angular_velocity: ArrayLike | None = None,
    angular_acceleration: ArrayLike | None = None,
    linear_acceleration: ArrayLike | None = None,
    gravity: ArrayLike | None = (0.0, 0.0, -9.81),
    reaction: bool = False,
    *,
    gripper: ArrayLike | None = None,
    prior: ObjectPrior | None = None,
) -> PayloadEstimate:
    """The load on a wrist sensor (004, Eq. 8), fully physically consistent, with intervals that hold.

    All samples at once, the bias unknown but constant.

    Args:
        rotation: sensor to world, shape (T, 3, 3), in the order of time.
        wrench: force [N] and torque [N m] in the sensor's frame as the sensor acts on the load, shape (T, 6): at
            rest the force points up.
        angular_velocity: of the sensor in its own frame [rad/s], shape (T, 3); None: zero.
        angular_acceleration: likewise [rad/s2].
        linear_acceleration: of the sensor's origin in the sensor's frame [m/s2], without gravity.
        gravity: in the world frame [m/s2]; None: its direction is estimated, at 9.80665 m/s2.
        reaction: the sensor reports the opposite, the load's action on it.
        gripper: ten numbers, in the sensor's frame, of what hangs on the sensor beside the load.
        prior: what is known of the object.

    Returns:
        The load in the sensor's frame: `.mass`, `.com`, `.inertia` (about the sensor's origin), `.bias`,
        `.gravity`, `.std`, `.prior_dominated`.
    """
    to_world = rotations(rotation)
    count = len(to_world)
    kinematics = {
        "angular_velocity": angular_velocity,
        "angular_acceleration": angular_acceleration,
        "linear_acceleration": linear_acceleration,
    }
    moved = {
        name: series(name, values, count, 3) for name, values in kinematics.items() if values is not None
    }
    terms, values = wrench_terms(to_world, **moved), series("wrench", wrench, count, 6)
    estimate = _fit_terms(terms, values, gravity, reaction, gripper, prior)
    if gravity is None:
        return estimate
    force = values[:, :3] if not reaction else -values[:, :3]
    doubt = sign_doubt(to_world, force, gravity_vector(gravity), moved.get("linear_acceleration"))
    return estimate if doubt is None else replace(estimate, warnings=(*estimate.warnings, doubt))


def fit_wrench_integral(
    time: ArrayLike,
    rotation: ArrayLike,
    wrench: ArrayLike,
    angular_velocity: ArrayLike,
    linear_velocity: ArrayLike,
    gravity: ArrayLike | None = (0.0, 0.0, -9.81),
    reaction: bool = False,
    *,
    window: int = 50,
    gripper: ArrayLike | None = None,
    prior: ObjectPrior | None = None,
) -> PayloadEstimate:
    """As `fit_wrench`, by the integral form, which needs no acceleration (004, Eq. 25 to 27).

    `time` [s] (T,); `linear_velocity` of the sensor's origin in the sensor's frame [m/s] (T, 3); `window` is the
    length of the integrals in sample intervals.
    """
    to_world = rotations(rotation)
    count = len(to_world)
    stamps = times(time, count)
    rates = series("angular_velocity", angular_velocity, count, 3)
    speeds = series("linear_velocity", linear_velocity, count, 3)
    terms = integral_terms(stamps, to_world, rates, speeds, window)
    means = window_means(stamps, series("wrench", wrench, count, 6), window)
    return _fit_terms(terms, means, gravity, reaction, gripper, prior)


def _fit_terms(
    terms: WrenchTerms,
    values: Array,
    gravity: ArrayLike | None,
    reaction: bool,
    gripper: ArrayLike | None,
    prior: ObjectPrior | None,
) -> PayloadEstimate:
    """The load from terms of T instants or windows, and the wrenches there [N], [N m], shape (T, 6)."""
    known = None if gravity is None else gravity_vector(gravity)
    tool = ten_numbers("gripper", gripper)
    sign = -1.0 if reaction else 1.0
    sides = [WrenchChannels(side, known, False, tool) for side in SIDES]
    channels = []
    for side, lifted, three in zip(SIDES, sides, (values[:, :3], values[:, 3:]), strict=True):
        rows, offset = lifted.rows(lifted.coefficients(terms), None, loaded=True)
        channels.append(ChannelRows(side, lifted, rows, sign * three - offset, moved=lifted.moved))
    if known is not None:
        starts = [known]
    else:  # the weight that the unconstrained fit sees, and straight down
        seen = sides[0].gravity_of(channels[0].factor.least_norm())
        starts = [DOWN] if seen is None else [seen, DOWN]
    return fit_rows(
        channels, "sensor", starts, prior or ObjectPrior(), free_gravity=known is None, bias_sign=sign
    ).estimate


class PayloadEstimator(LoadEstimator):
    """The load on a wrist sensor, recursively, in the sensor's frame.

    Args:
        sensor: noise, drift and timing.
        gripper: ten numbers, in the sensor's frame, of what hangs on it beside the load; from a bare run.
        gravity: in the world frame [m/s2]; None: its direction is estimated, at 9.80665 m/s2.
        memory_s: information fades by 1/e in this time, so that a load that changes (a bottle that empties) is
            followed.
        chunk: samples that are taken at a time, by their mean; longer ones are less disturbed by noise in the
            accelerations, shorter ones tell more of quick motion.
    """

    def __init__(
        self,
        sensor: WristSensor | None = None,
        *,
        gripper: ArrayLike | None = None,
        gravity: ArrayLike | None = (0.0, 0.0, -9.81),
        memory_s: float = 60.0,
        chunk: int = 100,
    ) -> None:
        self.sensor = s = sensor or WristSensor()
        self._gravity = None if gravity is None else gravity_vector(gravity)
        tool = ten_numbers("gripper", gripper)
        force, torque = (WrenchChannels(side, self._gravity, s.delay_std > 0, tool) for side in SIDES)
        self._channels = (force, torque)
        super().__init__(
            [
                (_track(force, s.force_noise, s.force_drift, s.force_bias), force.load),
                (_track(torque, s.torque_noise, s.torque_drift, s.torque_bias), torque.load),
            ],
            frame="sensor",
            memory_s=memory_s,
            chunk=chunk,
            unknowns=Unknowns(s.delay_std or None, free_gravity=gravity is None),
            bias_sign=-1.0 if s.reaction else 1.0,
        )

    def update(
        self,
        time: ArrayLike,
        rotation: ArrayLike,
        wrench: ArrayLike,
        angular_velocity: ArrayLike,
        angular_acceleration: ArrayLike,
        linear_acceleration: ArrayLike,
    ) -> None:
        """Take in samples: time [s] (N,) and the arguments of `fit_wrench`, all at the same instants.

        Samples that are no free motion (a grasp in progress, a contact) are simply not given: the bias is taken to
        walk on meanwhile.
        """
        turned = rotations(rotation)
        count = len(turned)
        table = np.empty((count, 25))
        table[:, 0] = times(time, count)
        table[:, 1:10] = turned.reshape(count, 9)
        table[:, 10:16] = self._bias_sign * series("wrench", wrench, count, 6)
        table[:, 16:19] = series("angular_velocity", angular_velocity, count, 3)
        table[:, 19:22] = series("angular_acceleration", angular_acceleration, count, 3)
        table[:, 22:25] = series("linear_acceleration", linear_acceleration, count, 3)
        self._add(table)

    def _blocks(self, chunks: Array) -> list[list[ChunkRows]]:
        """Each chunk as its mean, times the root of its length.

        Both sides of the equation of motion are averaged, so nothing is approximated (it is the integral form, 004,
        Eq. 25 to 27: a mean acceleration is a difference of velocities); what is left out is vibration, and most of
        the noise in the accelerations, which is the larger the quicker it is. A parabola shows that noise, and
        motion too quick for the filter that the accelerations come from: such a chunk counts less.
        """
        s, (parts, count, _) = self.sensor, chunks.shape
        basis, slope = parabolas(chunks[:, :, 0])
        back, order = np.swapaxes(basis, 1, 2), basis.shape[2]
        span = max(float(chunks[0, -1, 0] - chunks[0, 0, 0]), 1e-3)
        table = chunks.reshape(parts * count, -1)
        terms = wrench_terms(
            table[:, 1:10].reshape(-1, 3, 3), table[:, 16:19], table[:, 19:22], table[:, 22:25]
        )
        accelerations = chunks[:, :, 19:25]
        rest = accelerations - basis @ (back @ accelerations)
        white = np.sum(rest**2, axis=1) / max(count - order, 1)
        gain = np.sum(slope[:, 0] ** 2, axis=1)
        weights = self._weights(white, count)
        slowness = min(1.0, 2 * (_QUICK.memory_s / span) ** 2)
        wrench = back[:, :1] @ chunks[:, :, 10:16]
        ones = basis.sum(axis=1)[:, :1]
        blocks: list[list[ChunkRows]] = [[] for _ in range(parts)]
        for side, channels in enumerate(self._channels):
            coefficients = back @ channels.coefficients(terms).reshape(parts, count, -1)
            slopes = (slope[:, :1] @ coefficients).reshape(parts, 3, -1) if s.delay_std > 0 else None
            rows, offset = channels.rows(coefficients[:, 0].reshape(parts, 3, -1), slopes, self._loaded)
            rows = rows.reshape(parts, 1, 3, -1)
            values = wrench[:, :, 3 * side : 3 * side + 3] - offset.reshape(parts, 1, 3)
            slow = channels.column_noise(
                s.linear_acceleration_noise**2, s.angular_acceleration_noise**2, 2 / (span**2 * slowness)
            )
            for part in range(parts):
                seen = channels.column_noise(white[part, 3:].mean(), white[part, :3].mean(), gain[part])
                w = weights[part, side]
                blocks[part].append(
                    ChunkRows(
                        w * ones[part],
                        w * rows[part],
                        w * values[part],
                        w**2 * seen,
                        w**2 * count * slowness * slow,
                    )
                )
        return blocks

    def _weights(self, quick: Array, count: int) -> Array:
        """What each chunk counts for force and torque, shape (parts, 2); `quick` (parts, 6) is the mean square of the
        angular and linear accelerations that a parabola leaves: beyond their noise, a part of it is wrong.
        """
        s = self.sensor
        angular, linear = (
            np.maximum(quick[:, part].mean(axis=1) - (_QUICK.noise * noise) ** 2, 0.0)
            * _QUICK.distorted**2
            * count
            for part, noise in (
                (slice(0, 3), s.angular_acceleration_noise),
                (slice(3, 6), s.linear_acceleration_noise),
            )
        )
        mass, arm = _QUICK.mass, _QUICK.arm
        force = mass**2 * (linear + arm**2 * angular) / s.force_noise**2
        torque = (mass * arm) ** 2 * (linear + arm**2 * angular) / s.torque_noise**2
        return np.asarray(1 / np.sqrt(1 + np.stack([force, torque], axis=1)))

    def _first_gravity(self) -> Array:
        if self._gravity is not None:
            return self._gravity
        seen = self._channels[0].gravity_of(self._tracks[0].unconstrained())
        return DOWN if seen is None else seen


def _track(channels: WrenchChannels, noise: float, drift: float, bias: float) -> Track:
    return Track(channels, np.full(3, noise), np.full(3, drift), np.full(3, bias))
