"""Joints whose data contradict the feasible set count for less; all others as before."""

import numpy as np
import pytest

from heft.identify.estimation.constrained.contradicted import credible_weights
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.least_squares import weights_of

NOISE = 0.05  # [N m]


@pytest.fixture
def torque(arm) -> np.ndarray:
    """As of a last rotor whose inertia is negative, which no robot has."""
    torque = arm.noisy(NOISE)
    place = arm.robot.parameter_names.index(f"{arm.robot.joints[3]}.drive_inertia")
    torque[:, 3] -= (arm.truth[place] + 0.3) * arm.regressor[:, 3, place]
    return torque


def test_weights_stay_where_bounds_and_data_agree(arm) -> None:
    problem = arm.problem(arm.noisy(NOISE), prior=arm.truth)
    np.testing.assert_array_equal(estimate(problem, "sdp").weights, weights_of(problem))


@pytest.mark.parametrize("method", ["sdp", "manifold"])
def test_a_joint_that_contradicts_a_bound_counts_for_less(arm, torque, method) -> None:
    problem = arm.problem(torque, prior=arm.truth)
    ratio = estimate(problem, method).weights / weights_of(problem)
    assert ratio[3] < 0.5
    np.testing.assert_allclose(ratio[:3], 1.0)


def test_the_other_joints_do_not_pay_for_it(arm, torque) -> None:
    """Torques of the first joints, which are right, are predicted better than with the weights of least squares."""
    problem = arm.problem(torque, prior=arm.truth)
    plain = arm.problem(torque, prior=arm.truth, weighting=weights_of(problem))

    def missed(of) -> float:
        error = (arm.regressor @ of.parameters - arm.torque)[:, :3]
        return float(np.sqrt((error**2).mean()))

    assert missed(estimate(problem, "sdp")) < 0.9 * missed(estimate(plain, "sdp"))


def test_data_alone_and_given_weights_are_left_as_they_are(arm, torque) -> None:
    problem = arm.problem(torque, prior=arm.truth)
    np.testing.assert_array_equal(estimate(problem, "sdp", prior_weight=0.0).weights, weights_of(problem))
    given = arm.problem(torque, prior=arm.truth, weighting=np.ones(4))
    target = Target.of(given, np.ones(4))
    np.testing.assert_array_equal(credible_weights(given, target, np.ones(4)), np.ones(4))
