"""fit(): what it asks, what it refuses, what it warns of."""

from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Bounds, Dataset, Method, Processing, Robot, Signals, fit
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.parameters import Layout
from heft.identify.errors import DataError, ParameterError, ProblemError
from heft.identify.estimation.prior import prior_of
from heft.identify.fit import _linear_algebra_libraries, one_thread

ROWS = (
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.2, "theta": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.0, "theta": 0.0},
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    plain = Robot.from_dh(ROWS)
    layout = Layout(plain.parameter_names)
    body = from_mass_com_inertia(3.0, [-0.1, 0.02, 0.03], np.diag([0.02, 0.05, 0.06]))
    terms = {"drive_inertia": 0.05, "viscous": 1.0, "coulomb": 0.5, "offset": 0.2}
    values = {f"{joint}.{term}": value for joint in plain.joints for term, value in terms.items()}
    return replace(plain, prior=layout.pack({"link1": body, "link2": body, **values}))


def motion(robot: Robot, seed: int = 0, seconds: float = 20.0, noise: float = 0.0) -> Dataset:
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 2))
    for k in range(1, 6):
        w = 2 * np.pi * k / 10
        a = rng.normal(size=2) / k
        phase = rng.uniform(0, 2 * np.pi)
        q += np.outer(np.sin(w * t + phase), a)
        dq += w * np.outer(np.cos(w * t + phase), a)
        ddq -= w**2 * np.outer(np.sin(w * t + phase), a)
    tau = robot.torque(q, dq, ddq, robot.prior)
    return Dataset.from_arrays(t, q, tau + noise * rng.normal(size=tau.shape))


def test_a_link_that_the_file_has_no_mass_of_is_not_taken_for_nearly_none(robot) -> None:
    """No torque tells the mass of the first link; its box holds 5 kg of half the density of water."""
    layout, prior = Layout(robot.parameter_names), robot.prior.copy()
    prior[layout.link("link1")] = 0.0
    box = np.array([[-0.1, -0.1, -0.125], [0.1, 0.1, 0.125]])
    found = fit(replace(robot, prior=prior, shapes={"link1": box}), motion(robot, noise=0.02))
    assert found.intervals["link1.mass"].low <= 3.0 <= found.intervals["link1.mass"].high < 15.0
    assert found.intervals["link1.mass"].prior_dominated
    assert found.intervals["total_mass"].high > 6.0
    assert any("the robot's file has no mass of link1" in line for line in found.warnings)


def test_the_cut_off_is_chosen_and_kept(robot) -> None:
    found = fit(robot, motion(robot))
    assert found.processing.cutoff_hz > 1
    assert fit(robot, motion(robot), cutoff_hz=4.0).processing.cutoff_hz == 4.0


def test_several_datasets_count_together(robot) -> None:
    parts = [motion(robot, seed, noise=0.05) for seed in range(3)]
    one, all_three = fit(robot, parts[0], cutoff_hz=4.0), fit(robot, parts, cutoff_hz=4.0)
    assert len(all_three.provenance.data) == 3
    assert (all_three.fit.rows > 2 * one.fit.rows).all()
    assert (all_three.base.std < one.base.std).mean() > 0.8


@pytest.mark.parametrize("method", ["irls", "recursive"])
def test_methods_that_go_through_the_samples(robot, method: str) -> None:
    data = motion(robot, noise=0.02)
    options = {"memory_s": 5.0} if method == "recursive" else {}
    found = fit(robot, [data, motion(robot, 1, noise=0.02)], method=Method(method, options), cutoff_hz=4.0)
    truth = found.base.matrix @ robot.prior
    assert np.linalg.norm(found.base.values - truth) < 0.05 * np.linalg.norm(truth)


def test_progress_runs_to_the_end(robot) -> None:
    told: list[float] = []
    fit(robot, [motion(robot), motion(robot, 1)], progress=told.append)
    assert told == sorted(told)
    assert 0.8 < told[-1] <= 1.0


def test_options_reach_the_method(robot) -> None:
    found = fit(robot, motion(robot), method=Method("sdp", {"prior_weight": 0.5}))
    assert found.facts["prior_weight"] == 0.5
    assert found.provenance.configuration["options"] == {"prior_weight": 0.5}
    with pytest.raises(ProblemError, match="sdp has no option 'colour'"):
        fit(robot, motion(robot), method=Method("sdp", {"colour": "red"}))


def test_two_cut_offs_are_one_too_many(robot) -> None:
    with pytest.raises(ProblemError, match="give one of the two"):
        fit(robot, motion(robot), cutoff_hz=3.0, signals=Signals(Processing(cutoff_hz=4.0)))


def test_bad_input(robot) -> None:
    data = motion(robot)
    with pytest.raises(DataError, match="no data"):
        fit(robot, [])
    with pytest.raises(DataError, match="3 columns of positions"):
        fit(
            robot,
            Dataset.from_arrays(data.t, np.zeros((len(data), 3)), np.zeros((len(data), 3))),
            cutoff_hz=4.0,
        )
    with pytest.raises(ProblemError, match="no method 'best'"):
        fit(robot, data, method="best")
    with pytest.raises(ParameterError, match="no level 'perfect'"):
        fit(robot, data, level="perfect")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="level shape asks for bounding boxes"):
        fit(robot, data, level="shape")
    impossible = Bounds(mass={"link1": (0, 1), "link2": (0, 1)}, total_mass=(5, 6))
    with pytest.raises(ProblemError, match="loosen the one"):
        fit(robot, data, bounds=impossible)


