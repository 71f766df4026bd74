"""How a sensor is really mounted, where that is not as the robot's file says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

__all__ = ["UPRIGHT_DEG", "turned", "turned_quaternion"]

#: Mounted as the file says.
UPRIGHT_DEG = (0.0, 0.0, 0.0)


def turned(vectors: NDArray[np.float64], turned_deg: tuple[float, float, float]) -> NDArray[np.float64]:
    """Vectors of a frame, shape (N, 3 k), as seen in one that is turned in it by roll, pitch and yaw [degrees]."""
    if turned_deg == UPRIGHT_DEG:
        return vectors
    rotation: NDArray[np.float64] = _rotation(turned_deg).as_matrix()
    return (vectors.reshape(len(vectors), -1, 3) @ rotation).reshape(vectors.shape)


def turned_quaternion(
    quaternion: NDArray[np.float64], turned_deg: tuple[float, float, float], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Orientation x y z w, shape (N, 4), of a frame that is turned in the given one; w is not negative.

    error   rotation vector by which the answer is off, in the world [rad], shape (3,)
    """
    found = Rotation.from_rotvec(error) * Rotation.from_quat(quaternion) * _rotation(turned_deg)
    answer: NDArray[np.float64] = found.as_quat(canonical=True)
    return answer


def _rotation(turned_deg: tuple[float, float, float]) -> Rotation:
    """About the frame's own z, then y, then x."""
    return Rotation.from_euler("ZYX", turned_deg[::-1], degrees=True)
