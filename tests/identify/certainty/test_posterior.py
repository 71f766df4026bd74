"""Data and prior together: as sure as they may be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot, base_parameters
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import body_metric
from heft.identify.bodies.pseudo_inertia import pseudo_inertia, transform, transform_matrix
from heft.identify.certainty.posterior import GaussianPrior, posterior

WAM = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
SIZE = 0.2  # [m]


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(WAM)


@pytest.fixture(scope="module")
def prior(robot: Robot) -> GaussianPrior:
    layout = Layout(robot.parameter_names)
    root = np.diag(0.2 * np.abs(robot.prior) + 0.01)
    for link in layout.links:
        block = layout.link(link)
        root[block, block] = body_metric(robot.prior[block], 0.05, SIZE)
    return GaussianPrior(layout, robot.prior, root)


class TestBodyMetric:
    """How far a body may be from its file."""

    TEN = np.array([2.0, 0.4, -0.1, 0.3, 0.2, 0.01, 0.3, 0.02, 0.0, 0.25])

    def test_masses_and_centres_vary_as_stated(self) -> None:
        S = body_metric(self.TEN, 0.1, SIZE)
        covariance = S @ S.T
        assert np.sqrt(covariance[0, 0]) == pytest.approx(0.2 * 2.0)
        centre = np.zeros((3, 10))  # of the centre of mass by ten numbers
        centre[:, 0] = -self.TEN[1:4] / 2.0**2
        centre[:, 1:4] = np.eye(3) / 2.0
        assert np.sqrt(np.diag(centre @ covariance @ centre.T)) == pytest.approx(np.sqrt(2 / 3) * 0.1 * SIZE)

    def test_it_depends_on_no_frame(self) -> None:
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        shift = np.array([0.3, -0.2, 0.5])
        B = transform_matrix(turn, shift)
        here = B @ body_metric(self.TEN, 0.1, SIZE)
        there = body_metric(transform(self.TEN, turn, shift), 0.1, SIZE)
        assert here @ here.T == pytest.approx(there @ there.T, abs=1e-12)

    def test_a_thin_body_is_no_surer_than_a_thick_one(self) -> None:
        thin = self.TEN.copy()
        thin[4:] = transform(np.array([2.0, 0, 0, 0, 1e-6, 0, 1e-6, 0, 0, 1e-6]), np.eye(3), thin[1:4] / 2)[
            4:
        ]
        assert np.linalg.eigvalsh(pseudo_inertia(thin))[0] > 0
        assert body_metric(thin, 0.1, SIZE) == pytest.approx(body_metric(self.TEN, 0.1, SIZE))


def test_truth_drawn_from_the_prior_is_covered(robot: Robot, prior: GaussianPrior) -> None:
    base, rng = base_parameters(robot), np.random.default_rng(2)
    K = base.matrix
    std = 1e-3 * (np.abs(K @ robot.prior) + 0.05)
    inside, dominated = [], []
    for _ in range(8):
        true = prior.centre + prior.root @ rng.standard_normal(len(robot.prior))
        measured = K @ true + std * rng.standard_normal(len(std))
        found = posterior(prior, K, measured, np.diag(std**2))
        for name, interval in found.intervals(np.inf, found.parameters).items():
            owner, _, term = name.partition(".")
            if term == "mass":
                goal = true[prior.layout.index(f"{owner}.m")]
                inside.append(interval.low <= goal <= interval.high)
                dominated.append((owner, interval.prior_dominated))
            elif owner.startswith("joint"):
                inside.append(interval.low <= true[prior.layout.index(name)] <= interval.high)
    assert 0.9 <= np.mean(inside) < 1.0
    assert ("link1", True) in dominated  # nothing weighs the base link
    assert any(not rests for _, rests in dominated)


def test_without_data_the_prior_remains(robot: Robot, prior: GaussianPrior) -> None:
    K = base_parameters(robot).matrix
    found = posterior(prior, K, K @ robot.prior, np.diag(np.full(len(K), np.inf)))
    assert np.allclose(found.parameters, robot.prior)
    intervals = found.intervals(np.inf, found.parameters)
    assert all(interval.prior_dominated for interval in intervals.values())
    assert intervals["link2.mass"].std == pytest.approx(2 * 0.05 * robot.prior[10])


def test_what_an_answer_is_away_from_the_most_probable_counts_as_an_error(
    robot: Robot, prior: GaussianPrior
) -> None:
    K = base_parameters(robot).matrix
    found = posterior(prior, K, K @ robot.prior, np.diag(np.full(len(K), np.inf)))
    moved = found.parameters.copy()
    moved[10] += 1.0  # the mass of link2 [kg]
    here, there = (found.intervals(np.inf, answer)["link2.mass"] for answer in (found.parameters, moved))
    assert there.std == pytest.approx(np.hypot(here.std, 1.0))
