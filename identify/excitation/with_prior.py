"""Expected deviations of base parameters when the robot's file has a say as well, as in a session's own result.

What is measured of a large robot tells little of its small links, and there the file's masses and sizes decide. With F
the information of a motion about base parameters b = K d, and the prior d = d0 + S x, x standard normal,

    covariance of b = K S (1 + S' K' F K S)^-1 S' K'
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import body_metric
from heft.identify.estimation.problem import link_sizes
from heft.identify.robot import Robot
from heft.identify.robot.base import BaseParameters

__all__ = ["deviations_with_prior"]

ANYTHING = 1e3  # [N, N m]: deviation of a bias or joint term, of which the file says nothing


def deviations_with_prior(robot: Robot, base: BaseParameters, F: Array) -> Array:
    """Standard deviations of the base parameters, (n_base,), from the information F about them and the prior."""
    assert robot.prior is not None
    layout = Layout(robot.parameter_names)
    sizes = link_sizes(layout, {**robot.boxes, **robot.extents}, robot.prior)
    S = np.eye(len(layout)) * ANYTHING
    for link in layout.links:
        block = layout.link(link)
        S[block, block] = body_metric(robot.prior[block], robot.spread.inertia, sizes[link])
    combined = base.matrix @ S
    size = np.sqrt(np.maximum(np.diag(F), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    told = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ (size[:, None] * combined)
    _, seen, V = np.linalg.svd(told)
    stiffness = np.ones(S.shape[1])
    stiffness[: len(seen)] += seen**2
    rows = combined @ V.T
    return np.asarray(np.sqrt((rows**2 / stiffness).sum(axis=1)))
