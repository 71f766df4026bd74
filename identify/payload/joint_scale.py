"""The joints' motors as a scale: what they do beyond moving the arm (004, Eq. 17)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from identify.arrays import Array
from identify.errors import ModelError
from identify.payload.align import Samples
from identify.payload.arm import ArmModel
from identify.payload.chart import derivative_by_moments
from identify.payload.estimate import PayloadEstimate
from identify.payload.hand import CHUNK_S, samples_in
from identify.payload.inputs import STANDARD_GRAVITY
from identify.payload.joint_torque import JointTorqueEstimator
from identify.payload.prior import ObjectPrior
from identify.payload.scale import Rest, Scale, Window
from identify.robot import Robot

__all__ = ["JointScale", "link_in_flange"]

OFFSET_STD = 0.2  # of a joint's dry friction: what its offset may have moved by since it was identified
DRIFT = 0.005  # of the same, per square root of a second: a sixth of it while a drive warms up for a quarter of an hour
FRICTION_DOUBT = 0.1  # of the same, where the bare arm has not shown how well its model holds
KEPT_S = 20.0  # of bare windows
MEMORY = 50  # windows that the running offsets remember
LEAST_WINDOWS = 20  # bare ones, before anything is strange
_SIGMAS = 5.0
_LEAST_MASS = 0.1  # [kg] that is a load, and not friction
_CHANGED = 0.4  # of the load that must be missing, or too much
_LIGHT = 0.5  # of the load


class JointScale(Scale):
    """`arm` is what the joints do by themselves; samples come at `rate_hz`. Estimates are in the last link's frame."""

    suspects = 10

    def __init__(self, robot: Robot, arm: ArmModel, *, rate_hz: float = 1000.0) -> None:
        super().__init__(rate_hz)
        self._robot, self._arm = robot, arm
        self._link, flange = _flange(robot)
        names = robot.parameter_names
        self._columns = [i for i, name in enumerate(names) if name.split(".")[0] == self._link]
        self._coulomb = np.array([_coulomb(robot, joint) for joint in robot.joints])
        self._unit = _point_mass(flange[:3, 3])
        self._chunk = samples_in(CHUNK_S, rate_hz)
        self._offset = np.zeros(len(robot.joints))
        self._squares = np.zeros(len(robot.joints))  # of window means about the offset, summed
        self._windows = 0
        self._length = 1
        self._bare: deque[tuple[Array, Array]] = deque()  # time and residual torque of windows
        self._estimator: JointTorqueEstimator | None = None

    @property
    def ready(self) -> bool:
        return self._windows >= LEAST_WINDOWS

    @property
    def _spread(self) -> Array:
        """Standard deviation of a window's mean about the offset [N m], as the bare arm shows it (n,)."""
        return np.asarray(np.sqrt(self._squares / max(self._windows, 1)))

    @property
    def _doubt(self) -> Array:
        """The same where not all that friction does has been seen."""
        return np.asarray(np.hypot(self._spread, FRICTION_DOUBT * self._coulomb))

    def look(self, samples: Samples, *, begin: bool) -> Window:
        """Residual torques; the force that weighs as much hangs on the flange."""
        motion = samples.q, samples.dq, samples.ddq
        rows = self._robot.regressor.dense(*motion)[:, :, self._columns]
        residual = samples.shown - self._robot.torque(*motion, self._arm.parameters)
        if begin and not self._windows:
            self._offset = residual.mean(axis=0)
        left = residual.mean(axis=0) - self._offset
        mass, std = _share(rows.mean(axis=0) @ self._unit, left, self._doubt**2)
        strange = self.ready and abs(mass) > max(_LEAST_MASS, _SIGMAS * std)
        return Window(samples, rows, residual, Rest(left, abs(mass) * STANDARD_GRAVITY, bool(strange)))

    def meet(self, window: Window) -> None:
        self._learn(window)

    def learn(self, windows: Sequence[Window]) -> None:
        for window in windows:
            self._learn(window)
            self._bare.append((window.samples.time, window.rest))
        while self._bare and self._bare[0][0][0] < self._bare[-1][0][-1] - KEPT_S:
            self._bare.popleft()

    def moved(self, windows: Sequence[Window]) -> bool:
        """An empty hand that looks like a load for a while is what the arm's model misses, and counts as that."""
        self.learn(windows)
        return True

    def grasped(self, prior: ObjectPrior | None, *, settling: bool) -> None:
        """Noise as the bare windows show it; offsets that dry friction moves."""
        noise = np.maximum(self._spread * np.sqrt(self._length), 1e-4)
        loose = np.maximum(OFFSET_STD * self._coulomb, noise)
        drift = np.maximum(DRIFT * self._coulomb, 1e-4)
        self._estimator = JointTorqueEstimator(noise, drift, loose, frame=self._link, chunk=self._chunk)
        if self._bare:
            time, residual = (np.concatenate(parts) for parts in zip(*self._bare, strict=True))
            self._estimator.update(time, np.zeros((residual.size, 10)), residual.ravel())
        self._estimator.grasped(prior)

    def released(self) -> None:
        self._estimator = None

    def hold(self, window: Window) -> None:
        """Joints weigh in any posture."""

    def unsure(self, window: Window) -> str | None:
        return None

    def weigh(self, window: Window) -> None:
        assert self._estimator is not None
        self._estimator.update(window.samples.time, window.rows.reshape(-1, 10), window.rest.ravel())

    def estimate(self) -> PayloadEstimate | None:
        assert self._estimator is not None
        return self._estimator.estimate() if self._estimator.samples else None

    def belongs(self, window: Window, load: PayloadEstimate) -> bool:
        rows = window.rows.mean(axis=0)
        own = rows @ load.ten
        by_y = rows @ derivative_by_moments(load.body)
        variance = np.diag(by_y @ load.covariance @ by_y.T) + self._doubt**2
        share, std = _share(own, window.rest.mean(axis=0) - own - load.bias, variance)
        return abs(share) < max(_CHANGED, _SIGMAS * std)

    def light(self, window: Window, mass: float) -> bool:
        return window.bare.force < max(_LEAST_MASS, _LIGHT * mass) * STANDARD_GRAVITY

    def _learn(self, window: Window) -> None:
        left = window.rest.mean(axis=0) - self._offset
        self._offset = self._offset + left / min(self._windows + 1, MEMORY)
        self._squares = self._squares + left**2
        self._windows += 1
        self._length = len(window.rest)


