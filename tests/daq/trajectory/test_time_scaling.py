"""A pause stays on the path and inside the limits, and what goes on meets its own samples again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.session import load_session
from heft.daq.motion.plan import make_plan
from heft.daq.trajectory.checks import check_motion
from heft.daq.trajectory.time_scaling import going_on, slowing_down
from heft.daq.trajectory.trajectory import Motion, Trajectory

SESSION = Path(__file__).parents[3] / "configs/sessions/wam7_excitation.yaml"
CONFIG = load_session(SESSION)
LIMITS = CONFIG.rig.limits


@pytest.fixture(scope="module")
def motion() -> Motion:
    made = make_plan(CONFIG)[0].trajectory
    assert made is not None
    return made


def paused(motion: Motion, at: int) -> tuple[Trajectory, int, int]:
    """The motion with a pause that is asked for when sample `at` has been sent; where it rests, and is at speed."""
    slowing = slowing_down(motion, at, LIMITS)
    assert slowing is not None
    down, resting = slowing
    up, reached = going_on(motion, resting, LIMITS)
    parts = [down, up.window(1, len(up))]
    if reached + 1 < len(motion):
        parts.append(motion.window(reached + 1, len(motion)))
    return motion.window(0, at + 1).joined(parts), resting, reached


@pytest.mark.parametrize("at", [5, 3000, 7777, 12345, 21000])
def test_a_pause_is_on_the_path_and_inside_the_limits(motion: Motion, at: int) -> None:
    whole = motion.window(0, len(motion))
    made, resting, reached = paused(motion, at)
    check_motion(made, LIMITS)
    # As far along as the motion is at any place on the way, and nowhere else: the nearest point of it is next to it.
    scaled = made.position[at : at + 2 * (reached - at) + 2 : 50]
    near = whole.position[at : reached + 2]
    step = np.abs(np.diff(near, axis=0)).max()
    for q in scaled:
        assert np.abs(near - q).max(axis=1).min() <= step
    rest = int(np.flatnonzero(np.all(made.position == whole.position[resting], axis=1))[0])
    assert np.abs(made.velocity[rest]).max() < 1e-9
    assert np.array_equal(made.position[-1], whole.position[-1])
    assert len(made) - len(whole) == (resting - at) + (reached - resting)  # what it takes longer


def test_samples_agree_with_their_derivatives(motion: Motion) -> None:
    made, _, _ = paused(motion, 7777)
    v = np.gradient(made.position, 1e-3, axis=0)
    assert np.abs(v - made.velocity)[2:-2].max() < 1e-4
    a = np.gradient(made.velocity, 1e-3, axis=0)
    assert np.abs(a - made.acceleration)[2:-2].max() < 1e-2


def test_a_motion_that_ends_anyway_is_played_to_its_end(motion: Motion) -> None:
    assert slowing_down(motion, len(motion) - 20, LIMITS) is None
    for left in (1, 10, 60):
        up, reached = going_on(motion, len(motion) - 1 - left, LIMITS)
        assert reached == len(motion) - 1
        assert up.ends_at_rest
