"""The nearest point by unmet demands alone is that of the whole program."""

import numpy as np
import pytest
import scipy.sparse as sp

from heft.identify.bodies.cone import ConeProgram, InfeasibleError, Solution, svec

N = 12


def nearest(offset: float, nudge: float = 0.0) -> Solution:
    """Of a random set in N dimensions; the larger the offset, the more of it contains the origin.

    nudge   of the objective's gradient: not 0, and the program is solved as it stands
    """
    rng = np.random.default_rng(3)
    program = ConeProgram(N)
    program.quadratic(2 * sp.identity(N))
    program.linear(np.full(N, nudge), slice(0, N))
    for _ in range(3):
        program.semidefinite(rng.normal(size=(10, N)), svec(np.diag(rng.normal(size=4) + offset)))
    program.non_negative(rng.normal(size=(6, N)), rng.normal(size=6) + offset)
    return program.solve()


@pytest.mark.parametrize("offset", [0.7, 1.0, 1.5])
def test_nearest_point_is_that_of_the_whole_program(offset: float) -> None:
    assert np.abs(nearest(offset).x - nearest(offset, 1e-12).x).max() < 1e-4


def test_origin_is_its_own_nearest_point_where_it_meets_all() -> None:
    found = nearest(10.0)
    assert not found.x.any()
    assert found.iterations == 0


def test_demands_that_exclude_each_other_are_told() -> None:
    program = ConeProgram(2)
    program.quadratic(2 * sp.identity(2))
    program.non_negative([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0])
    with pytest.raises(InfeasibleError):
        program.solve()
