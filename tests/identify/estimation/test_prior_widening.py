"""A file that is further off than stated is believed less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.prior_widening import prior_widening
from heft.identify.estimation.problem import Problem

if TYPE_CHECKING:
    from .conftest import Arm

DRAWS = 12


def drawn(arm: Arm, times: float, seed: int) -> Problem:
    """Noisy data of the arm, with a file that is off by a draw of `times` the usual spread."""
    problem = arm.problem(arm.noisy(0.01, seed), prior=arm.truth, spread=PriorSpread(inertia=0.03))
    x = np.random.default_rng([seed, 3]).standard_normal(len(arm.truth))
    x[problem.vague] = 0.0
    return replace(problem, prior=arm.truth - times * problem.metric @ x)


def factors(arm: Arm, times: float) -> Array:
    return np.array([prior_widening(drawn(arm, times, seed)).factor for seed in range(DRAWS)])


class TestPriorWidening:
    @pytest.mark.parametrize("times", [2.0, 4.0])
    def test_a_file_that_is_further_off_is_believed_so_much_less(self, arm: Arm, times: float) -> None:
        found = factors(arm, times)
        assert np.median(found) == pytest.approx(times, rel=0.2)
        assert np.all(found > 0.5 * times)

    def test_a_file_as_good_as_stated_is_believed(self, arm: Arm) -> None:
        assert np.median(factors(arm, 1.0)) == pytest.approx(1.0, abs=0.15)

    def test_a_better_file_is_never_believed_more_than_stated(self, arm: Arm) -> None:
        assert np.all(factors(arm, 0.1) == 1.0)

    def test_what_may_be_anything_says_nothing_of_the_file(self, arm: Arm) -> None:
        problem = drawn(arm, 1.0, 0)
        assert problem.prior is not None
        other = problem.prior.copy()
        other[problem.vague] -= 0.5 * problem.metric[problem.vague, problem.vague]
        near, far = prior_widening(problem), prior_widening(replace(problem, prior=other))
        assert far.factor == pytest.approx(near.factor, rel=0.05)

    def test_it_is_told_only_where_it_is_sure(self, arm: Arm) -> None:
        assert prior_widening(drawn(arm, 0.5, 0)).warnings == ()
        (line,) = prior_widening(drawn(arm, 4.0, 0)).warnings
        assert "times further from the robot's file" in line

    def test_without_a_prior_there_is_nothing_to_widen(self, arm: Arm) -> None:
        problem = arm.problem(arm.noisy(0.01))
        assert prior_widening(problem).factor == 1.0
        assert problem.widened(1.0) is problem

    def test_the_wider_problem_keeps_the_weights_of_the_data(self, arm: Arm) -> None:
        problem = drawn(arm, 4.0, 0)
        wider = problem.widened(prior_widening(problem).factor)
        assert wider.joint_weights is problem.joint_weights
        assert np.diag(wider.metric)[0] == pytest.approx(
            prior_widening(problem).factor * np.diag(problem.metric)[0]
        )

    def test_answers_follow_the_data_more_closely(self, arm: Arm) -> None:
        problem = drawn(arm, 6.0, 1)
        wider = problem.widened(prior_widening(problem).factor)
        before, after = (estimate(one, "sdp") for one in (problem, wider))
        assert after.cost < before.cost
