"""fit_wrench: truth recovered, intervals that hold, and nothing invented."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from heft.identify.bodies.consistency import consistency
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.errors import DataError
from heft.identify.payload import ObjectPrior, fit_wrench, fit_wrench_integral

BIAS = np.array([1.0, -2.0, 3.0, 0.1, -0.2, 0.3])
DOWN = np.array([0.0, 0.0, -9.81])
GRAIN = np.array([0.05] * 3 + [0.002] * 3)


@pytest.fixture
def case(simulator: ModuleType):
    rng = np.random.default_rng(5)
    body = simulator.box(rng, 1.106, np.array([0.05, 0.06, 0.15]), np.array([0.001, 0.0, 0.13]))
    motion = simulator.wrist_motion(rng, 0.0)
    t = np.arange(0.0, 5.0, 1e-3)
    return body, motion, t


def scaled_errors(estimate, body) -> np.ndarray:
    """Errors over standard deviations: mass, com (3), inertia (6)."""
    inertia = (estimate.inertia - body.inertia(np.zeros(3))) / estimate.std.inertia
    return np.array(
        [
            (estimate.mass - body.mass) / estimate.std.mass,
            *((estimate.com - body.com) / estimate.std.com),
            *inertia[np.triu_indices(3)],
        ]
    )


def test_truth_is_recovered_from_clean_data_whatever_the_bias(case) -> None:
    body, motion, t = case
    estimate = fit_wrench(wrench=motion.wrench(t, body) + BIAS, **motion.kinematics(t))
    np.testing.assert_allclose(estimate.ten, body.ten, atol=1e-6)
    np.testing.assert_allclose(estimate.bias, BIAS, atol=1e-5)
    np.testing.assert_allclose(estimate.inertia_com, body.inertia(body.com), atol=1e-6)
    assert estimate.prior_dominated == ()
    assert set(estimate.marks.values()) == {"measured"}
    assert consistency(estimate.ten, "full").ok


def test_a_sensor_that_reports_the_reaction(case) -> None:
    body, motion, t = case
    estimate = fit_wrench(wrench=-motion.wrench(t, body) + BIAS, reaction=True, **motion.kinematics(t))
    np.testing.assert_allclose(estimate.ten, body.ten, atol=1e-6)
    np.testing.assert_allclose(estimate.bias, BIAS, atol=1e-5)


def test_a_sign_that_is_turned_is_said_in_words(case) -> None:
    body, motion, t = case
    rng = np.random.default_rng(6)
    noise = rng.normal(size=(len(t), 6)) * GRAIN
    turned = fit_wrench(wrench=-motion.wrench(t, body) + BIAS + noise, **motion.kinematics(t))
    assert any("force points down at rest: set `reaction`" in words for words in turned.warnings)
    right = fit_wrench(wrench=motion.wrench(t, body) + BIAS + noise, **motion.kinematics(t))
    assert right.warnings == ()
    told = fit_wrench(wrench=-motion.wrench(t, body) + BIAS + noise, reaction=True, **motion.kinematics(t))
    assert told.warnings == ()


def test_an_arm_on_the_ceiling_is_not_taken_for_a_turned_sign(case) -> None:
    body, motion, t = case
    ceiling = fit_wrench(wrench=motion.wrench(t, body, -DOWN) + BIAS, **motion.kinematics(t))
    assert all("hangs from a ceiling" in words for words in ceiling.warnings)


@pytest.mark.parametrize("direction", [(0, 0, -1), (1, 0, 0), (0.6, -0.8, 0.0), (0, 0, 1)])
def test_the_direction_of_gravity_is_found(case, direction) -> None:
    body, motion, t = case
    gravity = 9.80665 * np.array(direction, dtype=float)
    estimate = fit_wrench(wrench=motion.wrench(t, body, gravity) + BIAS, gravity=None, **motion.kinematics(t))
    np.testing.assert_allclose(estimate.gravity, gravity, atol=1e-4)
    np.testing.assert_allclose(estimate.ten, body.ten, atol=1e-5)
    assert np.linalg.norm(estimate.gravity) == pytest.approx(9.80665)
    assert estimate.std.mass >= 0.001 * estimate.mass  # its size was only assumed


def test_gravity_from_poses_at_rest(case) -> None:
    body, motion, t = case
    gravity = np.array([0.0, 9.80665, 0.0])
    rotation = motion.rotation(t[::50])
    wrench = wrench_terms(rotation).regressor(gravity) @ body.ten + BIAS
    estimate = fit_wrench(rotation, wrench, gravity=None)
    np.testing.assert_allclose(estimate.gravity, gravity, atol=1e-6)
    assert estimate.mass == pytest.approx(body.mass, rel=1e-6)
    assert estimate.prior_dominated == ("inertia",)


def test_at_rest_the_inertia_is_not_invented(case) -> None:
    body, motion, t = case
    rng = np.random.default_rng(1)
    rotation = motion.rotation(t[::5])
    wrench = wrench_terms(rotation).regressor(DOWN) @ body.ten + GRAIN * rng.standard_normal((1000, 6))
    estimate = fit_wrench(rotation, wrench)
    assert estimate.prior_dominated == ("inertia",)
    assert estimate.marks == {"mass": "measured", "com": "measured", "inertia": "prior-dominated"}
    assert np.all(np.isinf(estimate.std.inertia))
    assert abs(estimate.mass - body.mass) < 0.010  # 004, Table 1
    assert np.abs(estimate.com - body.com).max() < 0.001
    assert consistency(estimate.ten, "full").ok


def test_noise_in_the_accelerations_at_rest_says_nothing(case) -> None:
    body, motion, t = case
    rng = np.random.default_rng(2)
    rotation = motion.rotation(t[::5])
    wrench = wrench_terms(rotation).regressor(DOWN) @ body.ten + GRAIN * rng.standard_normal((1000, 6))
    noise = 0.1 * rng.standard_normal((3, 1000, 3))
    estimate = fit_wrench(rotation, wrench, 0.01 * noise[0], noise[1], noise[2])
    assert estimate.prior_dominated == ("inertia",)
    assert estimate.mass == pytest.approx(body.mass, rel=0.01)
    assert abs(estimate.mass - body.mass) < 3 * estimate.std.mass


def test_one_pose_tells_mass_from_bias_only_with_a_prior(case) -> None:
    body, motion, t = case
    rng = np.random.default_rng(4)
    rotation = np.repeat(motion.rotation(t[2000:2001]), 200, axis=0)
    wrench = wrench_terms(rotation).regressor(DOWN) @ body.ten + GRAIN * rng.standard_normal((200, 6))
    estimate = fit_wrench(rotation, wrench)
    assert estimate.prior_dominated == ("mass", "com", "inertia")
    assert np.isinf(estimate.std.mass)
    assert np.all(np.isinf(estimate.std.bias))
    known = fit_wrench(rotation, wrench, prior=ObjectPrior(dimensions=(0.05, 0.06, 0.15), density=2700.0))
    assert np.isfinite(known.std.mass)
    assert known.mass == pytest.approx(0.05 * 0.06 * 0.15 * 2700.0, rel=0.05)
    assert "mass" in known.prior_dominated


def test_one_sample_is_an_answer_too(case) -> None:
    body, motion, t = case
    one = fit_wrench(motion.rotation(t[:1]), motion.wrench(t[:1], body))
    assert one.prior_dominated == ("mass", "com", "inertia")
    assert any("noise cannot be told" in line for line in one.warnings)


def test_three_poses_are_enough_and_their_intervals_are_wide(simulator, case) -> None:
    body, motion, _ = case
    rng = np.random.default_rng(8)
    errors = []
    for _ in range(30):
        rotation = motion.rotation(rng.uniform(0.5, 5.0, size=3))
        wrench = wrench_terms(rotation).regressor(DOWN) @ body.ten + BIAS
        estimate = fit_wrench(rotation, wrench + GRAIN / 30 * rng.standard_normal((3, 6)))
        if "mass" not in estimate.prior_dominated:
            errors.append((estimate.mass - body.mass) / estimate.std.mass)
    assert len(errors) > 20
    assert np.mean(np.abs(errors) < 1.96) > 0.85


def test_the_gripper_is_subtracted(case, simulator) -> None:
    body, motion, t = case
    tool = simulator.hand()
    wrench = motion.wrench(t, body) + motion.wrench(t, tool) + BIAS
    estimate = fit_wrench(wrench=wrench, gripper=tool.ten, **motion.kinematics(t))
    np.testing.assert_allclose(estimate.ten, body.ten, atol=1e-6)


def test_a_body_on_the_border_of_what_can_exist(case, simulator) -> None:
    _, motion, t = case
    rod = simulator.Points(np.array([[0.0, 0.0, 0.05], [0.0, 0.0, 0.15]]), np.array([0.4, 0.4]))
    rng = np.random.default_rng(9)
    wrench = motion.wrench(t, rod) + GRAIN * rng.standard_normal((len(t), 6))
    estimate = fit_wrench(wrench=wrench, **motion.kinematics(t))
    assert consistency(estimate.ten, "full").ok
    assert np.abs(scaled_errors(estimate, rod)).max() < 4.0


@pytest.mark.parametrize("form", ["differential", "integral"])
def test_intervals_hold(simulator, form) -> None:
    inside = []
    for seed in range(8):
        run = simulator.pick_up(seed, delay_std=0.0, kinematic_noise=0.2)
        part = slice(1500, 6500)
        kinematics = {name: values[part] for name, values in run.kinematics.items()}
        if form == "differential":
            estimate = fit_wrench(wrench=run.wrench[part], gripper=run.gripper.ten, **kinematics)
        else:
            estimate = fit_wrench_integral(
                run.time[part],
                kinematics["rotation"],
                run.wrench[part],
                kinematics["angular_velocity"],
                run.linear_velocity[part],
                gripper=run.gripper.ten,
                window=40,
            )
        inside.append(np.abs(scaled_errors(estimate, run.body)) < 1.96)
    share = np.mean(inside)
    assert 0.88 < share <= 1.0


def test_intervals_hold_for_filtered_noise(simulator) -> None:
    """Autocorrelated residuals: without allowing for them, errors reach several of their standard deviations."""
    errors = []
    for seed in range(6):
        run = simulator.pick_up(seed, delay_std=0.0, kinematic_noise=0.0, filter_hz=10.0)
        part = slice(1500, 6500)
        kinematics = {name: values[part] for name, values in run.kinematics.items()}
        errors.append(
            scaled_errors(
                fit_wrench(wrench=run.wrench[part], gripper=run.gripper.ten, **kinematics), run.body
            )
        )
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 1.5


def test_integral_and_differential_and_static_agree_within_their_intervals(simulator) -> None:
    for seed in range(4):
        run = simulator.pick_up(seed, delay_std=0.0, kinematic_noise=0.2)
        part = slice(1500, 6500)
        kinematics = {name: values[part] for name, values in run.kinematics.items()}
        tool = run.gripper.ten
        one = fit_wrench(wrench=run.wrench[part], gripper=tool, **kinematics)
        two = fit_wrench_integral(
            run.time[part],
            kinematics["rotation"],
            run.wrench[part],
            kinematics["angular_velocity"],
            run.linear_velocity[part],
            gripper=tool,
        )
        assert abs(one.mass - two.mass) < 2 * (one.std.mass + two.std.mass)
        assert np.all(np.abs(one.com - two.com) < 2 * (one.std.com + two.std.com))
        assert np.all(np.abs(one.inertia - two.inertia) < 2 * (one.std.inertia + two.std.inertia))
        poses = kinematics["rotation"][::20]
        rng = np.random.default_rng(seed)
        still = wrench_terms(poses).regressor(DOWN) @ (run.body.ten + tool)
        still += GRAIN * rng.standard_normal(still.shape)
        rest = fit_wrench(poses, still, gripper=tool)
        assert abs(one.mass - rest.mass) < 2 * (one.std.mass + rest.std.mass)
        assert np.all(np.abs(one.com - rest.com) < 2 * (one.std.com + rest.std.com))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wrench": np.zeros((4, 6))}, r"wrench: shape \(4, 6\), must be \(5, 6\)"),
        ({"wrench": np.full((5, 6), np.inf)}, "30 values are not finite"),
        ({"gravity": (0, 0)}, r"gravity: shape \(2,\)"),
        ({"gravity": (0, 0, 0)}, "gravity: 0 m/s2"),
        ({"gripper": np.zeros(9)}, r"gripper: shape \(9,\)"),
        ({"linear_acceleration": np.zeros((5, 2))}, "linear_acceleration: shape"),
        ({"angular_velocity": np.zeros((2, 3))}, r"angular_velocity: shape \(2, 3\)"),
        ({"angular_acceleration": np.full((5, 3), np.nan)}, "not finite"),
        ({"rotation": np.eye(3)}, r"rotation: shape \(3, 3\), must be \(T, 3, 3\)"),
        ({"rotation": np.empty((0, 3, 3))}, "no samples"),
        ({"rotation": 1.1 * np.eye(3)[None]}, r"rotation\[0\].*right-handed"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])[None]}, "mirror"),
    ],
)
def test_what_is_wrong_with_the_input_is_said(change, message) -> None:
    arguments = {"rotation": np.broadcast_to(np.eye(3), (5, 3, 3)), "wrench": np.zeros((5, 6)), **change}
    with pytest.raises(DataError, match=message):
        fit_wrench(**arguments)


def test_time_must_increase_and_windows_must_fit() -> None:
    rotation, zero = np.broadcast_to(np.eye(3), (3, 3, 3)), np.zeros((3, 3))
    with pytest.raises(DataError, match=r"time\[2\]"):
        fit_wrench_integral([0.0, 1.0, 1.0], rotation, np.zeros((3, 6)), zero, zero, window=1)
    with pytest.raises(DataError, match="window: 3"):
        fit_wrench_integral([0.0, 1.0, 2.0], rotation, np.zeros((3, 6)), zero, zero, window=3)
