"""What hangs on the wrist sensor when nothing is held, and how late the sensor is: from a stretch with a bare hand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from identify.arrays import Array, frozen
from identify.payload.align import Samples
from identify.payload.chart import derivative_by_moments
from identify.payload.covariance import GRAVITY_DIFFERS
from identify.payload.estimate import PayloadEstimate
from identify.payload.recursive import PayloadEstimator, WristSensor

__all__ = ["Hand", "fit_hand", "fitting", "motion_of", "samples_in", "sensor_of", "with_hand_doubt"]

T = TypeVar("T")

WIDEST_DELAY_S = 5e-3  # standard deviation of a delay of which nothing is known
LEAST_DELAY_STD_S = 2e-5
PASSES = 3  # the delay enters to first order
LIGHT_MASS_STD = 0.01  # [kg]: a hand that weighs nothing is known, though not where its weight is
LIGHT_MOMENT_STD = 0.002  # [kg m]
TILTED = np.radians(2.0)  # gravity may be so far from what the robot's file says
TILT_SIGMAS = 5.0
CHUNK_S = 0.1  # taken at a time: over so long, the noise of accelerations is small beside the wrench's own
LEAST_CHUNK = 4  # samples
GOOD_HZ = 1000.0  # at which noise and drift of a good sensor are known

#: Work that is done a bit at a time: whoever has nothing better to do goes on with it.
Work = Generator[None, None, T]


@dataclass(frozen=True)
class Hand:
    """The bare hand.

    ten         its ten numbers in the sensor's frame
    covariance  of these, shape (10, 10)
    delay_s     of the wrench against the joints, and its standard deviation
    sensor      noise of the wrist sensor, as it was found
    gravity     [m/s2] in the world's frame, where its direction was found with the hand; None: as the robot's file says
    tilt_std    standard deviation of the direction that was found [rad]
    """

    ten: Array
    covariance: Array
    delay_s: float
    delay_std_s: float
    sensor: WristSensor
    gravity: Array | None = None
    tilt_std: float = 0.0

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.ten[0])

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "ten": self.ten.tolist(),
            "covariance": self.covariance.tolist(),
            "delay_s": self.delay_s,
            "delay_std_s": self.delay_std_s,
            "sensor": asdict(self.sensor),
            "gravity": None if self.gravity is None else self.gravity.tolist(),
            "tilt_std": self.tilt_std,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hand:
        """Inverse of `to_dict`."""
        names = ("ten", "covariance", "gravity")
        arrays = {name: frozen(data[name]) for name in names if data.get(name) is not None}
        return cls(**{**data, **arrays, "sensor": WristSensor(**data["sensor"])})


def sensor_of(wrench: Array, base: WristSensor | None = None) -> WristSensor:
    """The sensor with the noise that its samples (T, 6) show: what neighbours do not share."""
    rough = np.diff(wrench, n=2, axis=0) / np.sqrt(6.0)
    force, torque = (float(np.sqrt(np.mean(rough[:, part] ** 2))) for part in (slice(0, 3), slice(3, 6)))
    return replace(base or WristSensor(), force_noise=max(force, 1e-4), torque_noise=max(torque, 1e-6))


def _drifting(sensor: WristSensor, rate_hz: float) -> WristSensor:
    """A sensor that is noisier than a good one drifts more, too: taken to be by as much.

    It also takes longer to see where its bias has gone, and one that is believed to stay would be believed too long.
    """
    good, since = WristSensor(), np.sqrt(GOOD_HZ / rate_hz)
    force = max(1.0, since * sensor.force_noise / good.force_noise)
    torque = max(1.0, since * sensor.torque_noise / good.torque_noise)
    return replace(sensor, force_drift=force * sensor.force_drift, torque_drift=torque * sensor.torque_drift)


def samples_in(span_s: float, rate_hz: float) -> int:
    """How many samples an estimator takes at a time, for chunks of `span_s` [s]."""
    return max(LEAST_CHUNK, round(span_s * rate_hz))


def fit_hand(
    samples: Callable[[float], Samples], gravity: Array | None, *, base: WristSensor | None = None
) -> Hand | None:
    """The hand from bare motion; `samples(delay_s)` gives it aligned by a delay. None: the motion does not tell.

    `gravity` None: its direction is found too (a wall-mounted arm of which the robot's file does not know). It is also
    found where the motion contradicts the one that is given; the hand then has a `gravity`.
    """

    def at_once(delay_s: float) -> Work[Samples]:
        yield
        return samples(delay_s)

    work = fitting(at_once, gravity, base=base)
    while True:
        try:
            next(work)
        except StopIteration as end:
            hand: Hand | None = end.value
            return hand


def fitting(
    samples: Callable[[float], Work[Samples]],
    gravity: Array | None,
    *,
    base: WristSensor | None = None,
    step: int | None = None,
) -> Work[Hand | None]:
    """The same a bit at a time, `step` samples each."""
    free = yield from _fitted(samples, None, base, step)
    if gravity is None or (free is not None and _contradicts(free, gravity)):
        return free
    return (yield from _fitted(samples, gravity, base, step))


def _fitted(
    samples: Callable[[float], Work[Samples]],
    gravity: Array | None,
    base: WristSensor | None,
    step: int | None,
) -> Work[Hand | None]:
    """The hand as a load, with the delay as one more unknown, and once more about the delay that was found."""
    delay, spread = 0.0, WIDEST_DELAY_S
    found: PayloadEstimate | None = None
    sensor = WristSensor()
    for _ in range(PASSES):
        part = yield from samples(delay)
        if len(part) < 200:
            return None
        rate_hz = 1.0 / float(np.median(np.diff(part.time)))
        sensor = replace(_drifting(sensor_of(part.shown, base), rate_hz), delay_std=spread)
        chunk = samples_in(CHUNK_S, rate_hz)
        estimator = PayloadEstimator(sensor, gravity=gravity, chunk=chunk)
        estimator.grasped()
        for start in range(0, len(part), step or len(part)):
            piece = part.part(slice(start, start + (step or len(part))))
            estimator.update(piece.time, **motion_of(piece))
            yield
        found = estimator.estimate()
        delay += found.delay
        yield
    assert found is not None
    by_y = derivative_by_moments(found.body)
    covariance = by_y @ found.covariance @ by_y.T
    tilt = _tilt_std(found)
    if not _told(found, covariance) or TILT_SIGMAS * tilt > TILTED:
        return None
    doubt = max(found.delay_std, LEAST_DELAY_STD_S)
    return Hand(
        frozen(found.ten),
        frozen(covariance),
        float(delay),
        float(doubt),
        replace(sensor, delay_std=doubt),
        found.gravity if gravity is None else None,
        tilt,
    )


def _told(found: PayloadEstimate, covariance: Array) -> bool:
    """Mass and centre of mass are measured; or so little hangs there that it cannot be taken for a load."""
    if not {"mass", "com"} & set(found.prior_dominated):
        return True
    std = np.sqrt(np.diag(covariance))
    return bool(std[0] < LIGHT_MASS_STD and std[1:4].max() < LIGHT_MOMENT_STD)


def _tilt_std(found: PayloadEstimate) -> float:
    """Standard deviation of gravity's direction [rad], without that of its size."""
    size = float(np.linalg.norm(found.gravity))
    return float(np.sqrt(max(np.sum(found.gravity_std**2) / size**2 - GRAVITY_DIFFERS**2, 0.0)))


def _contradicts(hand: Hand, gravity: Array) -> bool:
    """Whether gravity as it was found with the hand points elsewhere than `gravity`."""
    assert hand.gravity is not None
    sizes = np.linalg.norm(hand.gravity) * np.linalg.norm(gravity)
    angle = float(np.arccos(np.clip(hand.gravity @ gravity / sizes, -1.0, 1.0)))
    return angle > max(TILTED, TILT_SIGMAS * hand.tilt_std)


def with_hand_doubt(estimate: PayloadEstimate, hand: Hand) -> PayloadEstimate:
    """The load with the doubt about the hand that was taken off: what one of them has more, the other has less."""
    by_ten = np.linalg.inv(derivative_by_moments(estimate.body))
    doubt = by_ten @ hand.covariance @ by_ten.T
    if hand.gravity is not None:
        doubt[0, 0] += (GRAVITY_DIFFERS * estimate.mass) ** 2
        doubt[1:4, 1:4] += np.eye(3) * (hand.tilt_std * float(np.linalg.norm(estimate.com))) ** 2
    return replace(estimate, covariance=frozen(estimate.covariance + doubt))


def motion_of(part: Samples) -> dict[str, Array]:
    """Arguments of an estimator's `update` beside the time."""
    wrist = part.wrist
    return {
        "rotation": wrist.rotation,
        "wrench": part.shown,
        "angular_velocity": wrist.angular_velocity,
        "angular_acceleration": wrist.angular_acceleration,
        "linear_acceleration": wrist.linear_acceleration,
    }
