"""How a root that moves freely moves: angular rate, angular acceleration and specific force, in its own frame.

Nothing else enters the equations of motion. A gyroscope and an accelerometer at p in the root's frame measure, in the
root's axes,

    w   and   s + w' x p + w x (w x p),   s = acceleration of the root's origin less gravity

so that an IMU gives all but w', which is the derivative of w. On another link it measures what joints do, too, which is
taken off by their positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.data.filters import Differentiator
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["COLUMNS", "given_root", "root_from_given", "root_from_imu", "rotations"]

#: Of the table of a given motion: rate, angular acceleration, acceleration of the origin, rotation world to root.
COLUMNS = 18
UNIT = 1e-3  # by which the length of a quaternion may differ from 1


def given_root(
    t: Array, pose: ArrayLike | None, twist: ArrayLike | None, acceleration: ArrayLike | None
) -> Array | None:
    """The table (T, 18) of a motion as `Dataset.from_arrays` takes it; what is not given is derived. None: nothing is.

    Derivatives are central differences of fourth order; the fit's low-pass follows.
    """
    given = {"base_pose": (pose, 7), "base_twist": (twist, 6), "base_acceleration": (acceleration, 6)}
    arrays: dict[str, Array] = {}
    for name, (value, width) in given.items():
        if value is not None:
            arrays[name] = np.asarray(value, dtype=np.float64)
            if arrays[name].shape != (len(t), width):
                raise DataError(
                    f"{name} has shape {arrays[name].shape}; with {len(t)} stamps it must be ({len(t)}, {width})"
                )
    if not arrays:
        return None
    if "base_pose" not in arrays:
        raise DataError(
            f"{', '.join(arrays)} without base_pose: the root's orientation says where gravity pulls; give it as "
            "position and quaternion x y z w (T, 7), or give an IMU's readings (imu)"
        )
    if "base_acceleration" in arrays and "base_twist" not in arrays:
        raise DataError("base_acceleration without base_twist: give both, or the pose alone")
    to_world = rotations(arrays["base_pose"][:, 3:])
    if "base_twist" in arrays:
        velocity, rate = arrays["base_twist"][:, :3], arrays["base_twist"][:, 3:]
    else:
        velocity = (np.swapaxes(to_world, 1, 2) @ _derivative(t, arrays["base_pose"][:, :3])[:, :, None])[
            :, :, 0
        ]
        spin = np.swapaxes(to_world, 1, 2) @ _derivative(t, to_world.reshape(-1, 9)).reshape(-1, 3, 3)
        rate = 0.5 * np.stack(
            [spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]],
            axis=1,
        )
    change = arrays.get("base_acceleration")
    linear = _derivative(t, velocity) if change is None else change[:, :3]
    angular = _derivative(t, rate) if change is None else change[:, 3:]
    inward = np.swapaxes(to_world, 1, 2).reshape(-1, 9)
    return np.concatenate([rate, angular, linear + np.cross(rate, velocity), inward], axis=1)


def root_from_given(table: Array, gravity: Array) -> Array:
    """Motion of the root (9, K) from smoothed columns (18, K), for gravity in the world [m/s2] (3,)."""
    pulled = np.einsum("ijk,j->ik", table[9:].reshape(3, 3, -1), gravity)
    return np.concatenate([table[:6], table[6:9] - pulled])


def root_from_imu(
    readings: Array,
    robot: Robot,
    name: str,
    motion: Differentiator,
    joints: tuple[Array, Array, Array] | None = None,
) -> Array:
    """Motion of the root (9, K) from an IMU's readings (6, K + 2 half): rate, then specific force.

    joints   their smoothed positions, velocities and accelerations (n, K): asked for where the IMU is on another link
    """
    link, place = robot.imus[name]
    rate, turning, _ = motion.apply(readings[:3])
    force, _, _ = motion.apply(readings[3:6])
    if link < 0 or joints is None:
        (rate, turning, force), lever = (place[:3, :3] @ one for one in (rate, turning, force)), place[:3, 3]
        lever = np.broadcast_to(lever[:, None], rate.shape)
    else:
        rate, turning, force, lever = _without_joints(robot, link, place, (rate, turning, force), joints)
    inner = np.cross(rate, np.cross(rate, lever, axis=0), axis=0)
    return np.concatenate([rate, turning, force - np.cross(turning, lever, axis=0) - inner])


def _without_joints(
    robot: Robot,
    link: int,
    place: Array,
    measured: tuple[Array, Array, Array],
    joints: tuple[Array, Array, Array],
) -> tuple[Array, Array, Array, Array]:
    """Rate and angular acceleration of the root, specific force at the IMU as if it were fixed to the root where it is,
    and its place there, each (3, K) in the root's axes; from rate, its derivative and specific force as `measured`.

    With relative rate W, its derivative W', velocity v and acceleration u of the IMU as the root sees them:
    w = w_i - W, w' = w_i' - W' - w x W, s = s_i - 2 w x v - u.
    """
    q, dq, ddq = joints
    rotation, origin = robot.tree.link_pose(link, q)
    turn, lever = rotation @ place[:3, :3], origin + rotation @ place[:3, 3]
    own_rate, own_turning, own_force = ((turn @ one.T[:, :, None])[:, :, 0] for one in measured)
    W, v = np.zeros_like(lever), np.zeros_like(lever)
    for joint in robot.tree.support(link):
        axes, at = robot.tree.link_pose(joint, q)
        angular, linear = axes @ robot.tree.screws[joint, :3], axes @ robot.tree.screws[joint, 3:]
        W += angular * dq[joint][:, None]
        v += (linear + np.cross(angular, lever - at)) * dq[joint][:, None]
    moved = robot.regressor.link_motion(
        link, q, dq, ddq
    ).T  # of a root at rest, in the link's axes, less gravity
    change = (rotation @ moved[:, 3:6, None])[:, :, 0]
    reach = lever - origin
    u = (rotation @ moved[:, 6:, None])[:, :, 0] + robot.gravity
    u = u + np.cross(change, reach) + np.cross(W, np.cross(W, reach))
    rate = own_rate - W
    turning = own_turning - change - np.cross(rate, W)
    return rate.T, turning.T, (own_force - 2 * np.cross(rate, v) - u).T, lever.T


def rotations(quaternions: Array) -> Array:
    """Rotations (T, 3, 3) of quaternions x y z w (T, 4); `DataError` where one is none."""
    length = np.linalg.norm(quaternions, axis=1)
    if np.abs(length - 1).max() > UNIT:
        worst = int(np.abs(length - 1).argmax())
        raise DataError(
            f"the quaternion of sample {worst} has length {length[worst]:.4g}, must be 1: give x y z w, in this order"
        )
    x, y, z, w = (quaternions / length[:, None]).T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)


def _derivative(t: Array, values: Array) -> Array:
    """Of values (T, k) at stamps t [s], which may be uneven; of fourth order inside where they are even."""
    first = np.gradient(values, t, axis=0)
    steps = np.diff(t)
    if np.ptp(steps) < 1e-6 * steps.mean():
        step = steps.mean()
        inner = 8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])
        first[2:-2] = inner / (12 * step)
    return np.asarray(first)
