"""The plan of a session: every move from the first to the last, known and checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.config.robot import JointConfig
from heft.daq.config.session import SessionConfig
from heft.daq.config.steps import Step
from heft.daq.errors import CheckError
from heft.daq.trajectory.checks import Check, Limits, limit_checks, run_checks
from heft.daq.trajectory.minimum_jerk import limited_move
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["Leg", "limits_of", "make_plan"]


@dataclass(frozen=True, slots=True)
class Leg:
    """A piece of the plan: a trajectory from rest to rest, or a step without motion.

    `step` is None for a move that only connects two steps.
    """

    step: Step | None
    trajectory: Trajectory | None

    @property
    def seconds(self) -> float:
        """How long it takes [s], as far as known."""
        if self.trajectory is not None:
            return self.trajectory.duration_s
        return 0.0 if self.step is None else self.step.seconds


def limits_of(joints: dict[str, JointConfig]) -> Limits:
    """The joints' limits as arrays."""
    values = list(joints.values())
    return Limits(
        axes=tuple(joints),
        lower=np.array([j.position[0] for j in values]),
        upper=np.array([j.position[1] for j in values]),
        velocity=np.array([j.velocity for j in values]),
        acceleration=np.array([j.acceleration for j in values]),
    )


def make_plan(
    session: SessionConfig,
    start: NDArray[np.float64] | None = None,
    checks: Sequence[Check] = (),
    draft: Sequence[Leg] = (),
) -> tuple[Leg, ...]:
    """Legs from `start` [rad] (None: from where the first trajectory begins), all of them checked.

    `draft` is a plan that was made before `start` was known: motions that do not depend on it are taken over, and not
    checked again.
    Raises CheckError with every violated bound: position, velocity, acceleration, and what `checks` add.
    """
    limits = limits_of(session.rig.robot.joints)
    ready = {leg.step: leg.trajectory for leg in draft if leg.step is not None and leg.step.begins_anywhere}
    here = start
    legs: list[Leg] = []
    for step in session.steps:
        trajectory = ready.get(step) or step.trajectory(limits, session.rate_hz, here)
        if trajectory is not None:
            begin = trajectory.position[0]
            if here is not None and not np.allclose(here, begin, rtol=0.0, atol=1e-9):
                fraction = session.approach_fraction
                move = limited_move(here, begin, limits, fraction=fraction, rate_hz=session.rate_hz)
                legs.append(Leg(None, move))
            here = trajectory.position[-1]
        legs.append(Leg(step, trajectory))
    for leg in legs:
        if leg.trajectory is not None and leg.step not in ready:
            _check(session, leg, leg.trajectory, [*limit_checks(limits), *checks])
    return tuple(legs)


def _check(session: SessionConfig, leg: Leg, trajectory: Trajectory, checks: Sequence[Check]) -> None:
    """A refusal says which file and step it is about, then a line for each bound that is left."""
    try:
        run_checks(trajectory, checks)
    except CheckError as exc:
        what = "the move to a step's start" if leg.step is None else f"steps.{leg.step.name}"
        reasons = "".join(f"\n  {line}" for line in str(exc).splitlines())
        raise CheckError(f"{session.path}: {what} may not be played:{reasons}", exc.violations) from exc
