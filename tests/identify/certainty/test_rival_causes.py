"""Causes beside each other: intervals of gains, factors that cannot be told, two mistakes at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heft.identify import Dataset, Robot
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.causes import find_causes
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.causes.torque_gain import likeliest_gain, unsure_scale
from heft.identify.certainty.reason import Reason
from heft.identify.data import Processing
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information

RATE_HZ, SECONDS, CUTOFF_HZ = 200.0, 16.0, 6.0
ROWS = [
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.3, "theta": 0.0},
    {"alpha": 0.0, "a": 0.5, "d": 0.0, "theta": 0.0},
    {"alpha": np.pi / 2, "a": 0.1, "d": 0.0, "theta": 0.0},
    {"alpha": 0.0, "a": 0.3, "d": 0.2, "theta": 0.0},
]


@dataclass(frozen=True)
class Arm:
    robot: Robot
    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray

    def fit_data(self, *, tau: Any = 1.0, time: float = 1.0) -> FitData:
        data = Dataset.from_arrays(self.t * time, self.q, self.tau * np.asarray(tau))
        return FitData.of(self.robot, [data], Processing(cutoff_hz=CUTOFF_HZ / max(time, 1.0)))

    def causes(self, **mistakes: Any) -> tuple[Reason, ...]:
        data = self.fit_data(**mistakes)
        return find_causes(data, Problem.of(self.robot, Information.merged(data.reduced())))


@pytest.fixture(scope="module")
def arm() -> Arm:
    """Four joints, a file with masses that are off by some per cent, friction and a little noise."""
    rng = np.random.default_rng(3)
    plain = Robot.from_dh(ROWS)
    layout = Layout(plain.parameter_names)
    truth, file = np.zeros(len(layout)), np.zeros(len(layout))
    for link, mass in zip(plain.links, (8.0, 6.0, 3.0, 2.0), strict=True):
        centre, inertia = rng.normal(size=3) * 0.08, np.diag([0.02, 0.02, 0.015]) * mass
        truth[layout.link(link)] = from_mass_com_inertia(mass, centre, inertia)
        off = mass * (1 + 0.05 * rng.normal())
        file[layout.link(link)] = from_mass_com_inertia(off, centre + 0.01 * rng.normal(size=3), inertia)
    for joint in plain.joints:
        truth[layout.index(f"{joint}.viscous")], truth[layout.index(f"{joint}.coulomb")] = 1.0, 0.8
    t = np.arange(0.0, SECONDS, 1 / RATE_HZ)
    steps = 2 * np.pi * np.outer(t, [0.25, 0.5, 0.75])
    a, b = rng.normal(size=(2, 3, 4)) * 0.35
    w = 2 * np.pi * np.array([0.25, 0.5, 0.75])[:, None]
    q = np.sin(steps) @ a + np.cos(steps) @ b
    dq = np.cos(steps) @ (w * a) - np.sin(steps) @ (w * b)
    ddq = -(np.sin(steps) @ (w**2 * a) + np.cos(steps) @ (w**2 * b))
    tau = plain.torque(q, dq, ddq, truth) + 0.02 * rng.normal(size=q.shape)
    q = q + 2e-5 * rng.normal(size=q.shape)
    return Arm(replace(plain, prior=file), t, q, tau)


def ids(reasons: tuple[Reason, ...]) -> list[tuple[str, ...]]:
    return [(one.id, *one.where) for one in reasons if one.cause]


def test_a_healthy_arm_has_no_cause(arm: Arm) -> None:
    assert arm.causes() == ()


def test_a_wrong_rate_shows_beside_a_joint_without_torque(arm: Arm) -> None:
    """A joint that is no torque at all must not hide the other mistake, nor be hidden by it."""
    found = ids(arm.causes(tau=[1.0, 1.0, 0.02, 1.0]))
    assert found[0] == ("joint-gain", arm.robot.joints[2])
    both = ids(arm.causes(tau=[1.0, 1.0, 0.02, 1.0], time=2.0))[:3]
    assert ("time-scale",) in both
    assert ("joint-gain", arm.robot.joints[2]) in both


@pytest.mark.parametrize("unit", [1e3, 1e6])
def test_stamps_in_other_units_are_told_first(arm: Arm, unit: float) -> None:
    first = arm.causes(time=unit)[0]
    assert first.id == "time-scale"
    assert first.fix == {"time": {"factor": pytest.approx(1 / unit)}}


def test_the_scale_is_found_from_afar(arm: Arm) -> None:
    for factor in (1e-3, 100.0):
        (first, *_) = arm.causes(tau=factor)
        assert first.id == "torque-scale"
        assert first.fix is not None
        assert first.fix["torque"]["scale"] == pytest.approx(1 / factor, rel=0.3)


def test_a_lower_low_pass_tells_less(arm: Arm) -> None:
    data = arm.fit_data()
    whole, half = MotionSample.of(data), MotionSample.of(data, 0.5)
    assert half.told < 0.55 * whole.told
    assert half.ddq.std() == pytest.approx(whole.ddq.std(), rel=0.2)


def stub(cost: Callable[[float], float]) -> Any:
    """An agreement that costs a function of the common gain's logarithm."""
    known = SimpleNamespace(who="the file")
    return SimpleNamespace(
        known=known, explained=lambda gain, near=None: SimpleNamespace(cost=cost(float(np.log(gain))))
    )


def unsure(agreement: Any) -> list[Reason]:
    return unsure_scale(agreement, likeliest_gain(agreement, agreement.explained(1.0), thorough=False))


def test_a_scale_that_cannot_be_told_is_said_with_its_range() -> None:
    valleys = stub(lambda x: 10.0 * min(abs(x), abs(x - 1.2)) ** 2)  # 1 and 3.3 are as likely
    (reason,) = unsure(valleys)
    assert reason.id == "scale-unknown"
    assert not reason.cause
    assert "0.64 to 5.2" in reason.text


def test_a_factor_of_1_3_is_excluded_by_two_and_a_half_deviations_or_named() -> None:
    """log 1.3 is 0.262: 2.6 of 0.1; and from 0.05 on, where a file is a little off, 2.1 and 3.1."""
    assert unsure(stub(lambda x: 0.5 * (x / 0.1) ** 2)) == []
    for off in (0.05, -0.05):
        (reason,) = unsure(stub(lambda x, off=off: 0.5 * ((x - off) / 0.1) ** 2))
        assert reason.id == "scale-unknown"
