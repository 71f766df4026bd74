"""How far the true robot may be from what is known of it beforehand."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Self

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.errors import ProblemError

__all__ = ["PriorSpread", "body_metric"]


@dataclass(frozen=True)
class PriorSpread:
    """Standard deviations of the truth about the prior.

    inertia         of each link, see `body_metric`: masses vary by twice this share, centres of mass by 0.8 times this
                    share of the link's size, second moments by 0.7 times this share of mass size^2
    drive_inertia   of each drive inertia, as a share of it
    friction        of friction and offset, as a share of the file's value or of the joint's rms torque, whichever
                    is larger: friction is hardly ever known
    gain            relative, of the joints' torque scales (`heft.identify.bodies.drive_gain`); 0: torques are exact

    Defaults: masses in files are good to 30 %, centres to an eighth of the link's half length in each direction
    (cables, covers and motors are drawn without weight), rotors from data sheets to 30 %.
    """

    inertia: float = 0.15
    drive_inertia: float = 0.3
    friction: float = 1.0
    gain: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name == "gain":
                if not 0 <= value < 1:
                    raise ProblemError(
                        f"prior spread: gain is {value}, must be 0 (torques are exact) or more, and below 1; "
                        f"0.1 is 10 %"
                    )
            elif not 0 < value < 10:
                raise ProblemError(
                    f"prior spread: {name} is {value}, must be above 0 and below 10; 0.15 is usual"
                )

    def widened(self, factor: float) -> Self:
        """All of it times a factor, but for the gains, of which links and drives say nothing."""
        wider = {name: min(factor * value, 9.99) for name, value in asdict(self).items() if name != "gain"}
        return replace(self, **wider)


def body_metric(ten: Array, inertia: float, size: float, mass: float | None = None) -> Array:
    """S, shape (10, 10): a body is `ten` + S x with x standard normal, as far as its file knows.

        J = J0 + 2 inertia L X L',   L L' = the pseudo-inertia of a ball-like body

    with X symmetric and normal, of variance 1 on the diagonal and 1/2 beside it. The ball-like body has the file's mass
    (or `mass` [kg], where the file has none) and centre, and in every direction the second moment of an even bar: mass
    size^2 / 3, with `size` [m] half the link's length. The file's own second moments have no say: a drawing of a thin
    cylinder does not know that the centre of mass is on its axis (000, Eq. 17 to 22 for boxes). S depends on no frame.
    """
    weight = float(ten[0]) if mass is None else mass
    centre = ten[1:4] / ten[0] if ten[0] > 0 else np.zeros(3)
    ball = MassDistribution(weight, centre, np.eye(3), np.full(3, weight * size**2 / 3))
    return 2 * inertia * ball.derivative_by_linear_step()
