"""What a fit finds beside its parameters: clipped and repeated data, costs of bounds, late torques."""

from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Bounds, Dataset, Robot, fit
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.data_faults import data_faults
from heft.identify.data import Processing
from heft.identify.errors import DataError
from heft.identify.information.fit_data import FitData

ROWS = (
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.2, "theta": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.0, "theta": 0.0},
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    plain = Robot.from_dh(ROWS)
    body = from_mass_com_inertia(3.0, [-0.1, 0.02, 0.03], np.diag([0.02, 0.05, 0.06]))
    terms = {"drive_inertia": 0.05, "viscous": 1.0, "coulomb": 0.5, "offset": 0.2}
    values = {f"{joint}.{term}": value for joint in plain.joints for term, value in terms.items()}
    return replace(plain, prior=Layout(plain.parameter_names).pack({"link1": body, "link2": body, **values}))


def motion(robot: Robot, parameters: Array | None = None, noise: float = 0.02) -> Dataset:
    rng = np.random.default_rng(5)
    t = np.arange(0, 20.0, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 2))
    for k in range(1, 6):
        w = 2 * np.pi * k / 10
        a, phase = rng.normal(size=2) / k, rng.uniform(0, 2 * np.pi, 2)
        q += np.sin(np.outer(t, [w, w]) + phase) * a
        dq += w * np.cos(np.outer(t, [w, w]) + phase) * a
        ddq -= w**2 * np.sin(np.outer(t, [w, w]) + phase) * a
    tau = robot.torque(q, dq, ddq, robot.prior if parameters is None else parameters)
    return Dataset.from_arrays(t, q, tau + noise * rng.normal(size=tau.shape))


def faults(robot: Robot, data: Dataset) -> list[tuple[str, str]]:
    found = data_faults(FitData.of(robot, [data], Processing(5.0)))
    return [(one.id, one.text) for one in found]


def test_clipped_torques_are_told_by_joint_and_share(robot: Robot) -> None:
    data = motion(robot)
    tau = np.asarray(data.tau).copy()
    top = np.quantile(tau[:, 1], 0.97)
    tau[:, 1] = np.minimum(tau[:, 1], top)
    ((name, text),) = faults(robot, replace(data, tau=tau))
    assert name == "clipped"
    assert "joint2 stands at its largest value" in text
    assert "in 3 % of the samples" in text


@pytest.mark.parametrize("step", [0.0, 0.05, 1.0])
def test_peaks_are_not_clipped_even_where_torques_are_coarse(step: float, robot: Robot) -> None:
    data = motion(robot, noise=0.0)
    tau = np.asarray(data.tau)
    assert faults(robot, replace(data, tau=np.round(tau / step) * step if step else tau)) == []


def test_a_torque_that_never_changes_is_told_before_its_effects(robot: Robot) -> None:
    data = motion(robot)
    tau = np.asarray(data.tau).copy()
    tau[:, 1] = 0.0
    result = fit(robot, replace(data, tau=tau), cutoff_hz=5.0)
    assert result.verdict.grade == "unfit"
    assert result.verdict.reasons[0].id == "constant-torque"
    assert result.verdict.reasons[0].where == ("joint2",)
    assert not any("inf" in one.text for one in result.verdict.reasons)


def test_torques_that_are_all_zero_are_refused(robot: Robot) -> None:
    data = motion(robot)
    with pytest.raises(DataError, match="every torque is zero while the robot moves"):
        fit(robot, replace(data, tau=np.zeros_like(data.tau)))


def test_held_samples_are_told(robot: Robot) -> None:
    data = motion(robot)
    held = np.arange(len(data)) // 2 * 2
    ((name, text),) = faults(robot, replace(data, q=np.asarray(data.q)[held], tau=np.asarray(data.tau)[held]))
    assert name == "repeated"
    assert text.startswith("50 % of the samples repeat the one before")


def costs(robot: Robot, truth: Array, **options: object) -> list[str]:
    found = fit(robot, motion(robot, truth), cutoff_hz=5.0, **options)  # type: ignore[arg-type]
    return [one.text for one in found.findings if one.id == "bound-cost"]


def test_the_sign_that_costs_is_named(robot: Robot) -> None:
    truth = robot.prior.copy()
    truth[Layout(robot.parameter_names).index("joint2.viscous")] = -0.4
    (text,) = costs(robot, truth)
    assert text.startswith("no negative viscous friction of joint2 costs 3e+03 times the squared residual")
    assert "(least squares has -0.39" in text
    assert costs(robot, robot.prior) == []


def test_the_bound_on_masses_that_costs_is_named(robot: Robot) -> None:
    (text,) = costs(robot, robot.prior, bounds=Bounds(total_mass=(0.5, 1.0)))
    assert text.startswith("the total mass of 0.5 to 1 kg costs ")


def test_torques_that_are_too_late_ask_for_care(robot: Robot) -> None:
    data = motion(robot)
    late = Dataset.from_arrays(data.t[:-12], np.asarray(data.q)[12:], np.asarray(data.tau)[:-12])
    (told,) = [one for one in fit(robot, late, cutoff_hz=5.0).verdict.reasons if one.id == "delay"]
    assert told.text.startswith("torque lags position by 59.9 ms, more than 25 ms")
