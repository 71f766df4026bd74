"""The joints' motors as a scale: what they do beyond moving the arm (004, Eq. 17)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.bodies.wrench import STANDARD_GRAVITY
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.joint_torque import JointTorqueEstimator
from heft.identify.payload.estimation.object_prior import PLAUSIBLE, ObjectPrior
from heft.identify.payload.estimation.sample_chunks import CHUNK_S, chunk_length
from heft.identify.payload.kinematics.alignment import Samples
from heft.identify.payload.kinematics.robot_frames import flange_on_last_link
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.scales.gain_influence import GainInfluence
from heft.identify.payload.scales.scale import Residual, RunningMean, Scale, ScaleRules, Window
from heft.identify.robot import Robot

__all__ = ["JointScale"]


@dataclass(frozen=True, kw_only=True)
class JointRules(ScaleRules):
    """Of joint torques; offsets and doubts as shares of a joint's dry friction.

    Tuned on the simulated rig (`benchmarks/coverage.py --rigs payload`, seeds 1001 to 1012).

    offset_std        what a joint's offset may have moved by since it was identified
    drift             of it per square root of a second: a sixth while a drive warms up for a quarter of an hour
    friction_doubt    where the bare arm has not shown how well its model holds
    unknown_friction  [N m]: dry friction of a joint of which the robot's file says nothing
    least_noise       [N m]: no joint is known better
    """

    offset_std: float = 0.2
    drift: float = 0.005
    friction_doubt: float = 0.1
    unknown_friction: float = 0.1
    least_noise: float = 1e-4


JOINT_RULES = JointRules(least_windows=20, windows_to_change=10, changed=0.4, gone=0.5)


class JointScale(Scale):
    """`arm` is what the joints do by themselves; samples come at `rate_hz`. Estimates are in the last link's frame."""

    rules = JOINT_RULES

    def __init__(self, robot: Robot, arm: ArmModel, *, rate_hz: float = 1000.0) -> None:
        super().__init__(rate_hz)
        self._robot, self._arm = robot, arm
        self._link, flange = flange_on_last_link(robot)
        names = robot.parameter_names
        self._columns = [i for i, name in enumerate(names) if name.split(".")[0] == self._link]
        self._coulomb = np.array([_coulomb(robot, joint) for joint in robot.joints])
        self._unit = from_mass_com_inertia(1.0, flange[:3, 3], np.zeros((3, 3)))
        self._chunk = chunk_length(CHUNK_S, rate_hz)
        self._offset = RunningMean(len(robot.joints), JOINT_RULES.memory)
        self._squares = np.zeros(len(robot.joints))  # of window means about the offset, summed
        self._length = 1
        self._bare: deque[tuple[Array, Array]] = deque()  # time and residual torque of windows
        self._estimator: JointTorqueEstimator | None = None
        self._gains = None if arm.gains is None else GainInfluence(robot, arm.gains)

    @property
    def ready(self) -> bool:
        return self._offset.count >= JOINT_RULES.least_windows

    @property
    def _spread(self) -> Array:
        """Standard deviation of a window's mean about the offset [N m], as the bare arm shows it (n,)."""
        return np.asarray(np.sqrt(self._squares / max(self._offset.count, 1)))

    @property
    def _doubt(self) -> Array:
        """The same where not all that friction does has been seen."""
        return np.asarray(np.hypot(self._spread, JOINT_RULES.friction_doubt * self._coulomb))

    def window(self, samples: Samples, *, first: bool) -> Window:
        """Residual torques; the force that weighs as much hangs on the flange."""
        motion = samples.q, samples.dq, samples.ddq
        rows = self._robot.regressor.dense(*motion)[:, :, self._columns]
        residual = self._torque(samples) - self._robot.torque(*motion, self._arm.parameters)
        if first and not self._offset.count:
            self._offset.value = residual.mean(axis=0)
        left = residual.mean(axis=0) - self._offset.value
        mass, std = _share(rows.mean(axis=0) @ self._unit, left, self._doubt**2)
        loaded = self.ready and abs(mass) > max(PLAUSIBLE.least_mass, JOINT_RULES.sigmas * std)
        return Window(samples, rows, residual, Residual(left, abs(mass) * STANDARD_GRAVITY, bool(loaded)))

    def _torque(self, samples: Samples) -> Array:
        """As measured, with the gains as far as they are known [N m, N] (N, n)."""
        return samples.shown if self._arm.gains is None else samples.shown * self._arm.gains.values

    def learn_early(self, window: Window) -> None:
        if self._gains is not None:
            self._gains.learn(window.samples, self._torque(window.samples))
        left = window.values.mean(axis=0) - self._offset.value
        self._offset.add(left)
        self._squares = self._squares + left**2
        self._length = len(window.values)

    def learn(self, windows: Sequence[Window]) -> None:
        for window in windows:
            self.learn_early(window)
            self._bare.append((window.samples.time, window.values))
        while self._bare and self._bare[0][0][0] < self._bare[-1][0][-1] - JOINT_RULES.bare_s:
            self._bare.popleft()

    def shift(self, windows: Sequence[Window]) -> bool:
        """An empty hand that looks like a load for a while is what the arm's model misses, and counts as that."""
        self.learn(windows)
        return True

    def grasped(self, prior: ObjectPrior | None, *, settling: bool) -> None:
        """Noise as the bare windows show it; offsets that dry friction moves."""
        noise = np.maximum(self._spread * np.sqrt(self._length), JOINT_RULES.least_noise)
        loose = np.maximum(JOINT_RULES.offset_std * self._coulomb, noise)
        drift = np.maximum(JOINT_RULES.drift * self._coulomb, JOINT_RULES.least_noise)
        self._estimator = JointTorqueEstimator(noise, drift, loose, frame=self._link, chunk=self._chunk)
        if self._bare:
            time, residual = (np.concatenate(parts) for parts in zip(*self._bare, strict=True))
            self._estimator.update(time, np.zeros((residual.size, 10)), residual.ravel())
        self._estimator.grasped(prior)
        if self._gains is not None:
            self._gains.begin(noise)

    def released(self) -> None:
        self._estimator = None

    def remember_posture(self, window: Window) -> None:
        """Joints weigh in any posture."""

    def unusable(self, window: Window) -> str | None:
        return None

    def weigh(self, window: Window) -> None:
        assert self._estimator is not None
        self._estimator.update(window.samples.time, window.rows.reshape(-1, 10), window.values.ravel())
        if self._gains is not None:
            self._gains.weigh(window.samples, self._torque(window.samples), window.rows)

    def estimate(self) -> PayloadEstimate | None:
        assert self._estimator is not None
        if not self._estimator.samples:
            return None
        estimate = self._estimator.estimate()
        return estimate if self._gains is None else self._gains.widened(estimate)

    def matches(self, window: Window, load: PayloadEstimate) -> bool:
        rows = window.rows.mean(axis=0)
        own = rows @ load.ten
        by_y = rows @ load.body.derivative_by_moments()
        variance = np.diag(by_y @ load.motion_covariance @ by_y.T) + self._doubt**2
        share, std = _share(own, window.values.mean(axis=0) - own - load.bias, variance)
        return abs(share) < max(JOINT_RULES.changed, JOINT_RULES.sigmas * std)

    def load_gone(self, window: Window, mass: float) -> bool:
        return window.bare.force < max(PLAUSIBLE.least_mass, JOINT_RULES.gone * mass) * STANDARD_GRAVITY


def _share(own: Array, left: Array, variance: Array) -> tuple[float, float]:
    """How much of `own` is in `left` (n,), by weighted least squares, and its standard deviation."""
    information = float(own**2 @ (1 / variance))
    if information <= 0:
        return 0.0, np.inf
    return float(own @ (left / variance)) / information, information**-0.5


def _coulomb(robot: Robot, joint: str) -> float:
    """Dry friction of a joint [N m], as the robot's file has it."""
    name = f"{joint}.coulomb"
    if robot.prior is None or name not in robot.parameter_names:
        return JOINT_RULES.unknown_friction
    return float(robot.prior[robot.parameter_names.index(name)])
