"""A wrist sensor as a scale: six numbers that the hand's own weight and a bias are taken off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.wrench import STANDARD_GRAVITY, wrench_terms
from heft.identify.payload.bare_hand.hand import Hand, with_hand_doubt
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import PLAUSIBLE, ObjectPrior
from heft.identify.payload.estimation.sample_chunks import CHUNK_S, chunk_length
from heft.identify.payload.estimation.wrist_sensor import PayloadEstimator, WristSensor
from heft.identify.payload.kinematics.alignment import Samples, joined
from heft.identify.payload.scales.scale import Residual, RunningMean, Scale, ScaleRules, Window

__all__ = ["WRIST_RULES", "WristRules", "WristScale"]


@dataclass(frozen=True, kw_only=True)
class WristRules(ScaleRules):
    """Of a wrist sensor.

    Tuned on made-up wrenches (`tests/identify/payload/pickups`) and on the simulated rig with pick-ups of 0.3 to 3 kg
    (`benchmarks/coverage.py --rigs payload`).

    first_chunk_s   [s] samples whose mean the first estimate is made of
    least_force     [N] that is a load, and not a bias that drifts
    least_torque    [N m] the same
    bare_torque     [N m]: an empty hand that turns shows this much of what is not known of it
    slipped         [m] by which the load's centre must have moved
    vibration       [N], [N m] rms of the mean over a window, of force and torque; windows over which nothing changes
                    differ by twice as much at most
    turned_by       [rad] by which the wrist may turn where nothing is known of the hand
    unknown_moment  [N m] of such a hand about the sensor: 1 kg, 5 cm away
    """

    first_chunk_s: float = 0.02
    least_force: float = 0.3
    least_torque: float = 0.02
    bare_torque: float = 0.08
    slipped: float = 0.012
    vibration: tuple[float, float] = (0.05, 0.005)
    turned_by: float = 0.01
    unknown_moment: float = 0.5


WRIST_RULES = WristRules(least_windows=5, windows_to_change=4, changed=0.25, gone=0.3)


class WristScale(Scale):
    """`hand` None: nothing is known of it; then a load is weighed only as long as the wrist stays as it was at the
    pick-up, with a sensor of which `sensor` is known. Estimates are in the sensor's frame.
    """

    rules = WRIST_RULES
    precise = True

    def __init__(
        self,
        hand: Hand | None,
        gravity: Array,
        *,
        sensor: WristSensor | None = None,
        rate_hz: float = 1000.0,
    ) -> None:
        super().__init__(rate_hz)
        self.hand, self._gravity, self._sensor = hand, gravity, sensor
        self._ten = np.zeros(10) if hand is None else hand.ten
        self._first_chunk, self._chunk = (
            chunk_length(span, rate_hz) for span in (WRIST_RULES.first_chunk_s, CHUNK_S)
        )
        self._estimator = self._new_estimator()
        self._bias = RunningMean(6, WRIST_RULES.memory)
        self._settling = False
        self._rotation: Array | None = None  # of the wrist at the pick-up

    @property
    def ready(self) -> bool:
        return self._bias.count >= WRIST_RULES.least_windows

    def window(self, samples: Samples, *, first: bool) -> Window:
        wrist = samples.wrist
        terms = wrench_terms(
            wrist.rotation, wrist.angular_velocity, wrist.angular_acceleration, wrist.linear_acceleration
        )
        rows = np.asarray(terms.regressor(self._gravity).mean(axis=0))
        shown = samples.shown.mean(axis=0) - rows @ self._ten
        if first and not self.ready:
            self._bias.value = shown
        left = shown - self._bias.value
        loaded = (
            np.linalg.norm(left[:3]) > WRIST_RULES.least_force
            or np.linalg.norm(left[3:]) > WRIST_RULES.bare_torque
        )
        return Window(samples, rows, samples.shown, _residual(left, bool(loaded) and self.ready))

    def learn_early(self, window: Window) -> None:
        self._bias.add(window.bare.mean)

    def learn(self, windows: Sequence[Window]) -> None:
        for window in windows:
            self._bias.add(window.bare.mean)
        if windows and (self.hand is not None or self._rotation is None):
            self._estimator.update(**joined([window.samples for window in windows]).wrench_motion)

    def shift(self, windows: Sequence[Window]) -> bool:
        """A bias that went while something was held is a new one; a hand that is pushed is not steady."""
        left = np.array([window.bare.mean for window in windows])
        if np.any(left.std(axis=0) > 2 * np.repeat(WRIST_RULES.vibration, 3)):
            return False
        self._bias.value = self._bias.value + left.mean(axis=0)
        self._bias.count = min(self._bias.count, len(windows))
        self._estimator = self._new_estimator()
        self._estimator.update(**joined([window.samples for window in windows]).wrench_motion)
        return True

    def _new_estimator(self) -> PayloadEstimator:
        return PayloadEstimator(
            self._sensor if self.hand is None else self.hand.sensor,
            gripper=None if self.hand is None else self.hand.ten,
            gravity=self._gravity,
            chunk=self._chunk,
        )

    def grasped(self, prior: ObjectPrior | None, *, settling: bool) -> None:
        self._estimator.grasped(prior, chunk=self._first_chunk if settling else self._chunk)
        self._settling = settling
        if settling:
            self._rotation = None

    def released(self) -> None:
        self._estimator.released()

    def remember_posture(self, window: Window) -> None:
        if self._rotation is None:
            self._rotation = window.samples.wrist.rotation[0]

    def unusable(self, window: Window) -> str | None:
        if self.hand is not None or self._rotation is None:
            return None
        cosine = (np.trace(self._rotation.T @ window.samples.wrist.rotation[-1]) - 1) / 2
        if cosine >= np.cos(WRIST_RULES.turned_by):
            return None
        return (
            "nothing is known of the bare hand, so only the time before the wrist turned counts; "
            "move the bare hand before the pick-up, or give a recording of it (--bare)"
        )

    def weigh(self, window: Window) -> None:
        self._estimator.update(**window.samples.wrench_motion)

    def estimate(self) -> PayloadEstimate | None:
        """While the arm settles, somebody waits for it, and the doubt is wide in any case: then roughly."""
        if not self._estimator.samples:
            return None
        estimate = self._estimator.estimate(rough=self._settling)
        return self._without_hand(estimate) if self.hand is None else with_hand_doubt(estimate, self.hand)

    def _without_hand(self, estimate: PayloadEstimate) -> PayloadEstimate:
        """What little the wrist moves, the unknown hand moves with it: where the load is along gravity is not told."""
        assert self._rotation is not None
        down = self._rotation.T @ self._gravity
        along = np.outer(down, down) * (PLAUSIBLE.reach**2 / (down @ down))
        across = (
            np.eye(3)
            * (WRIST_RULES.unknown_moment * WRIST_RULES.turned_by / (estimate.mass * STANDARD_GRAVITY)) ** 2
        )
        covariance = estimate.covariance.copy()
        covariance[1:4, 1:4] += along + across
        return replace(estimate, covariance=frozen(covariance))

    def matches(self, window: Window, load: PayloadEstimate) -> bool:
        if self.hand is None:  # it pulls with its own mass, too: as much as if it were turned
            moves = np.abs(window.samples.wrist.linear_acceleration).max()
            if moves > WRIST_RULES.turned_by * STANDARD_GRAVITY:
                return True
        left = window.samples.shown.mean(axis=0) - window.rows @ (self._ten + load.ten) - load.bias
        by_y = window.rows @ load.body.derivative_by_moments()
        std = np.sqrt(np.diag(by_y @ load.covariance @ by_y.T) + np.repeat(WRIST_RULES.vibration, 3) ** 2)
        weight = load.mass * STANDARD_GRAVITY
        least = [max(WRIST_RULES.least_force, WRIST_RULES.changed * weight)] * 3 + [
            max(WRIST_RULES.least_torque, WRIST_RULES.slipped * weight)
        ] * 3
        return not np.any(np.abs(left) > np.maximum(least, WRIST_RULES.sigmas * std))

    def load_gone(self, window: Window, mass: float) -> bool:
        return window.bare.force < max(WRIST_RULES.least_force, WRIST_RULES.gone * mass * STANDARD_GRAVITY)


def _residual(left: Array, unexplained: bool) -> Residual:
    return Residual(left, float(np.linalg.norm(left[:3])), unexplained)
