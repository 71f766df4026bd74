"""The bare hand from a stretch of motion with nothing held, for weighing: a load with a delay."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.sample_chunks import CHUNK_S, chunk_length
from heft.identify.payload.estimation.uncertainty import GRAVITY_DIFFERS
from heft.identify.payload.estimation.wrist_sensor import PayloadEstimator, WristSensor
from heft.identify.payload.kinematics.alignment import Samples

__all__ = ["Work", "fit_hand", "fit_hand_stepwise"]

T = TypeVar("T")

Work = Generator[None, None, T]
"""A computation in steps of some milliseconds, for a thread that must not be away for longer; it returns T."""


@dataclass(frozen=True)
class HandRules:
    """When a motion tells the bare hand. Set by hand; `tests/identify/payload/bare_hand` tries them on simulated hands.

    widest_delay_std_s  [s] of a sensor of which nothing at all is known
    least_delay_std_s   [s]: no delay is known better
    least_samples       of motion
    passes              the delay enters to first order
    light_mass_std      [kg]: a hand that weighs nothing is known, though not where its weight is
    light_moment_std    [kg m] the same
    tilted              [rad]: gravity may be so far from what the robot's file says
    tilt_sigmas         standard deviations of its direction that contradict the file
    good_hz             [Hz] at which noise and drift of a good sensor (`WristSensor()`) are known
    """

    widest_delay_std_s: float = 5e-3
    least_delay_std_s: float = 2e-5
    least_samples: int = 200
    passes: int = 3
    light_mass_std: float = 0.01
    light_moment_std: float = 0.002
    tilted: float = float(np.radians(2.0))
    tilt_sigmas: float = 5.0
    good_hz: float = 1000.0


HAND_RULES = HandRules()


def _drifting(sensor: WristSensor, rate_hz: float) -> WristSensor:
    """A sensor that is noisier than a good one drifts more, too: taken to be by as much.

    It also takes longer to see where its bias has gone, and one that is believed to stay would be believed too long.
    """
    good, since = WristSensor(), np.sqrt(HAND_RULES.good_hz / rate_hz)
    force = max(1.0, since * sensor.force_noise / good.force_noise)
    torque = max(1.0, since * sensor.torque_noise / good.torque_noise)
    return replace(sensor, force_drift=force * sensor.force_drift, torque_drift=torque * sensor.torque_drift)


def fit_hand(samples: Callable[[float], Samples], gravity: Array | None) -> Hand | None:
    """The hand from bare motion; `samples(delay_s)` gives it aligned by a delay. None: the motion does not tell.

    `gravity` None: its direction is found too (a wall-mounted arm of which the robot's file does not know). It is also
    found where the motion contradicts the one that is given; the hand then has a `gravity`.
    """

    def at_once(delay_s: float) -> Work[Samples]:
        yield
        return samples(delay_s)

    work = fit_hand_stepwise(at_once, gravity)
    while True:
        try:
            next(work)
        except StopIteration as end:
            hand: Hand | None = end.value
            return hand


def fit_hand_stepwise(
    samples: Callable[[float], Work[Samples]], gravity: Array | None, *, step: int | None = None
) -> Work[Hand | None]:
    """As `fit_hand`, in steps of `step` samples each."""
    free = yield from _fitted(samples, None, step)
    if gravity is None or (free is not None and _contradicts(free, gravity)):
        return free
    return (yield from _fitted(samples, gravity, step))


def _fitted(
    samples: Callable[[float], Work[Samples]], gravity: Array | None, step: int | None
) -> Work[Hand | None]:
    """The hand as a load, with the delay as one more unknown, and once more about the delay that was estimated."""
    delay, spread = 0.0, HAND_RULES.widest_delay_std_s
    estimate: PayloadEstimate | None = None
    sensor = WristSensor()
    for _ in range(HAND_RULES.passes):
        part = yield from samples(delay)
        if len(part) < HAND_RULES.least_samples:
            return None
        rate_hz = 1.0 / float(np.median(np.diff(part.time)))
        sensor = replace(
            _drifting(WristSensor.from_samples(part.time, part.shown), rate_hz), delay_std=spread
        )
        chunk = chunk_length(CHUNK_S, rate_hz)
        estimator = PayloadEstimator(sensor, gravity=gravity, chunk=chunk)
        estimator.grasped()
        for start in range(0, len(part), step or len(part)):
            piece = part.part(slice(start, start + (step or len(part))))
            estimator.update(**piece.wrench_motion)
            yield
        estimate = estimator.estimate()
        delay += estimate.delay
        yield
    assert estimate is not None
    by_y = estimate.body.derivative_by_moments()
    covariance = by_y @ estimate.covariance @ by_y.T
    tilt = _tilt_std(estimate)
    if not _determined(estimate, covariance) or HAND_RULES.tilt_sigmas * tilt > HAND_RULES.tilted:
        return None
    doubt = max(estimate.delay_std, HAND_RULES.least_delay_std_s)
    return Hand(
        frozen(estimate.ten),
        frozen(covariance),
        float(delay),
        float(doubt),
        replace(sensor, delay_std=doubt),
        estimate.gravity if gravity is None else None,
        tilt,
    )


def _determined(estimate: PayloadEstimate, covariance: Array) -> bool:
    """Mass and centre of mass are measured; or so little hangs there that it cannot be taken for a load."""
    if not {"mass", "com"} & set(estimate.prior_dominated):
        return True
    std = np.sqrt(np.diag(covariance))
    return bool(std[0] < HAND_RULES.light_mass_std and std[1:4].max() < HAND_RULES.light_moment_std)


def _tilt_std(estimate: PayloadEstimate) -> float:
    """Standard deviation of gravity's direction [rad], without that of its size."""
    size = float(np.linalg.norm(estimate.gravity))
    return float(np.sqrt(max(np.sum(estimate.gravity_std**2) / size**2 - GRAVITY_DIFFERS**2, 0.0)))


def _contradicts(hand: Hand, gravity: Array) -> bool:
    """Whether gravity as it was found with the hand points elsewhere than `gravity`."""
    assert hand.gravity is not None
    sizes = np.linalg.norm(hand.gravity) * np.linalg.norm(gravity)
    angle = float(np.arccos(np.clip(hand.gravity @ gravity / sizes, -1.0, 1.0)))
    return angle > max(HAND_RULES.tilted, HAND_RULES.tilt_sigmas * hand.tilt_std)
