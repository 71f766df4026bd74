"""The plan of a session: every move from the first to the last, known and checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daq.config.robot import JointConfig
from daq.config.session import FourierConfig, SessionConfig, Step
from daq.errors import CheckError
from daq.trajectory.checks import Check, Limits, limit_checks, run_checks
from daq.trajectory.fourier import FourierSeries, fourier
from daq.trajectory.minimum_jerk import minimum_jerk
from daq.trajectory.random_fourier import random_fourier
from daq.trajectory.trajectory import Trajectory

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
        return self.step.wait or 0.0 if self.step is not None else 0.0


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

    `draft` is a plan that was made before `start` was known: its series are taken over, and not checked again.
    Raises CheckError with every violated bound: position, velocity, acceleration, and what `checks` add.
    """
    limits = limits_of(session.rig.robot.joints)
    ready = {
        leg.step: leg.trajectory for leg in draft if leg.step is not None and leg.step.fourier is not None
    }
    here = start
    legs: list[Leg] = []
    for step in session.steps:
        trajectory = ready.get(step) or _trajectory(session, step, limits, here)
        if trajectory is not None:
            begin = trajectory.position[0]
            if here is not None and not np.allclose(here, begin, rtol=0.0, atol=1e-9):
                legs.append(Leg(None, _move(session, limits, here, begin, session.approach_fraction)))
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


def _trajectory(
    session: SessionConfig, step: Step, limits: Limits, here: NDArray[np.float64] | None
) -> Trajectory | None:
    if step.fourier is not None:
        return _fourier(session, step.fourier, limits)
    if step.move is not None:
        to = np.array(step.move.to)
        return _move(session, limits, to if here is None else here, to, step.move.fraction)
    return None


def _fourier(session: SessionConfig, config: FourierConfig, limits: Limits) -> Trajectory:
    if config.a is None or config.b is None or config.q0 is None:
        series = random_fourier(
            limits, period_s=config.period_s, harmonics=config.harmonics, seed=config.seed or 0
        )
    else:
        series = FourierSeries(
            a=np.array(config.a), b=np.array(config.b), q0=np.array(config.q0), period_s=config.period_s
        )
    return fourier(
        series, seconds=config.seconds, blend_s=config.blend_s, rate_hz=session.rate_hz, axes=limits.axes
    )


def _move(
    session: SessionConfig,
    limits: Limits,
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    fraction: float,
) -> Trajectory:
    return minimum_jerk(
        begin,
        end,
        velocity=fraction * limits.velocity,
        acceleration=fraction * limits.acceleration,
        rate_hz=session.rate_hz,
        axes=limits.axes,
    )
