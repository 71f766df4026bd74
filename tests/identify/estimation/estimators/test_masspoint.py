"""Mass points with the prior in the null space (000, Eq. 29)."""

import numpy as np
import pytest

from heft.identify.bodies.pseudo_inertia import transform
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.estimators.masspoint import box_deviations


@pytest.mark.parametrize("null_space", ["data", "structure"])
def test_what_no_torque_depends_on_stays_at_the_prior(arm, null_space: str) -> None:
    prior = arm.truth.copy()
    prior[:10] *= 1.3  # of the first link torques tell one moment of inertia
    problem = arm.problem(arm.noisy(0.02), prior=prior, boxes=arm.boxes)
    found = estimate(problem, "masspoint", null_space=null_space)
    assert found.parameters[0] == pytest.approx(prior[0], rel=0.02)


@pytest.mark.parametrize("null_space", ["data", "structure"])
def test_the_prior_has_no_say_in_what_torques_tell(arm, null_space: str) -> None:
    """000, Table V: with and without the prior the fit is the same within 5 %."""
    noisy = arm.noisy(0.05)
    heavy, right = (
        estimate(arm.problem(noisy, prior=prior, boxes=arm.boxes), "masspoint", null_space=null_space).cost
        for prior in (1.4 * arm.truth, arm.truth)
    )
    assert heavy == pytest.approx(right, rel=0.05)


def test_every_centre_of_mass_is_inside_its_box(arm) -> None:
    problem = arm.problem(arm.noisy(0.3), prior=arm.truth, boxes=arm.boxes)
    found = estimate(problem, "masspoint")
    for link, ten in problem.links_of(found.parameters).items():
        low, high = arm.boxes[link]
        assert np.all(ten[1:4] / ten[0] > low)
        assert np.all(ten[1:4] / ten[0] < high)


def test_deviations_are_those_of_the_box(arm) -> None:
    """About the middle of the box and its sides: Eq. 19 to 22 with m = 2 kg, an error of 1 kg."""
    box = (np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.6, 0.9]))
    about = transform(box_deviations(box, 2.0)[:, 4], np.eye(3), -np.array([0.2, 0.4, 0.6]))
    assert about[4] == pytest.approx(3.0 * (0.2**2 + 0.3**2))
    assert np.abs(np.delete(about, 4)).max() < 1e-12
