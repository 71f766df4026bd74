"""What the gripper says: it has closed on something, closed on nothing, or opened. The weight has the last word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from heft.drivers.stream import Stream
from heft.identify.bodies.arrays import Array

__all__ = ["MQTT", "GripperSignals", "Signal", "SignalKind"]

MQTT = "mqtt"  # the source of what a broker tells


@dataclass(frozen=True)
class _FingerRules:
    """Fingers that stop; tuned on the simulated gripper and those of `tests/identify/payload/pickups/test_signals.py`.

    shut     of their travel so far: less than this open, and nothing fits between them
    moved    of their travel: less is noise
    still_s  [s] without motion after which they have stopped
    """

    shut: float = 0.03
    moved: float = 0.01
    still_s: float = 0.05


_FINGERS = _FingerRules()


class SignalKind(StrEnum):
    """What a gripper tells."""

    HELD = "held"  # something is between the fingers
    SHUT = "shut"  # closed, and nothing is between them
    OPEN = "open"  # let go


@dataclass(frozen=True)
class Signal:
    """Something that the gripper did at `time` [s], host's clock; `source` is a stream's name, or `mqtt`.

    `within_s`: so much earlier it may have happened. A stream tells it with its next sample.
    """

    time: float
    kind: SignalKind
    source: str
    target: str | None = None  # what should be there, where the source knows
    within_s: float = 0.0


class GripperSignals:
    """Signals from a gripper's stream of states: `object.detected`, and `fingers.opening` where it has one."""

    def __init__(self, stream: Stream) -> None:
        names = [column.name for column in stream.columns]
        self._source, self._within_s = stream.name, 1.0 / stream.rate_hz
        self._detected = names.index("object.detected")
        self._opening = names.index("fingers.opening") if "fingers.opening" in names else None
        self._held = False
        self._shut = False
        self._widest = 0.0
        self._lost = False  # what was held is gone, and the fingers have not opened since
        self._narrowest = np.inf  # meanwhile
        self._place = np.nan  # where the fingers last came to
        self._since = np.nan  # when that was

    def of(self, time: Array, values: Array) -> list[Signal]:
        """Signals in samples at `time` [s] (N,), with values in SI units (N, k)."""
        signals: list[Signal] = []
        for t, row in zip(time.tolist(), values, strict=True):
            if np.isfinite(row[self._detected]):
                self._detect(t, bool(row[self._detected] > 0.5), signals)
            if self._opening is not None and np.isfinite(row[self._opening]):
                self._follow(t, float(row[self._opening]), signals)
        return signals

    def _detect(self, t: float, held: bool, signals: list[Signal]) -> None:
        if held != self._held:
            kind = SignalKind.HELD if held else SignalKind.OPEN
            signals.append(Signal(t, kind, self._source, within_s=self._within_s))
            self._lost, self._narrowest = not held, np.inf
        self._held = held

    def _follow(self, t: float, opening: float, signals: list[Signal]) -> None:
        """Fingers that come to rest together, with nothing between them; those that lost something only follow it."""
        self._widest, self._narrowest = max(self._widest, opening), min(self._narrowest, opening)
        self._lost = self._lost and opening <= self._narrowest + _FINGERS.moved * self._widest
        if not abs(opening - self._place) <= _FINGERS.moved * self._widest:
            self._place, self._since = opening, t
        shut = opening < _FINGERS.shut * self._widest
        if shut and not self._shut and not self._held and t - self._since >= _FINGERS.still_s:
            if not self._lost:
                signals.append(Signal(self._since, SignalKind.SHUT, self._source))
            self._shut = True
        elif not shut:
            self._shut = False
