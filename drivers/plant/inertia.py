"""The inertia of a rigid body, as its pseudo-inertia matrix.

    P = [[ integral of x x^T dm,  m c ],      shape (4, 4), about a frame's origin
         [ m c^T,                 m   ]]

P is positive definite exactly for bodies that could exist. Moving to another frame is T P T^T, welding two bodies
together is a sum, and L A A^T L^T with P = L L^T and any invertible A is again a body that could exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

__all__ = ["Inertia", "transform"]


@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """Mass distribution of one body in one frame; `pseudo` [kg, kg m, kg m2], shape (4, 4)."""

    pseudo: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.pseudo.setflags(write=False)

    @classmethod
    def of(cls, mass: float, com: Sequence[float], inertia: NDArray[np.float64]) -> Self:
        """From mass [kg], centre of mass [m] (3,), and inertia tensor about the centre of mass [kg m2] (3, 3)."""
        c = np.asarray(com, dtype=np.float64)
        pseudo = np.empty((4, 4))
        pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(c, c)
        pseudo[:3, 3] = pseudo[3, :3] = mass * c
        pseudo[3, 3] = mass
        return cls(pseudo)

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.pseudo[3, 3])

    @property
    def moment(self) -> NDArray[np.float64]:
        """First moment m c [kg m], shape (3,)."""
        return self.pseudo[:3, 3]

    @property
    def com(self) -> NDArray[np.float64]:
        """Centre of mass [m], shape (3,)."""
        return self.moment / self.mass

    @property
    def tensor(self) -> NDArray[np.float64]:
        """Inertia tensor about the frame's origin [kg m2], shape (3, 3)."""
        second = self.pseudo[:3, :3]
        tensor: NDArray[np.float64] = np.trace(second) * np.eye(3) - second
        return tensor

    @property
    def tensor_com(self) -> NDArray[np.float64]:
        """Inertia tensor about the centre of mass [kg m2], shape (3, 3)."""
        second = self.pseudo[:3, :3] - np.outer(self.moment, self.moment) / self.mass
        tensor: NDArray[np.float64] = np.trace(second) * np.eye(3) - second
        return tensor

    @property
    def consistent(self) -> bool:
        """Whether P is positive definite, that is, a body with this inertia can exist."""
        return bool(np.linalg.eigvalsh(self.pseudo)[0] > 0.0)

    def __add__(self, other: Inertia) -> Inertia:
        """Both bodies as one; same frame."""
        return Inertia(self.pseudo + other.pseudo)

    def moved(self, pose: NDArray[np.float64]) -> Inertia:
        """The same body in another frame; `pose` (4, 4) is this frame's pose in that one."""
        return Inertia(pose @ self.pseudo @ pose.T)

    def perturbed(self, size: float, rng: np.random.Generator) -> Inertia:
        """A similar body that could exist: L A A^T L^T with A = exp(size * G), G standard normal (4, 4).

        Mass changes by about 2 * size of itself, the centre of mass by about size of the radius of gyration.
        """
        root = np.linalg.cholesky(self.pseudo) @ expm(size * rng.standard_normal((4, 4)))
        return Inertia(root @ root.T)

    def parameters(self, link: str) -> dict[str, float]:
        """The ten parameters by name: m, first moment, inertia about the frame's origin."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.tensor.tolist()
        mx, my, mz = self.moment.tolist()
        values = {"m": self.mass, "mx": mx, "my": my, "mz": mz}
        values |= {"xx": xx, "xy": xy, "yy": yy, "xz": xz, "yz": yz, "zz": zz}
        return {f"{link}.{name}": value for name, value in values.items()}


def transform(rotation: NDArray[np.float64], position: Sequence[float]) -> NDArray[np.float64]:
    """A pose as a homogeneous matrix, shape (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = rotation
    pose[:3, 3] = position
    return pose
