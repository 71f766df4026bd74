"""Numbers of the papers that estimators and consistency must reproduce."""

import re

import numpy as np
import pytest

from heft.identify.bodies import (
    grid,
    inertia_about_com,
    mass_point_matrix,
    pseudo_inertia,
    second_moment_about_com,
)
from heft.identify.bodies.consistency import consistency
from heft.identify.bodies.parameters import Layout, parameter_names
from heft.identify.estimation.constrained.feasible_set import Margin
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.estimators.check import check_base
from heft.identify.estimation.estimators.correct import correct_base
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information
from heft.identify.robot.base import BaseParameters


class TestMassPoints:
    """000: Ayusawa, Nakamura 2010."""

    @pytest.mark.parametrize("seed", range(5))
    def test_27_points_span_every_inertia(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        low = rng.uniform(-0.3, 0.3, 3)
        P = mass_point_matrix(grid(low, low + rng.uniform(0.02, 0.5, 3)))
        assert P.shape == (10, 27)
        assert np.linalg.matrix_rank(P) == 10

    @pytest.mark.parametrize("seed", range(20))
    def test_every_solution_is_inside_its_box_and_positive_definite(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        low = rng.uniform(-0.3, 0.3, 3)
        high = low + rng.uniform(0.02, 0.5, 3)
        masses = rng.uniform(0, 1, 27) ** 4 + 1e-6
        ten = mass_point_matrix(grid(low, high)) @ masses
        com = ten[1:4] / ten[0]
        assert (com >= low).all()
        assert (com <= high).all()
        assert np.linalg.eigvalsh(inertia_about_com(ten))[0] > 0
        assert consistency(ten, "shape", box=(low, high)).margin > -1e-6


# 001, Table I as printed: m, mc (3), Ixx Ixy Ixz Iyy Iyz Izz
UNCONSTRAINED = {
    10.0: (1.836, 0.062, 0.001, 0.208, 0.580, 0.593, -0.541, 1.022, 0.190, -0.129),
    5.0: (1.842, 0.061, 0.000, 0.206, 0.128, -0.018, -0.125, 0.125, 0.026, -0.001),
    2.0: (1.852, 0.060, 0.001, 0.206, 0.065, 0.001, -0.035, 0.066, 0.006, 0.007),
    1.0: (1.820, 0.060, 0.002, 0.205, 0.032, 0.0014, -0.017, 0.036, 0.002, 0.008),
    0.5: (1.843, 0.060, 0.005, 0.204, 0.033, 0.003, -0.014, 0.035, 0.000, 0.008),
}
CONSTRAINED = {
    10.0: (1.836, 0.062, 0.001, 0.208, 0.215, 0.012, -0.064, 0.227, 0.038, 0.028),
    5.0: (1.842, 0.060, 0.000, 0.206, 0.166, 0.001, -0.089, 0.216, 0.001, 0.050),
    2.0: (1.852, 0.060, 0.001, 0.206, 0.067, 0.001, -0.030, 0.086, 0.003, 0.014),
    1.0: (1.820, 0.060, 0.002, 0.205, 0.034, 0.001, -0.015, 0.042, 0.001, 0.009),
    0.5: (1.844, 0.059, 0.004, 0.204, 0.037, 0.001, -0.013, 0.039, 0.000, 0.008),
}


def ten_of(row: tuple[float, ...]) -> np.ndarray:
    """In Pinocchio's order: xy, yy, xz instead of xy, xz, yy."""
    return np.array(row)[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]


class TestManifoldTable:
    """001: Traversaro et al. 2016, Table I."""

    @pytest.mark.parametrize("seconds", [10.0, 5.0, 2.0, 1.0])
    def test_slow_unconstrained_rows_are_not_positive_definite(self, seconds: float) -> None:
        found = consistency(ten_of(UNCONSTRAINED[seconds]), "inertia")
        assert not found.ok
        assert found.culprit == "inertia"

    def test_the_fastest_row_breaks_the_triangle_inequality(self) -> None:
        ten = ten_of(UNCONSTRAINED[0.5])
        assert consistency(ten, "inertia").ok
        assert consistency(ten, "full").culprit == "triangle"
        assert np.linalg.eigvalsh(second_moment_about_com(ten))[0] == pytest.approx(-3.3e-3, abs=1e-4)

    @pytest.mark.parametrize("seconds", CONSTRAINED)
    def test_constrained_rows_are_consistent_up_to_rounding(self, seconds: float) -> None:
        assert np.linalg.eigvalsh(pseudo_inertia(ten_of(CONSTRAINED[seconds])))[0] > -3e-3


COMBINATIONS = (
    "1yy+2yy+3yy+3m",
    "2xx-2yy-3m",
    "2xy",
    "2xz-3mz",
    "2yz",
    "2zz+3m",
    "2mx+3m",
    "2my",
    "3xx-3yy",
    "3xy",
    "3xz",
    "3yz",
    "3zz",
    "3mx",
    "3my",
)  # 003, Table 1: L is inertia, l is first moment m x
BETA_T1 = np.array(
    [
        6.4,
        -5.48,
        0.072,
        -0.087,
        0.051,
        5.6,
        6.5,
        -0.00075,
        -0.72,
        -0.0098,
        -0.0098,
        -0.00045,
        0.72,
        0.95,
        0.015,
    ]
)
BETA_T2 = np.array([6.2, *BETA_T1[1:]])
BETA_T2_CORRECTED = np.array(
    (
        6.200951,
        -5.479049,
        0.071966,
        -0.086967,
        0.050999,
        5.6,
        6.5,
        -0.00075,
        -0.719049,
        -0.009819,
        -0.009817,
        -0.00045,
        0.72,
        0.949999,
        0.014966,
    )
)
PAPERS_MARGIN = Margin(relative=0.0, absolute=1e-6)


def three_links(level: str) -> Problem:
    """The robot of 003, section 5.1: base vectors and no data."""
    layout = Layout(parameter_names(("link1", "link2", "link3"), {}))
    K = np.zeros((15, 30))
    for row, text in zip(K, COMBINATIONS, strict=True):
        for sign, link, term in re.findall(r"([+-]?)(\d)([a-z]+)", text):
            row[layout.index(f"link{link}.{term}")] = -1.0 if sign == "-" else 1.0
    leads = tuple(int(np.flatnonzero(row)[0]) for row in K)
    base = BaseParameters(COMBINATIONS, layout.names, K, leads, {})
    nothing = Information(np.zeros((1, 31, 31)), np.array([1]), layout.names)
    return Problem(nothing, base, layout, level=level)  # type: ignore[arg-type]


class TestThreeLinks:
    """003: Sousa, Cortesao 2014, Table 1."""

    def test_beta_t1_is_feasible_with_6x6(self) -> None:
        assert check_base(three_links("inertia"), BETA_T1, PAPERS_MARGIN).ok

    def test_beta_t2_is_infeasible_with_6x6(self) -> None:
        assert not check_base(three_links("inertia"), BETA_T2, PAPERS_MARGIN).ok

    def test_the_closest_feasible_vector_is_the_papers(self) -> None:
        problem = three_links("inertia")
        parameters, distance = correct_base(problem, BETA_T2, PAPERS_MARGIN)
        assert distance == pytest.approx(1.66e-3, abs=1e-5)
        np.testing.assert_allclose(problem.base.matrix @ parameters, BETA_T2_CORRECTED, atol=1e-5)

    def test_with_the_triangle_inequality_both_are_infeasible(self) -> None:
        problem = three_links("full")
        one, two = (check_base(problem, beta, PAPERS_MARGIN) for beta in (BETA_T1, BETA_T2))
        assert not one.ok
        assert not two.ok
        assert one.distance == pytest.approx(1.9e-4, abs=5e-6)
        assert two.distance == pytest.approx(5.6e-2, abs=5e-4)


def random_problem(seed: int, prior: np.ndarray | None) -> Problem:
    """Three links, a base space of 15 and noisy rows: what 002 says holds for any such."""
    rng = np.random.default_rng(seed)
    problem = three_links("full")
    W = rng.normal(size=(200, 15)) @ problem.base.matrix
    rows = np.column_stack([W, W @ rng.normal(size=30) + 0.5 * rng.normal(size=200)])
    factor = np.linalg.qr(rows, mode="r")[None]
    information = Information(factor, np.array([200]), problem.layout.names)
    return Problem(information, problem.base, problem.layout, prior=prior)


class TestClosest:
    """002: Gautier, Venture 2013, Eq. 30 and 32."""

    @pytest.mark.parametrize("seed", range(3))
    def test_same_residual_and_smallest_distance(self, seed: int) -> None:
        rng = np.random.default_rng(100 + seed)
        prior = rng.normal(size=30)
        problem = random_problem(seed, prior)
        closest, plain = estimate(problem, "closest"), estimate(problem, "wls")
        assert closest.cost == pytest.approx(plain.cost, rel=1e-9)
        np.testing.assert_allclose(closest.base, plain.base, rtol=1e-7, atol=1e-9)
        step = closest.parameters - prior
        _, _, V = np.linalg.svd(problem.base.matrix)
        for _ in range(20):  # any other optimum is closest + null space, and farther
            other = step + V[15:].T @ rng.normal(size=15)
            assert np.linalg.norm(other) > np.linalg.norm(step)

    @pytest.mark.parametrize("seed", range(3))
    def test_on_the_essential_parameters(self, seed: int) -> None:
        rng = np.random.default_rng(200 + seed)
        prior = rng.normal(size=30)
        problem = random_problem(seed, prior)
        few = estimate(problem, "essential", most_deviation=0.2)
        assert 0 < len(few.essential) <= 15
        chosen = {problem.base.independent[COMBINATIONS.index(name)] for name in few.essential}
        assert set(np.flatnonzero(few.parameters != prior)) <= chosen
        # Among all changes of the essential parameters alone, none fits better.
        R, z, _ = problem.stacked(few.weights)
        columns = sorted(chosen)
        best, *_ = np.linalg.lstsq(R[:, columns], z - R @ prior)
        np.testing.assert_allclose((few.parameters - prior)[columns], best, rtol=1e-6, atol=1e-8)
