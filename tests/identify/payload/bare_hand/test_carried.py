"""The hand as a part of its link: wrenches and joint torques together, against Pinocchio with a known truth."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

from heft.identify import Dataset, Processing, Result, Robot, base_parameters, fit
from heft.identify.bodies import from_pseudo_inertia, pseudo_inertia, transform
from heft.identify.estimation.alignment import align
from heft.identify.estimation.carried import Carried
from heft.identify.estimation.constrained.feasible_set import FeasibleSet
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.payload.bare_hand.carried import carried_by
from heft.identify.payload.bare_hand.identified_hand import identify_hand
from heft.identify.result import RelativeError
from heft.identify.result.estimate_warnings import estimate_warnings

CONFIGS = Path(__file__).parents[4] / "configs" / "robots"
LINK, COUNT, RATE = "link7", 8000, 500.0
REST, HAND = slice(60, 70), slice(70, 80)  # of the truth: the seventh link without the hand, and the hand


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "wam7.yaml")


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(8).uniform(-0.7, 0.7, (2, 7, 4))
    w = 2 * np.pi / 8.0 * np.arange(1, 5)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    middle = np.array([0.0, 0.1, 0.0, 1.6, -1.6, 0.0, 0.3])
    return (
        middle + sine @ (a / w).T - cosine @ (b / w).T,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def drawn(ten: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A neighbour, as the simulated rigs draw it."""
    root = np.linalg.cholesky(pseudo_inertia(ten)) @ expm(0.05 * rng.standard_normal((4, 4)))
    return from_pseudo_inertia(root @ root.T)


