"""Grasps judged by draws: right ones are called wrong as rarely as stated, wrong ones are found."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.config.objects import ObjectConfig, load_objects
from heft.identify.bodies import from_mass_com_inertia, transform
from heft.identify.bodies.mass_distribution import ELEMENTS, MassDistribution
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.payload import PayloadEstimate, fit_wrench, principal_inertia
from heft.identify.payload.output.grasp_check import FALSE_ALARM, _beyond, _rotation, check_grasp

BY_NAME = {one.name: one for one in load_objects(Path(__file__).parents[4] / "configs" / "objects")}
TIGHT = 1e-6  # [m, rad]: nothing but noise may be off
DRAWS = 400


@cache
def fitted(name: str, slipped: float = 0.0, turned: float = 0.0) -> PayloadEstimate:
    """An estimate in the flange's frame of an object in its grasp, or `slipped` [m] along y and `turned` [rad] about
    the axis that tells least: the object's own with the largest moments about the other two.
    """
    one = BY_NAME[name]
    assert one.grasp is not None
    own = from_mass_com_inertia(one.mass, one.com, np.array(one.inertia_matrix))
    R = _rotation(one.grasp.rpy)
    axes = np.linalg.eigh(np.array(one.inertia_matrix))[1]
    turn = axes @ _rotation((turned, 0.0, 0.0)) @ axes.T  # about the axis of the smallest moment
    centre = np.array(one.com)
    place = np.array(one.grasp.position) + np.array([0.0, slipped, 0.0]) + R @ (centre - turn @ centre)
    ten = transform(own, R @ turn, place)
    rng = np.random.default_rng(7)
    q, _ = np.linalg.qr(rng.normal(size=(600, 3, 3)))
    q[np.linalg.det(q) < 0, :, 0] *= -1
    motion = [rng.normal(size=(600, 3)), 10.0 * rng.normal(size=(600, 3)), rng.normal(size=(600, 3))]
    wrench = wrench_terms(q, *motion).regressor((0, 0, -9.81)) @ ten
    wrench += rng.normal(size=wrench.shape) * np.array([0.05] * 3 + [0.01] * 3)
    estimate = fit_wrench(q, wrench, *motion).in_frame("flange", np.eye(3), np.zeros(3))
    return replace(estimate, body=MassDistribution.from_ten(ten))  # the truth, to draw about


def drawn(estimate: PayloadEstimate, rng: np.random.Generator) -> PayloadEstimate:
    """Another estimate, as far off as the covariance says."""
    second = (estimate.body.axes * estimate.body.moments) @ estimate.body.axes.T
    y = np.array([estimate.mass, *estimate.com, *(second[i, j] for i, j in ELEMENTS)])
    y += np.linalg.cholesky(estimate.covariance + 1e-30 * np.eye(10)) @ rng.standard_normal(10)
    for value, (i, j) in zip(y[4:], ELEMENTS, strict=True):
        second[i, j] = second[j, i] = value
    moments, axes = np.linalg.eigh(second)
    axes = axes * np.sign(np.linalg.det(axes))
    return replace(estimate, body=MassDistribution(y[0], y[1:4], axes, np.maximum(moments, 1e-9)))


def with_tolerance(name: str, place: float, angle: float) -> ObjectConfig:
    one = BY_NAME[name]
    assert one.grasp is not None
    return one.model_copy(
        update={"grasp": one.grasp.model_copy(update={"tolerance": place, "angle_tolerance": angle})}
    )


def share_called_wrong(name: str, known: ObjectConfig, **off: float) -> float:
    rng = np.random.default_rng(1)
    estimates = [drawn(fitted(name, **off), rng) for _ in range(DRAWS)]
    checks = [check_grasp(one, principal_inertia(one), known) for one in estimates]
    return float(np.mean([one.ok is False for one in checks]))


@pytest.mark.parametrize("name", ["hammer", "dumbbell", "water_bottle", "cordless_drill"])
def test_a_right_grasp_is_called_wrong_as_rarely_as_stated(name: str) -> None:
    wrong = share_called_wrong(name, with_tolerance(name, TIGHT, TIGHT))
    assert wrong < FALSE_ALARM + 3 * np.sqrt(FALSE_ALARM * (1 - FALSE_ALARM) / DRAWS)
    assert wrong > 0.01  # and the bound is not so wide that nothing would be found


def test_within_its_tolerance_a_grasp_is_hardly_ever_called_wrong() -> None:
    known = with_tolerance("hammer", 0.005, 0.2)
    assert share_called_wrong("hammer", known, slipped=0.004, turned=0.1) < 0.02


@pytest.mark.parametrize(("slipped", "turned"), [(0.01, 0.0), (0.0, 0.6)])
def test_a_wrong_grasp_is_found(slipped: float, turned: float) -> None:
    known = with_tolerance("hammer", 0.005, 0.1)
    assert share_called_wrong("hammer", known, slipped=slipped, turned=turned) > 0.95


@pytest.mark.parametrize(
    ("x", "beyond"), [([0.5, 0.0], False), ([3.0, 0.0], False), ([5.0, 0.0], True), ([0.0, 1.5], True)]
)
def test_beyond_is_measured_from_the_tolerance(x: Any, beyond: bool) -> None:
    """Standard deviations 1 and 0.1 about a tolerance of 1; chi-squared of two numbers at 2.5 % is 7.4."""
    assert _beyond(np.array(x), np.diag([1.0, 0.01]), 1.0) is beyond