def link_in_flange(robot: Robot) -> tuple[Array, Array]:
    """Rotation (3, 3) and position [m] (3,) of the last link's frame in the flange's."""
    _, place = _flange(robot)
    R = place[:3, :3]
    return R.T, -R.T @ place[:3, 3]


def _flange(robot: Robot) -> tuple[str, Array]:
    if robot.flange is None:
        raise ModelError(f"{robot.name}: its file names no `flange`; add it")
    link, place = robot.frames[robot.flange]
    if link != robot.links[-1]:
        raise ModelError(f"{robot.name}: the flange is on {link}, not on the last link {robot.links[-1]}")
    return link, place


def _point_mass(at: Array) -> Array:
    """Ten numbers of 1 kg at a point [m] (3,)."""
    x, y, z = at
    return np.array([1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])


def _share(own: Array, left: Array, variance: Array) -> tuple[float, float]:
    """How much of `own` is in `left` (n,), by weighted least squares, and its standard deviation."""
    information = float(own**2 @ (1 / variance))
    if information <= 0:
        return 0.0, np.inf
    return float(own @ (left / variance)) / information, information**-0.5


def _coulomb(robot: Robot, joint: str) -> float:
    name = f"{joint}.coulomb"
    if robot.prior is None or name not in robot.parameter_names:
        return 0.1
    return float(robot.prior[robot.parameter_names.index(name)])
