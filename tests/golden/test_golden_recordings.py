"""Recordings of real robots. They are looked for in ../shared/data from the project's root, or in $HEFT_DATA."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter, filtfilt

from heft.identify import Dataset, Processing, Result, Robot, Signals, fit
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.estimation.alignment import align
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs" / "robots"


def recording(name: str) -> dict[str, np.ndarray]:
    folder = Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"no {name} in {folder}; set HEFT_DATA to the folder of the recordings")
    with np.load(folder / name) as data:
        return dict(data)


class TestPanda:
    """Franka Panda, exciting trajectory of Gaz et al.; first 67 % to fit, last 33 % to validate, 10 Hz Butterworth."""

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls) -> dict[str, np.ndarray]:
        return recording("panda_gaz.npz")

    @pytest.fixture(scope="class")
    @classmethod
    def parts(cls, data) -> tuple[Dataset, Dataset]:
        return Dataset.from_arrays(data["t"], data["q"], data["tau"]).split(0.67)

    @pytest.fixture(scope="class")
    @classmethod
    def robot(cls) -> Robot:
        return Robot.load(CONFIGS / "panda.yaml")

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, robot, parts) -> Result:
        signals = Signals(Processing(10.0, window="butterworth"))
        return fit(robot, parts[0], signals=signals, validate=parts[1])

    def test_unseen_torque_is_predicted(self, result) -> None:
        assert result.level == "full"
        assert result.consistency("full").ok
        assert result.validation.total < 0.015
        assert result.fit.total < 0.015

    def test_the_heavier_parts_of_the_arm_are_known_better(self, result) -> None:
        assert (result.validation.per_joint[[1, 3]] < 0.02).all()

    @pytest.mark.parametrize("method", ["ols", "wls"])
    def test_least_squares_is_as_good_as_others_have_it(self, robot, parts, method: str) -> None:
        """Reference with Coulomb, viscous and offset: 1.39 % on the fit, 1.70 % on validation."""
        found = fit(
            robot,
            parts[0],
            method=method,
            signals=Signals(Processing(10.0, window="butterworth")),
            validate=parts[1],
        )
        assert found.fit.total < 0.0139
        assert found.validation.total < 0.0170

    def test_total_mass_with_the_published_masses_as_prior(self, data, robot, parts) -> None:
        masses = {f"link{i}.m": float(mass) for i, mass in enumerate(data["published_mass"], start=1)}
        for cutoff_hz in (5.0, 10.0):
            found = fit(robot, parts[0], cutoff_hz=cutoff_hz, prior=masses)
            assert 15 < found.total_mass < 22
            assert found.consistency("full").ok

    def test_only_the_published_masses_and_the_kinematics(self, data, parts) -> None:
        """No boxes, no bounds, no inertias: the masses alone keep the result plausible."""
        rows = [
            (0, 0, 0.333),
            (-1, 0, 0),
            (1, 0, 0.316),
            (1, 0.0825, 0),
            (-1, -0.0825, 0.384),
            (1, 0, 0),
            (1, 0.088, 0),
        ]
        robot = Robot.from_dh(
            [{"alpha": turn * np.pi / 2, "a": a, "d": d, "theta": 0.0} for turn, a, d in rows],
            convention="modified",
            joint_terms=("viscous", "coulomb", "offset"),
        )
        masses = {f"link{i}.m": float(mass) for i, mass in enumerate(data["published_mass"], start=1)}
        found = fit(robot, parts[0], cutoff_hz=10.0, prior=masses, validate=parts[1])
        assert 15 < found.total_mass < 22
        assert found.validation.total < 0.018

    def test_an_independent_look(self, robot, result, data) -> None:
        """Filtered and differentiated here with SciPy, on the last third: the same error within two fifths."""
        new = np.append(
            True, (np.diff(data["q"], axis=0) != 0).any(axis=1)
        )  # packets that did not come repeat
        t, step = data["t"][new], 1e-3
        grid = np.arange(t[0], t[-1], step)
        b, a = butter(4, 10.0, fs=1 / step)

        def smooth(values: np.ndarray) -> np.ndarray:
            return filtfilt(
                b, a, np.stack([np.interp(grid, t, column) for column in values.T], axis=1), axis=0
            )

        q, tau = smooth(data["q"][new]), smooth(data["tau"][new])
        dq = np.gradient(q, step, axis=0)
        torque = robot.torque(q, dq, np.gradient(dq, step, axis=0), result.parameters.values)
        late = slice(int(0.68 * len(grid)), -500)
        error = np.linalg.norm(tau[late] - torque[late]) / np.linalg.norm(tau[late])
        assert error < 0.018
        assert error == pytest.approx(result.validation.total, rel=0.4)

    def test_better_than_the_published_parameters(self, data, robot, parts, result) -> None:
        from heft.identify.information.reduction import reduce
        from heft.identify.result import RelativeError

        published = robot.prior.copy()
        for i in range(7):
            xx, xy, xz, yy, yz, zz = data["published_inertia_com_xx_xy_xz_yy_yz_zz"][i]
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            published[10 * i : 10 * i + 10] = from_mass_com_inertia(
                data["published_mass"][i], data["published_com"][i], inertia
            )
        information = reduce(robot, parts[1], result.processing)
        theirs = RelativeError.of(information, published, robot.tree.prismatic)
        assert result.validation.total < theirs.total


class TestTx40:
    """Staubli TX40, 5 kHz, coupled wrist; moves for 7.4 s, then stands still. 20 Hz."""

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls) -> Result:
        data = recording("staubli_tx40.npz")
        robot = Robot.load(CONFIGS / "tx40.yaml")
        # The source's friction: Coulomb and viscous.
        return fit(
            robot, Dataset.from_arrays(data["t"], data["q"], data["tau"]), cutoff_hz=20.0, friction="file"
        )

    def test_the_fit(self, result) -> None:
        assert result.fit.total < 0.055
        assert result.consistency("full").ok

    def test_standstill_is_left_out_and_said(self, result) -> None:
        assert any("standstill left out" in line and "7.4" in line for line in result.warnings)

    def test_friction_has_its_sign_and_size(self, result) -> None:
        """The source's own values: Fv and Fs of joints 1 to 5, and of the motor that turns with joints 5 and 6."""
        viscous = [8.05, 5.53, 1.97, 1.11]
        coulomb = [7.14, 8.26, 6.34, 2.48]
        for joint, fv, fs in zip(result.parameters.joints, viscous, coulomb, strict=False):
            assert joint.viscous == pytest.approx(fv, rel=0.1)
            assert joint.coulomb == pytest.approx(fs, rel=0.1)
        motor = result.parameters["joint6_motor"]
        assert motor.viscous == pytest.approx(0.616, rel=0.1)
        assert motor.coulomb == pytest.approx(1.95, rel=0.1)
        layout = result.parameters.layout
        assert result.parameters.values[list(layout.non_negative)].min() > -1e-9

    @pytest.fixture(scope="class")
    @classmethod
    def problem(cls, result) -> Problem:
        data = recording("staubli_tx40.npz")
        source = FitData.of(
            result.robot, [Dataset.from_arrays(data["t"], data["q"], data["tau"])], result.processing
        )
        return align(source, partial(Problem.of, result.robot), None, source.reduced()).problem

    def test_the_prior_of_mass_points_has_no_say_in_what_torques_tell(self, problem) -> None:
        """Of a numeric null space no more than of the symbolic one (000, Eq. 25)."""
        numeric, symbolic = (
            estimate(problem, "masspoint", null_space=one).cost for one in ("data", "structure")
        )
        assert numeric < 1.01 * symbolic

    def test_sdp_says_what_it_optimises(self, problem) -> None:
        """Without a prior 003's own problem, and no method inside the feasible set fits better."""
        least = estimate(problem, "wls").cost
        pure = estimate(problem, "sdp", prior_weight=0).cost / least
        assert pure == pytest.approx(1.0072, abs=2e-4)
        for method in ("correct", "manifold", "masspoint", "sdp"):
            assert estimate(problem, method).cost / least >= pure * (1 - 1e-6)

    def test_every_link_is_plausible(self, result) -> None:
        for link in result.parameters.links:
            prior = result.prior[result.parameters.layout.link(link.name)][0]
            assert 0.5 * prior < link.mass < 2 * prior
            low, high = result.robot.boxes[link.name]
            assert (link.com >= low - 1e-6).all()
            assert (link.com <= high + 1e-6).all()

    def test_motors_become_joints(self, result) -> None:
        data, robot = recording("staubli_tx40.npz"), result.robot
        q = robot.position_from_motors(data["motor_pos"]) + data["joint_offset"]
        assert np.allclose(q, data["q"], atol=1e-6)  # as told in single precision
        assert np.allclose(robot.torque_from_current(data["motor_torque"]), data["tau"], atol=1e-5)

    def test_the_wrist_coupling_is_needed(self, result) -> None:
        from dataclasses import replace

        data = recording("staubli_tx40.npz")
        robot = result.robot
        apart = replace(robot, drives=replace(robot.drives, coupling=np.eye(6)), prior=None)
        plain = fit(
            apart, Dataset.from_arrays(data["t"], data["q"], data["tau"]), method="wls", cutoff_hz=20.0
        )
        coupled = result.fit.per_joint[4:]
        assert (plain.fit.per_joint[4:] > 1.3 * coupled).all()
