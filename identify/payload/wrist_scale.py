"""A wrist sensor as a scale: six numbers that the hand's own weight and a bias are taken off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from identify.arrays import Array, frozen
from identify.payload.align import Samples, joined
from identify.payload.balance import Balance, window_rows
from identify.payload.estimate import PayloadEstimate
from identify.payload.hand import CHUNK_S, Hand, motion_of, samples_in, with_hand_doubt
from identify.payload.inputs import STANDARD_GRAVITY
from identify.payload.prior import ObjectPrior
from identify.payload.recursive import PayloadEstimator, WristSensor
from identify.payload.scale import Scale, Window

__all__ = ["WristScale"]

FIRST_CHUNK_S = 0.02  # samples whose mean the first estimate is made of
_TURNED_BY = 0.01  # [rad] by which the wrist may turn where nothing is known of the hand
_UNKNOWN_MOMENT = 0.5  # [N m] of such a hand about the sensor: 1 kg, 5 cm away
_REACH = 0.3  # [m]: how far from the sensor a load may be
_LIGHT_FORCE = 0.3  # [N]
_LIGHT = 0.3  # of the load's weight
_STEADY = np.array([0.1] * 3 + [0.01] * 3)  # [N], [N m] rms of windows over which nothing changes
_AT_REST = 0.1  # [m/s2]: a hand of which nothing is known pulls with its own mass, too


class WristScale(Scale):
    """`hand` None: nothing is known of it; then a load is weighed only as long as the wrist stays as it was at the
    pick-up, with a sensor of which `sensor` is known. Estimates are in the sensor's frame.
    """

    suspects = 4
    sharp = True

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
        self._first_chunk, self._chunk = (samples_in(span, rate_hz) for span in (FIRST_CHUNK_S, CHUNK_S))
        self._estimator = self._new_estimator()
        self._balance = Balance(None if hand is None else hand.ten)
        self._settling = False
        self._rotation: Array | None = None  # of the wrist at the pick-up

    @property
    def ready(self) -> bool:
        return self._balance.ready

    def look(self, samples: Samples, *, begin: bool) -> Window:
        rows = window_rows(samples, self._gravity)
        if begin and not self.ready:
            self._balance.start(samples, rows)
        return Window(samples, rows, samples.shown, self._balance.bare(samples, rows))

    def meet(self, window: Window) -> None:
        self._balance.learn(window.bare)

    def learn(self, windows: Sequence[Window]) -> None:
        for window in windows:
            self._balance.learn(window.bare)
        if windows and (self.hand is not None or self._rotation is None):
            part = joined([window.samples for window in windows])
            self._estimator.update(part.time, **motion_of(part))

    def moved(self, windows: Sequence[Window]) -> bool:
        """A bias that went while something was held is a new one; a hand that is pushed is not steady."""
        left = np.array([window.bare.left for window in windows])
        if np.any(left.std(axis=0) > _STEADY):
            return False
        self._balance.restart(left.mean(axis=0))
        self._estimator = self._new_estimator()
        part = joined([window.samples for window in windows])
        self._estimator.update(part.time, **motion_of(part))
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

    def hold(self, window: Window) -> None:
        if self._rotation is None:
            self._rotation = window.samples.wrist.rotation[0]

    def unsure(self, window: Window) -> str | None:
        if self.hand is not None or self._rotation is None:
            return None
        cosine = (np.trace(self._rotation.T @ window.samples.wrist.rotation[-1]) - 1) / 2
        if cosine >= np.cos(_TURNED_BY):
            return None
        return (
            "nothing is known of the bare hand, so only the time before the wrist turned counts; "
            "move the bare hand before the pick-up, or give a recording of it (--bare)"
        )

    def weigh(self, window: Window) -> None:
        self._estimator.update(window.samples.time, **motion_of(window.samples))

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
        along = np.outer(down, down) * (_REACH**2 / (down @ down))
        across = np.eye(3) * (_UNKNOWN_MOMENT * _TURNED_BY / (estimate.mass * STANDARD_GRAVITY)) ** 2
        covariance = estimate.covariance.copy()
        covariance[1:4, 1:4] += along + across
        return replace(estimate, covariance=frozen(covariance))

    def belongs(self, window: Window, load: PayloadEstimate) -> bool:
        if self.hand is None and np.abs(window.samples.wrist.linear_acceleration).max() > _AT_REST:
            return True
        return not self._balance.loaded(window.samples, window.rows, load).strange

    def light(self, window: Window, mass: float) -> bool:
        return window.bare.force < max(_LIGHT_FORCE, _LIGHT * mass * STANDARD_GRAVITY)