def test_bounds_that_contradict_the_data_are_said(robot) -> None:
    found = fit(robot, motion(robot, noise=0.02), bounds=Bounds(mass={"link2": (0.0, 0.3)}))
    assert any("more squared residual than least squares" in line for line in found.warnings)


def test_torques_of_another_robot_are_said(robot) -> None:
    data = motion(robot)
    wrong = Dataset.from_arrays(data.t, data.q, data.tau[:, ::-1])
    found = fit(robot, wrong)
    assert any("of the torque unexplained" in line for line in found.warnings)


def test_a_poor_motion_is_said(robot) -> None:
    """Both joints move alike and slowly: nothing tells inertia from the rest."""
    t = np.arange(0, 20, 0.005)
    q = np.outer(0.2 * np.sin(0.3 * t), [1.0, 1.0])
    dq = np.outer(0.06 * np.cos(0.3 * t), [1.0, 1.0])
    tau = robot.torque(q, dq, -0.09 * q, robot.prior) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    found = fit(robot, Dataset.from_arrays(t, q, tau))
    assert any("condition number" in line for line in found.warnings)


def test_an_axis_that_never_moves_is_said(robot) -> None:
    t = np.arange(0, 20, 0.005)
    q = np.column_stack([np.sin(1.7 * t), np.full(len(t), 0.4)])
    dq = np.column_stack([1.7 * np.cos(1.7 * t), np.zeros(len(t))])
    ddq = np.column_stack([-(1.7**2) * np.sin(1.7 * t), np.zeros(len(t))])
    found = fit(robot, Dataset.from_arrays(t, q, robot.torque(q, dq, ddq, robot.prior)), cutoff_hz=5.0)
    assert any("joint2 does not move" in line for line in found.warnings)
    assert any("base parameters; not those of" in line for line in found.warnings)
    assert found.rank < len(found.base.names)
    assert np.isinf(found.base.std).any()
    np.testing.assert_allclose(found.parameters["joint2"].viscous, 1.0, rtol=0.01)  # as the prior says


def test_plain_methods_say_that_they_are_not_consistent(robot) -> None:
    found = fit(robot, motion(robot, noise=2.0), method="ols", cutoff_hz=4.0)
    assert not found.consistent
    assert any("use sdp" in line for line in found.warnings)


class TestPrior:
    def test_of_the_robot_none_or_a_vector(self, robot) -> None:
        assert prior_of(robot, None) is robot.prior
        assert prior_of(robot, "none") is None
        vector = 2 * robot.prior
        np.testing.assert_array_equal(prior_of(robot, vector), vector)

    def test_by_name(self, robot) -> None:
        found = prior_of(robot, {"joint1.viscous": 9.0, "link2": np.arange(10.0)})
        layout = Layout(robot.parameter_names)
        assert found[layout.index("joint1.viscous")] == 9.0
        np.testing.assert_array_equal(found[layout.link("link2")], np.arange(10.0))
        np.testing.assert_array_equal(found[layout.link("link1")], robot.prior[:10])

    def test_a_mass_alone_keeps_centre_and_radii(self, robot) -> None:
        found = prior_of(robot, {"link1.m": 6.0})
        np.testing.assert_allclose(found[:10], 2 * robot.prior[:10])

    def test_a_mass_alone_fills_the_box(self, robot) -> None:
        box = np.array([[0.0, 0.0, 0.0], [0.2, 0.4, 0.6]])
        bare = replace(robot, prior=None, boxes={"link1": box})
        found = prior_of(bare, {"link1.m": 3.0, "link2.m": 1.0})
        np.testing.assert_allclose(found[1:4] / 3.0, box.mean(axis=0))
        assert found[10] == 1.0
        assert np.linalg.eigvalsh(np.diag(found[[14, 16, 19]]))[0] > 0

    def test_of_another_robot(self, robot) -> None:
        with pytest.raises(ParameterError, match="28 parameters"):
            prior_of(robot, np.zeros(3))
        with pytest.raises(ParameterError, match="no parameter"):
            prior_of(robot, {"link9.m": 1.0})
        with pytest.raises(ProblemError, match='give "none"'):
            prior_of(robot, "cad")  # type: ignore[arg-type]

    def test_inconsistent(self, robot) -> None:
        impossible = robot.prior.copy()
        impossible[19] *= 10
        found = fit(robot, motion(robot), prior=impossible)
        assert any("prior is not consistent" in line for line in found.warnings)
        assert found.consistent


def test_one_thread_of_linear_algebra_and_back() -> None:
    libraries = _linear_algebra_libraries().select(user_api="blas")
    assert len(libraries) >= 2  # numpy's and scipy's

    def threads() -> list[int]:
        return [library["num_threads"] for library in libraries.info()]

    with libraries.limit(limits=2):
        before = threads()
        with one_thread():
            assert threads() == [1] * len(before)
        assert threads() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            1 / 0  # noqa: B018
        assert threads() == before