class Truth:
    """The arm, its links and the hand drawn apart; torques and wrenches by Pinocchio."""

    def __init__(self, seed: int, heavier: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.model = pin.buildModelFromMJCF(str(CONFIGS / "wam7.xml"))
        number = self.model.getFrameId("hand", pin.FrameType.BODY)
        frame = self.model.frames[number]
        self.place = frame.placement  # of the hand's frame in link 7, and of the sensor, which is there too
        hand = self.model.frames[frame.parentFrame].inertia.toDynamicParameters()
        moved = transform(hand, self.place.rotation, self.place.translation)
        for joint in range(1, 8):
            ten = self.model.inertias[joint].toDynamicParameters()
            ten = drawn(ten - moved if joint == 7 else ten, rng)
            if joint == 7:
                self.rest, self.hand = ten, heavier * drawn(moved, rng)
                ten = ten + self.hand
            self.model.inertias[joint] = pin.Inertia.FromDynamicParameters(ten)
        self.model.armature[:] = 0.0

    def data(self, robot: Robot, seed: int = 0, gain: float = 1.0) -> Dataset:
        t = np.arange(COUNT) / RATE
        q, dq, ddq = motion(t)
        assert robot.prior is not None
        joints = robot.prior.copy()
        joints[:70] = 0.0
        tau = robot.torque(q, dq, ddq, joints)
        wrench = np.empty((COUNT, 6))
        data = self.model.createData()
        carried = pin.Inertia.FromDynamicParameters(self.hand)
        for k in range(COUNT):
            tau[k] += pin.rnea(self.model, data, q[k], dq[k], ddq[k])
            force = carried * data.a_gf[7] + carried.vxiv(data.v[7])  # on link 7's origin
            at_sensor = self.place.actInv(force)
            wrench[k] = np.concatenate([at_sensor.linear, at_sensor.angular])
        rng = np.random.default_rng(seed)
        tau += 0.02 * tau.std(axis=0) * rng.standard_normal(tau.shape)
        wrench = gain * wrench + [1.0, -0.5, 0.3, 0.02, -0.01, 0.03]
        wrench += rng.standard_normal(wrench.shape) * ([0.05] * 3 + [0.002] * 3)
        return Dataset.from_arrays(t, q, tau, wrench=wrench)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(3)


@pytest.fixture(scope="module")
def data(robot: Robot, truth: Truth) -> Dataset:
    return truth.data(robot)


@pytest.fixture(scope="module")
def joined(robot: Robot, data: Dataset) -> Result:
    return fit(robot, data, cutoff_hz=8.0)


@pytest.fixture(scope="module")
def alone(robot: Robot, data: Dataset) -> Result:
    return fit(robot, replace(data, wrench=None), cutoff_hz=8.0)


@pytest.fixture(scope="module")
def problem(robot: Robot, data: Dataset) -> Problem:
    source = FitData.of(robot, [data], Processing(8.0))
    found = align(source, partial(Problem.of, robot), 0.0, source.reduced()).problem
    hand = identify_hand(source)
    assert hand is not None
    return replace(found, carried=carried_by(robot, hand, found.prior, found.spread, found.sizes))


def test_the_file_tells_hand_and_rest_apart(problem: Problem, truth: Truth) -> None:
    assert problem.carried is not None
    assert problem.carried.prior is not None
    assert problem.carried.prior[0] == pytest.approx(0.78)
    assert problem.carried.ten == pytest.approx(truth.hand, rel=0.02, abs=2e-5)
    assert problem.carried.notes == ()


def test_links_respect_what_the_sensor_saw(problem: Problem, truth: Truth) -> None:
    answer = estimate(problem, "sdp")
    hand, off = FeasibleSet(problem).hand(answer.parameters)
    rest = answer.parameters[problem.layout.link(LINK)] - hand
    assert off < 4
    assert hand == pytest.approx(truth.hand, rel=0.02, abs=2e-5)
    assert np.linalg.eigvalsh(pseudo_inertia(hand))[0] > 0
    assert np.linalg.eigvalsh(pseudo_inertia(rest))[0] > 0
    without = estimate(replace(problem, carried=None), "sdp").parameters
    apart = without[problem.layout.link(LINK)] - truth.hand
    assert abs(rest[0] - truth.rest[0]) < 0.2 * abs(apart[0] - truth.rest[0])


@pytest.mark.parametrize(
    "method",
    ["wls", "closest", "check", "correct", pytest.param("manifold", marks=pytest.mark.slow), "masspoint"],
)
def test_every_method_takes_it(problem: Problem, truth: Truth, method: str) -> None:
    with_hand = estimate(problem, method)
    without = estimate(replace(problem, carried=None), method)
    assert with_hand.cost < 1.02 * without.cost
    if method in ("wls", "check", "manifold"):  # their prior is the problem's own
        mass = with_hand.parameters[problem.layout.link(LINK)][0]
        assert mass == pytest.approx((truth.rest + truth.hand)[0], abs=0.005)


def test_a_link_that_cannot_hold_the_hand_is_told(problem: Problem) -> None:
    """The sensor's hand twice as heavy as the link: sdp must move one of the two, far beyond chance."""
    assert problem.carried is not None
    heavy = replace(problem, carried=Carried(LINK, 2 * problem.carried.ten, problem.carried.factor))
    answer = estimate(heavy, "sdp")
    hand, off = FeasibleSet(heavy).hand(answer.parameters)
    assert np.linalg.eigvalsh(pseudo_inertia(answer.parameters[heavy.layout.link(LINK)] - hand))[0] > 0
    fitted = RelativeError.of(heavy.information, answer.parameters, np.zeros(7, dtype=bool))
    told = estimate_warnings(heavy, answer, fitted, 100.0)
    assert off > 6
    assert any("wrist sensor carries had to be moved" in line for line in told)
    told = estimate_warnings(heavy, estimate(heavy, "wls"), fitted, 100.0)
    assert any("without what the wrist sensor carries" in line for line in told)


def test_the_last_link_gains(joined: Result, alone: Result, truth: Truth) -> None:
    true = (truth.rest + truth.hand)[0]
    assert joined.intervals[f"{LINK}.mass"].std < 0.6 * alone.intervals[f"{LINK}.mass"].std
    assert (
        joined.intervals[f"{LINK}.principal_moments.2"].std
        < 0.6 * alone.intervals[f"{LINK}.principal_moments.2"].std
    )
    for result in (joined, alone):
        mass = result.intervals[f"{LINK}.mass"]
        assert abs(mass.value - true) < 3 * mass.std
    assert joined.base.values == pytest.approx(alone.base.values, abs=3 * float(alone.base.std.max()))
    assert not any("sensor" in line for line in joined.warnings)


def test_a_sensor_that_contradicts_the_joints_has_no_part(robot: Robot, truth: Truth, alone: Result) -> None:
    found = fit(robot, truth.data(robot, gain=1.2), cutoff_hz=8.0)
    told = [line for line in found.warnings if "contradict each other" in line]
    assert len(told) == 1
    assert "calibrate" in told[0]
    assert found.intervals["hand.mass"].value == pytest.approx(1.2 * truth.hand[0], rel=0.01)
    assert found.parameters.values == pytest.approx(alone.parameters.values, abs=1e-12)
    mass, without = found.intervals[f"{LINK}.mass"], alone.intervals[f"{LINK}.mass"]
    assert (mass.low, mass.high) == pytest.approx((without.low, without.high), rel=1e-9)


def test_another_tool_than_the_files(robot: Robot) -> None:
    other = Truth(4, heavier=1.8)
    found = fit(robot, other.data(robot), cutoff_hz=8.0)
    assert any("another tool?" in line for line in found.warnings)
    assert not any("contradict each other" in line for line in found.warnings)
    mass = found.intervals[f"{LINK}.mass"]
    assert abs(mass.value - (other.rest + other.hand)[0]) < 3 * mass.std < 0.05


def test_a_sensor_mounted_askew_has_no_part(robot: Robot, data: Dataset, alone: Result) -> None:
    assert data.wrench is not None
    turned = np.asarray(data.wrench)[:, [1, 0, 2, 4, 3, 5]]
    found = fit(robot, replace(data, wrench=turned), cutoff_hz=8.0)
    assert any("a hand explains" in line and "axes and signs" in line for line in found.warnings)
    assert found.parameters.values == pytest.approx(alone.parameters.values, abs=1e-12)


def test_without_a_hand_in_the_file_it_only_has_to_fit_in(
    robot: Robot, data: Dataset, problem: Problem
) -> None:
    nameless = replace(robot, hand=None)
    hand = identify_hand(FitData.of(nameless, [data], Processing(8.0)))
    assert hand is not None
    carried = carried_by(nameless, hand, problem.prior, problem.spread, problem.sizes)
    assert carried.prior is None
    posed = replace(problem, carried=carried)
    np.testing.assert_array_equal(posed.start, problem.known)
    answer = estimate(posed, "sdp")
    found, off = FeasibleSet(posed).hand(answer.parameters)
    assert off < 4
    assert np.linalg.eigvalsh(pseudo_inertia(answer.parameters[posed.layout.link(LINK)] - found))[0] > 0


def test_shared_is_conditioning(problem: Problem) -> None:
    """Against the normal distribution of rest and hand written out."""
    rng = np.random.default_rng(0)
    rest, hand, factor = rng.standard_normal((3, 10, 10))
    prior, ten, centre = rng.standard_normal((3, 10))
    found = Carried("link", ten, factor, prior).shared(centre, np.eye(10), np.ones(10), (rest, hand))
    J = np.block([[np.eye(10), np.eye(10)], [np.zeros((10, 10)), np.eye(10)]])  # (rest, hand) to (link, hand)
    before = J @ np.block([[rest @ rest.T, np.zeros((10, 10))], [np.zeros((10, 10)), hand @ hand.T]]) @ J.T
    H = np.hstack([np.zeros((10, 10)), factor])
    gain = before @ H.T @ np.linalg.inv(H @ before @ H.T + np.eye(10))
    mean = np.concatenate([centre, prior]) + gain @ (factor @ (ten - prior))
    after = before - gain @ H @ before
    assert found.centre == pytest.approx(mean[:10], abs=1e-6)
    assert found.metric @ found.metric.T == pytest.approx(after[:10, :10], abs=1e-6)
    slope = after[10:, :10] @ np.linalg.inv(after[:10, :10])
    assert found.gain == pytest.approx(slope, abs=1e-6)
    assert found.root @ found.root.T == pytest.approx(after[10:, 10:] - slope @ after[:10, 10:], abs=1e-6)


def test_without_a_sensor_nothing_is_shared(robot: Robot, data: Dataset, problem: Problem) -> None:
    plain = replace(problem, carried=None)
    assert plain.shared is None
    assert plain.start is plain.known
    np.testing.assert_array_equal(plain.metric, plain.metric_of(plain.spread))
    assert base_parameters(robot).names == plain.base.names
