"""The balance of a wrench: what is left of it when hand, bias and load have been taken off."""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.payload.align import Samples
from identify.payload.chart import derivative_by_moments
from identify.payload.estimate import PayloadEstimate
from identify.payload.inputs import STANDARD_GRAVITY
from identify.payload.scale import Rest
from identify.payload.wrench import differential_terms

__all__ = ["Balance", "window_rows"]

_SIGMAS = 5.0
_WEIGHT = 0.25  # of the load's weight that must be missing, or too much
_SLIP = 0.012  # [m] by which the load's centre must have moved
_LEAST_FORCE = 0.3  # [N]
_LEAST_TORQUE = 0.02  # [N m]
_NOISE_FORCE, _NOISE_TORQUE = 0.05, 0.005  # [N], [N m]: of the mean over a window, from vibration


def window_rows(samples: Samples, gravity: Array) -> Array:
    """Mean over a window of the rows that multiply ten numbers, shape (6, 10)."""
    wrist = samples.wrist
    terms = differential_terms(
        wrist.rotation, wrist.angular_velocity, wrist.angular_acceleration, wrist.linear_acceleration
    )
    return np.asarray(terms.regressor(gravity).mean(axis=0))


class Balance:
    """Bare: against the hand and its running bias. Loaded: against an estimate, allowing for its uncertainty."""

    MEMORY = 50  # windows that the running bias remembers

    def __init__(self, hand: Array | None) -> None:
        self.hand = np.zeros(10) if hand is None else hand
        self._bias: Array | None = None
        self._windows = 0

    @property
    def ready(self) -> bool:
        """Whether the bias is known."""
        return self._windows >= 5

    def bare(self, samples: Samples, rows: Array) -> Rest:
        """What a window shows beside the hand."""
        shown = samples.shown.mean(axis=0) - rows @ self.hand
        left = shown - (shown if self._bias is None else self._bias)
        strange = np.linalg.norm(left[:3]) > _LEAST_FORCE or np.linalg.norm(left[3:]) > 4 * _LEAST_TORQUE
        return Rest(left, _force(left), bool(strange) and self.ready)

    def learn(self, rest: Rest) -> None:
        """A window in which the hand was bare: its rest is bias."""
        if self._bias is None:
            self._bias = np.zeros(6)
        share = 1.0 / min(self._windows + 1, self.MEMORY)
        self._bias = self._bias + share * rest.left
        self._windows += 1

    def restart(self, left: Array) -> None:
        """The bias has moved by so much; what comes next tells it better."""
        self._bias = (0.0 if self._bias is None else self._bias) + left
        self._windows = min(self._windows, 20)

    def start(self, samples: Samples, rows: Array) -> None:
        """Take the first window as bias."""
        self._bias = samples.shown.mean(axis=0) - rows @ self.hand

    def loaded(self, samples: Samples, rows: Array, estimate: PayloadEstimate) -> Rest:
        """What a window shows beside the hand and the load `estimate` (sensor's frame)."""
        left = samples.shown.mean(axis=0) - rows @ (self.hand + estimate.ten) - estimate.bias
        by_y = rows @ derivative_by_moments(estimate.body)
        covariance = by_y @ estimate.covariance @ by_y.T
        doubt = np.sqrt(np.diag(covariance) + np.array([_NOISE_FORCE] * 3 + [_NOISE_TORQUE] * 3) ** 2)
        weight = estimate.mass * STANDARD_GRAVITY
        least = np.array([max(_LEAST_FORCE, _WEIGHT * weight)] * 3 + [max(_LEAST_TORQUE, _SLIP * weight)] * 3)
        return Rest(left, _force(left), bool(np.any(np.abs(left) > np.maximum(least, _SIGMAS * doubt))))


def _force(wrench: Array) -> float:
    return float(np.linalg.norm(wrench[:3]))
