"""Results that nobody had to identify: a robot's own parameters, moved a little, each link still a possible body."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import expm

from heft.identify import Processing, Result, Robot
from heft.identify.bodies import from_pseudo_inertia, pseudo_inertia
from heft.identify.bodies.parameters import Layout
from heft.identify.result import BaseValues, Parameters, Provenance, RelativeError
from heft.identify.robot.base import base_parameters

Made = Callable[..., Result]


def made_up(robot: Robot, seed: int = 1, size: float = 0.1) -> Result:
    """A result for a robot with a prior; links that could not exist are made to (ddarm's first could not)."""
    rng = np.random.default_rng(seed)
    layout = Layout(robot.parameter_names)
    values = robot.prior.copy()
    for link in layout.links:
        J = pseudo_inertia(values[layout.link(link)])
        eigenvalues, vectors = np.linalg.eigh(J)
        J = (vectors * np.maximum(eigenvalues, 1e-3 * eigenvalues[-1])) @ vectors.T
        root = np.linalg.cholesky(J) @ expm(size * rng.standard_normal((4, 4)))
        values[layout.link(link)] = from_pseudo_inertia(root @ root.T)
    joints = slice(10 * len(layout.links), None)
    values[joints] = values[joints] * np.exp(0.2 * rng.standard_normal(len(values[joints]))) + 0.01
    base = base_parameters(robot)
    n = len(robot.rows)
    return Result(
        robot=robot,
        method="sdp",
        level="full",
        parameters=Parameters(layout, values),
        base=BaseValues(base.names, base.matrix @ values, np.eye(len(base.names)) * 1e-4, base.matrix),
        rank=len(base.names),
        condition_number=100.0,
        fit=RelativeError(0.01, np.full(n, 0.01), np.full(n, 0.1), np.full(n, 100)),
        weights=np.ones(n),
        processing=Processing(5.0),
        provenance=Provenance((), {}, {}),
        prior=robot.prior,
    )


@pytest.fixture
def made() -> Made:
    return made_up
