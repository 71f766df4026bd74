"""The plan of a session: every move from the first to the last, known and checked before anything moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.config.session import SessionConfig
from heft.daq.config.steps import Step
from heft.daq.errors import CheckError
from heft.daq.trajectory.chain import chain_motion
from heft.daq.trajectory.checks import Check, check_motion
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.minimum_jerk import limited_move
from heft.daq.trajectory.trajectory import Motion

__all__ = ["Leg", "Route", "make_plan"]

#: Postures to go through between two others [rad] (n,), where the straight way is not clear.
Route = Callable[[NDArray[np.float64], NDArray[np.float64]], Sequence[NDArray[np.float64]]]

#: A session's motion, all of it [s], and in setpoints: it is checked before anything moves, and a day of it at 1 kHz
#: takes minutes.
LONGEST_S = 86_400.0
MOST_SETPOINTS = 100_000_000


@dataclass(frozen=True, slots=True)
class Leg:
    """A piece of the plan: a trajectory from rest to rest, or a step without motion.

    `step` is None for a move that only connects two steps.
    """

    step: Step | None
    trajectory: Motion | None

    @property
    def seconds(self) -> float:
        """How long it takes [s], as far as known."""
        if self.trajectory is not None:
            return self.trajectory.duration_s
        return 0.0 if self.step is None else self.step.seconds


def make_plan(
    session: SessionConfig,
    start: NDArray[np.float64] | None = None,
    checks: Sequence[Check] = (),
    draft: Sequence[Leg] = (),
    route: Route | None = None,
) -> tuple[Leg, ...]:
    """Legs from `start` [rad] (None: from where the first trajectory begins), all of them checked, piece by piece.

    `draft` is a plan that was made before `start` was known: motions that do not depend on it are taken over, and not
    checked again. `route` leads moves to a step's start around obstacles.
    Raises CheckError with every violated bound: position, velocity, acceleration, the stop
    from every sample, too few setpoints, and what `checks` add.
    """
    limits = session.rig.limits
    ready = {leg.step: leg.trajectory for leg in draft if leg.step is not None and leg.step.begins_anywhere}
    here = start
    legs: list[Leg] = []
    for step in session.steps:
        trajectory = ready.get(step) or step.trajectory(limits, session.rate_hz, here)
        if trajectory is not None:
            begin = trajectory.start.position[0]
            if here is not None and not np.allclose(here, begin, rtol=0.0, atol=1e-9):
                legs.append(Leg(None, _approach(session, here, begin, limits, route)))
            here = trajectory.goal.position[0]
        legs.append(Leg(step, trajectory))
    _check_length(session, legs)
    for leg in legs:
        if leg.trajectory is not None and leg.step not in ready:
            _check(session, leg, leg.trajectory, limits, checks)
    return tuple(legs)


def _approach(
    session: SessionConfig,
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    limits: Limits,
    route: Route | None,
) -> Motion:
    """The move to a step's start: straight, or from posture to posture around what is in the way."""
    fraction, rate_hz = session.approach_fraction, session.rate_hz
    between = () if route is None else route(here, there)
    if not between:
        return limited_move(here, there, limits, fraction=fraction, rate_hz=rate_hz)
    poses = np.array([here, *between, there])
    return chain_motion(poses, limits, fraction=fraction, rest_s=0.0, rate_hz=rate_hz)


def _check_length(session: SessionConfig, legs: Sequence[Leg]) -> None:
    seconds = sum(leg.seconds for leg in legs)
    setpoints = sum(len(leg.trajectory) for leg in legs if leg.trajectory is not None)
    if seconds > LONGEST_S:
        raise CheckError(
            f"{session.path}: steps: the motion takes {seconds:.0f} s, at most {LONGEST_S:.0f} s are played at a "
            "time; make it shorter, or several sessions"
        )
    if setpoints > MOST_SETPOINTS:
        raise CheckError(
            f"{session.path}: rate_hz: {session.rate_hz:g} Hz for {seconds:.0f} s are {setpoints} setpoints, at most "
            f"{MOST_SETPOINTS}; lower it, or make several sessions"
        )


def _check(session: SessionConfig, leg: Leg, motion: Motion, limits: Limits, checks: Sequence[Check]) -> None:
    """A refusal says which file and step it is about, then a line for each bound that is left."""
    try:
        check_motion(motion, limits, checks)
    except CheckError as exc:
        what = "the move to a step's start" if leg.step is None else f"steps.{leg.step.name}"
        reasons = "".join(f"\n  {line}" for line in str(exc).splitlines())
        raise CheckError(f"{session.path}: {what} may not be played:{reasons}", exc.violations) from exc
