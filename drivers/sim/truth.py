"""The arm as it really is: a seeded, physically consistent neighbour of what the robot's file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.errors import OptionError
from heft.drivers.options import NonNegative, Options
from heft.drivers.plant.inertia import Inertia
from heft.drivers.plant.sensor import PerColumn, per_column
from heft.drivers.sim.arm_dynamics import ArmDynamics
from heft.drivers.sim.friction import Friction
from heft.drivers.sim.model import Flexibility, Structure
from heft.drivers.sim.motors import SharedMotors
from heft.drivers.sim.robot import SimRobot

__all__ = ["HardOptions", "PerturbationOptions", "TrueArm", "draw_arm"]


class PerturbationOptions(Options):
    """How far the true arm is from its file; 0 leaves a value as it is."""

    #: Of every body, in pseudo-inertia space: masses change by about twice this. A CAD model is that good.
    inertia: NonNegative = 0.05
    #: Standard deviation of the logarithm of every drive inertia.
    drive_inertia: NonNegative = 0.1
    #: Standard deviation of the logarithm of viscous and Coulomb friction; the offset moves by this part of Coulomb.
    friction: NonNegative = 0.2


class HardOptions(Options):
    """What the identification model leaves out."""

    #: MuJoCo's own dry friction (a soft constraint), as a fraction of each joint's Coulomb friction.
    frictionloss: NonNegative = 0.3
    #: Rise of friction towards standstill, as a fraction of Coulomb friction, and the velocity where it fades [rad/s].
    stribeck: NonNegative = 0.5
    stribeck_velocity: Annotated[float, Field(gt=0)] = 0.1
    #: Spring between motor and link [N m/rad], and damper [N m s/rad]; per joint or one for all.
    stiffness: PerColumn
    damping: PerColumn = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TrueArm:
    """Inertias by body (body frame), and joint terms, shape (n,) each."""

    structure: Structure
    inertias: Mapping[str, Inertia]
    drive_inertia: NDArray[np.float64]
    friction: Friction
    motors: SharedMotors | None = None

    def dynamics(self, robot: SimRobot, hard: HardOptions | None) -> ArmDynamics:
        """The dynamics with these parameters; with `hard`, what the identification model leaves out comes on top."""
        if hard is None:
            return ArmDynamics(robot, self.inertias, self.drive_inertia, self.friction, motors=self.motors)
        n = len(robot.joints)
        f = self.friction
        stribeck = Friction(
            f.viscous,
            f.coulomb,
            f.offset,
            f.smoothing_velocity,
            hard.stribeck * f.coulomb,
            hard.stribeck_velocity,
        )
        stiffness = per_column("simulation.hard.stiffness", hard.stiffness, n)
        if not (stiffness > 0.0).all():
            raise OptionError(f"simulation.hard.stiffness: {stiffness.tolist()} must all be positive")
        return ArmDynamics(
            robot,
            self.inertias,
            self.drive_inertia,
            stribeck,
            motors=self.motors,
            flexibility=Flexibility(stiffness, per_column("simulation.hard.damping", hard.damping, n)),
            frictionloss=hard.frictionloss * f.coulomb,
        )

    def parameters(self, robot: SimRobot) -> dict[str, float]:
        """Every parameter of the identification model by name; what is fixed to a link belongs to it."""
        values: dict[str, float] = {}
        for link, inertia in self.structure.lump(self.inertias).items():
            values |= inertia.parameters(link)
        f = self.friction
        for i, joint in enumerate(robot.axes):
            values[f"{joint}.drive_inertia"] = float(self.drive_inertia[i])
            values[f"{joint}.viscous"] = float(f.viscous[i])
            values[f"{joint}.coulomb"] = float(f.coulomb[i])
            values[f"{joint}.offset"] = float(f.offset[i])
        if (m := self.motors) is not None:
            for k in np.flatnonzero(m.coupling.shared):
                motor = f"{robot.axes[k]}_motor"
                values[f"{motor}.drive_inertia"] = float(m.inertia[k])
                values[f"{motor}.viscous"] = float(m.viscous[k])
                values[f"{motor}.coulomb"] = float(m.coulomb[k])
        return values


def draw_arm(
    robot: SimRobot, structure: Structure, sizes: PerturbationOptions, rng: np.random.Generator
) -> TrueArm:
    """Perturb every body and every joint term of the robot's file."""
    for body, inertia in structure.inertias.items():
        if not inertia.consistent:
            raise OptionError(
                f"model: the inertia of {body} in {robot.model.name} belongs to no real body: its pseudo-inertia is "
                "not positive definite; correct it"
            )
    n = len(robot.joints)
    coulomb = robot.column("coulomb")
    return TrueArm(
        structure=structure,
        inertias={
            body: inertia.perturbed(sizes.inertia, rng) for body, inertia in structure.inertias.items()
        },
        drive_inertia=robot.column("drive_inertia") * np.exp(sizes.drive_inertia * rng.standard_normal(n)),
        friction=Friction(
            viscous=robot.column("viscous") * np.exp(sizes.friction * rng.standard_normal(n)),
            coulomb=coulomb * np.exp(sizes.friction * rng.standard_normal(n)),
            offset=robot.column("offset") + sizes.friction * coulomb * rng.standard_normal(n),
            smoothing_velocity=robot.column("smoothing_velocity"),
        ),
        motors=_draw_motors(robot, sizes, rng),
    )


def _draw_motors(
    robot: SimRobot, sizes: PerturbationOptions, rng: np.random.Generator
) -> SharedMotors | None:
    motors = SharedMotors.of(robot)
    if motors is None:
        return None
    n = len(robot.joints)
    return replace(
        motors,
        inertia=motors.inertia * np.exp(sizes.drive_inertia * rng.standard_normal(n)),
        viscous=motors.viscous * np.exp(sizes.friction * rng.standard_normal(n)),
        coulomb=motors.coulomb * np.exp(sizes.friction * rng.standard_normal(n)),
    )
