"""How far the true robot may be from what is known of it beforehand."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Self

from heft.identify.errors import ProblemError

__all__ = ["PriorSpread"]


@dataclass(frozen=True)
class PriorSpread:
    """Standard deviations of the truth about the prior.

    inertia         of each link: its pseudo-inertia is L exp(X) L' with L L' the prior's and X symmetric, normal,
                    with 2 `inertia` on the diagonal and sqrt(2) `inertia` beside it. Masses vary by twice this,
                    centres of mass by this much of the radius of gyration
    drive_inertia   of the logarithm of each drive inertia
    friction        of the logarithm of viscous and Coulomb friction; of the offset in units of Coulomb friction
    gain            relative, of the joints' torque scales (`heft.identify.bodies.drive_gain`); 0: torques are exact

    Defaults: masses from CAD are good to 20 %, rotors from data sheets to 30 %, friction to a factor of three.
    """

    inertia: float = 0.1
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
                    f"prior spread: {name} is {value}, must be above 0 and below 10; 0.1 is usual"
                )

    def widened(self, factor: float) -> Self:
        """All of it times a factor, but for the gains, of which links and drives say nothing."""
        wider = {name: min(factor * value, 9.99) for name, value in asdict(self).items() if name != "gain"}
        return replace(self, **wider)
