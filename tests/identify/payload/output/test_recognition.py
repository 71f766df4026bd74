"""Known objects told apart, strange ones called so, and grasps that are off."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.objects import load_objects
from heft.identify.bodies import from_mass_com_inertia, transform
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.errors import ParameterError, ProblemError
from heft.identify.payload import fit_wrench, recognise

LIBRARY = load_objects(Path(__file__).parents[4] / "configs" / "objects")
BY_NAME = {one.name: one for one in LIBRARY}


def rotation(rpy) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler("xyz", rpy).as_matrix()


def weighed(ten, *, moving=True, seed=0):
    """An estimate in the flange frame of a body with these ten numbers there (sensor and flange being one)."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(3000, 3, 3)))
    q[np.linalg.det(q) < 0, :, 0] *= -1
    motion = [rng.normal(size=(3000, 3)), 10.0 * rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3))]
    motion = motion if moving else []
    wrench = wrench_terms(q, *motion).regressor((0, 0, -9.81)) @ ten
    wrench += rng.normal(size=wrench.shape) * np.array([0.05] * 3 + [0.002] * 3)
    return fit_wrench(q, wrench, *motion).in_frame("flange", np.eye(3), np.zeros(3))


def held(name, *, slipped=(0.0, 0.0, 0.0), turned=(0.0, 0.0, 0.0)) -> np.ndarray:
    """The ten numbers in the flange frame of an object in its grasp, or off it."""
    one = BY_NAME[name]
    own = from_mass_com_inertia(one.mass, one.com, np.array(one.inertia_matrix))
    R = rotation(turned) @ rotation(one.grasp.rpy)
    return transform(own, R, np.array(one.grasp.position) + np.array(slipped))


def test_the_library_has_pairs_that_mass_alone_cannot_tell() -> None:
    assert len(LIBRARY) >= 8
    masses = sorted(one.mass for one in LIBRARY)
    assert sum(b / a < 1.03 for a, b in pairwise(masses)) >= 2


@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_object_is_recognised_in_its_grasp(name) -> None:
    answer = recognise(weighed(held(name)), LIBRARY)
    assert (answer.verdict, answer.name) == ("known", name)
    assert answer.candidates[0].probability > 0.9
    assert answer.compared == ("mass", "moment1", "moment2", "moment3")
    assert answer.grasp is not None
    assert answer.grasp.ok, answer.grasp.reason
    total = sum(one.probability for one in answer.candidates) + answer.strange
    assert total == pytest.approx(1.0)


def test_a_twin_in_mass_is_ambiguous_until_the_wrist_has_turned() -> None:
    one = BY_NAME["water_bottle"]
    ten = held("water_bottle") * (0.520 / one.mass)  # halfway to the tin can
    still = recognise(weighed(ten, moving=False), LIBRARY)
    assert still.verdict == "ambiguous"
    assert {c.name for c in still.candidates[:2]} == {"water_bottle", "tin_can"}
    assert still.compared == ("mass",)
    assert still.name is None
    assert recognise(weighed(ten), LIBRARY).name == "water_bottle"


def test_a_strange_object_is_unknown() -> None:
    answer = recognise(
        weighed(from_mass_com_inertia(1.9, [0, 0, 0.15], np.diag([4e-3, 4e-3, 3e-3]))), LIBRARY
    )
    assert (answer.verdict, answer.name, answer.grasp) == ("unknown", None, None)
    assert answer.strange > 0.9
    same_mass = recognise(
        weighed(from_mass_com_inertia(1.106, [0, 0, 0.15], np.diag([6e-3, 6e-3, 3e-3]))), LIBRARY
    )
    assert same_mass.verdict == "unknown"


def test_nothing_in_the_gripper() -> None:
    assert recognise(weighed(np.zeros(10)), LIBRARY).verdict == "nothing"


def test_a_grasp_that_is_off_is_noticed() -> None:
    shifted = recognise(weighed(held("dumbbell", slipped=(0.0, 0.02, 0.0))), LIBRARY)
    assert shifted.name == "dumbbell"
    assert shifted.grasp.ok is False
    assert "20.0 mm" in shifted.grasp.reason
    np.testing.assert_allclose(shifted.grasp.offset, [0, 0.02, 0], atol=1e-3)
    turned = recognise(weighed(held("dumbbell", turned=(0.0, 0.0, 0.6))), LIBRARY)
    assert turned.grasp.ok is False
    assert turned.grasp.angle == pytest.approx(0.6, abs=0.02)
    assert "34 deg" in turned.grasp.reason


def test_what_is_wrong_is_said() -> None:
    estimate = weighed(held("tin_can"))
    with pytest.raises(ProblemError, match="without objects"):
        recognise(estimate, ())
    with pytest.raises(ParameterError, match="must be `flange`"):
        recognise(estimate.in_frame("sensor", np.eye(3), np.zeros(3)), LIBRARY)
