"""The stop from every sample: checked by the drives' own law, before anything moves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.rig import load_rig
from heft.daq.config.session import load_session
from heft.daq.errors import CheckError
from heft.daq.motion.plan import make_plan
from heft.daq.trajectory import Brake, FourierSeries, Limits, fourier, random_fourier
from heft.daq.trajectory.checks import check_motion
from heft.drivers.playback.stop_ramp import StopRamp

CONFIGS = Path(__file__).parents[3] / "configs"
AXES = ("shoulder", "elbow")


def limits(deceleration: float, coupling: np.ndarray | None = None) -> Limits:  # type: ignore[type-arg]
    brake = Brake(np.arange(2), np.full(2, deceleration), coupling)
    return Limits(
        AXES,
        lower=np.full(2, -1.0),
        upper=np.full(2, 1.0),
        velocity=np.full(2, 3.0),
        acceleration=np.full(2, 20.0),
        brakes=(brake,),
    )


def swing(velocity: float) -> FourierSeries:
    """The shoulder swings by 0.9 rad; fast where it is in the middle."""
    return FourierSeries(
        np.array([[velocity], [0.1]]), np.zeros((2, 1)), np.zeros(2), 2 * np.pi * 0.9 / velocity
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("coupled", [False, True])
def test_the_end_of_a_stop_is_where_the_drives_come_to_rest(seed: int, coupled: bool) -> None:
    random = np.random.default_rng(seed)
    coupling = np.array([[1.0, 0.0], [0.4, 1.0]]) if coupled else None
    bounds = replace(limits(2.0), brakes=(Brake(np.arange(2), np.array([2.0, 5.0]), coupling),))
    position, velocity = random.normal(size=(2, 1, 2))
    to_motors = np.eye(2) if coupling is None else coupling
    ramp = StopRamp.stopping(to_motors @ position[0], to_motors @ velocity[0], np.array([2.0, 5.0]))
    expected = np.linalg.solve(to_motors, ramp.end)
    assert bounds.at_rest_from(position, velocity)[0] == pytest.approx(expected, abs=1e-12)


def test_a_plan_from_which_a_stop_would_leave_the_limits_is_refused() -> None:
    motion = fourier(swing(2.5), seconds=4.0, blend_s=1.0, rate_hz=500.0, axes=AXES)
    check_motion(motion, limits(20.0))
    with pytest.raises(CheckError) as info:
        check_motion(motion, limits(4.0))
    pattern = (
        r"^shoulder: a stop would end at -?1\.\d+ rad at \d\.\d+ s, bound -?1 rad; move slower near the limit"
    )
    assert re.match(pattern, str(info.value))
    (violation,) = info.value.violations
    assert violation.quantity == "stop"
    assert abs(violation.value) > 1.1


def test_motors_of_several_joints_brake_as_motors() -> None:
    """The elbow's motor turns with the shoulder too, ten times as far: it is the one that needs long."""
    motion = fourier(swing(2.5), seconds=4.0, blend_s=1.0, rate_hz=500.0, axes=AXES)
    with pytest.raises(CheckError, match="shoulder: a stop would end at"):
        check_motion(motion, limits(20.0, np.array([[1.0, 0.0], [10.0, 1.0]])))


@pytest.mark.parametrize("seed", range(10))
def test_a_drawn_series_leaves_room_for_the_stop(seed: int) -> None:
    """Drives that brake far less than the motion accelerates: the series is made smaller."""
    bounds = limits(0.3)
    series = random_fourier(bounds, period_s=10.0, harmonics=4, seed=seed)
    free = random_fourier(replace(bounds, brakes=()), period_s=10.0, harmonics=4, seed=seed)
    check_motion(fourier(series, seconds=10.0, blend_s=2.0, rate_hz=200.0, axes=AXES), bounds)
    assert np.abs(series.a).max() < np.abs(free.a).max()


def test_the_rig_says_how_its_drives_brake() -> None:
    rig = load_rig(CONFIGS / "rigs/emulated_wam7.yaml")
    (brake,) = rig.limits.brakes
    axes = rig.devices["arm"].options.axes  # type: ignore[attr-defined]
    assert brake.deceleration.tolist() == [axis.deceleration for axis in axes.values()]
    simulated = load_rig(CONFIGS / "rigs/sim_wam7.yaml")
    (brake,) = simulated.limits.brakes
    assert brake.deceleration.tolist() == [j.acceleration for j in simulated.robot.joints.values()]
    parts = load_rig(CONFIGS / "rigs/sim_wam7_parts.yaml").limits.brakes
    assert sorted(k for brake in parts for k in brake.joints.tolist()) == list(range(7))


@pytest.mark.parametrize("path", sorted((CONFIGS / "sessions").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_sessions_leave_room_for_the_stop(path: Path) -> None:
    assert make_plan(load_session(path))
