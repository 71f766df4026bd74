"""A load on a wrist sensor from one recorded motion: all samples at once, the bias unknown but constant."""

from __future__ import annotations

from numpy.typing import ArrayLike

from identify.arrays import Array
from identify.payload.batch import ChannelRows, fit_rows
from identify.payload.channels import SIDES, WrenchChannels
from identify.payload.estimate import PayloadEstimate
from identify.payload.inputs import gravity_vector, series, ten_numbers
from identify.payload.prior import ObjectPrior
from identify.payload.wrench import WrenchTerms, differential_terms, integral_terms, window_means

__all__ = ["fit_wrench", "fit_wrench_integral"]


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
    terms = differential_terms(rotation, angular_velocity, angular_acceleration, linear_acceleration)
    values = series("wrench", wrench, len(terms), 6)
    return _fit_terms(terms, values, gravity, reaction, gripper, prior)


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
    terms = integral_terms(time, rotation, angular_velocity, linear_velocity, window)
    stamps = series("time", time, None)
    values = window_means(stamps, series("wrench", wrench, len(stamps), 6), window)
    return _fit_terms(terms, values, gravity, reaction, gripper, prior)


def _fit_terms(
    terms: WrenchTerms,
    values: Array,
    gravity: ArrayLike | None,
    reaction: bool,
    gripper: ArrayLike | None,
    prior: ObjectPrior | None,
) -> PayloadEstimate:
    known = None if gravity is None else gravity_vector(gravity)
    tool = ten_numbers("gripper", gripper)
    sign = -1.0 if reaction else 1.0
    channels = []
    for side, three in zip(SIDES, (values[:, :3], values[:, 3:]), strict=True):
        lifted = WrenchChannels(side, known, False, tool)
        rows, offset = lifted.rows(lifted.coefficients(terms), None, loaded=True)
        channels.append(ChannelRows(side, lifted, rows, sign * three - offset, moved=lifted.moved))
    return fit_rows(channels, "sensor", known, prior or ObjectPrior(), bias_sign=sign)
