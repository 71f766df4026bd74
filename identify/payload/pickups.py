"""Pick-ups one after the other: from the gripper's signal, confirmed by weight, to the release, the drop or the slip.

    bare --held, weight--> carried --open, no weight--> bare
                           carried --no weight--> dropped --open--> bare
                           carried --the load has moved--> slipped --open--> bare

Samples are judged in windows before they are weighed, so that what no longer belongs to the load does not spoil its
estimate.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile

import numpy as np

from identify.arrays import frozen
from identify.payload.align import Samples, joined
from identify.payload.estimate import PayloadEstimate
from identify.payload.events import MQTT, Signal, SignalKind
from identify.payload.inputs import STANDARD_GRAVITY
from identify.payload.prior import ObjectPrior
from identify.payload.scale import Scale, Window

__all__ = ["End", "Estimated", "Pickup", "PickupFollower"]

WINDOW_S = 0.01  # samples that are judged by their mean
LEAST_WINDOW = 4  # samples of it, however slow the sensor is: one alone is too noisy
SETTLE_S = 0.005  # fingers and arm give way: not weighed
FRESH_S = 0.10  # then the estimate begins once more, without the arm's first sag
STEADY_S = 0.4  # until then a load that changes is still being lifted
CONFIRM_S = 0.3  # a weight that has not come by then may come when the object leaves the table
BEFORE_S = 0.3  # a slow gripper tells so much later than the weight
GUARD_S = 0.06  # before what a gripper tells: it samples, so it tells a little late
FLICKER_S = 0.25  # a gripper that says `open` and still carries the weight after this has not let go
LATE = 1.5  # times the gripper's own period: its samples come a little unevenly
MOVED_S = 0.2  # of windows that look alike: an empty hand that shows something new has a new bias
TOLD_EVERY_S = 0.1
#: Of the first estimate, while the arm gives way under the load faster than its joints' filtered motion shows:
SAG_MASS = 0.03  # standard deviation, of the mass
SAG_COM = 0.02  # [m]
_REMEMBERED = 3  # pick-ups
CHANGED = 0.03  # of the mass, by which an estimate has left the surest one


class End(StrEnum):
    """How a pick-up ended."""

    RELEASED = "released"
    DROPPED = "dropped"  # the weight went while the fingers held
    SLIPPED = "slipped"  # it moved between the fingers
    NOTHING = "nothing"  # there never was a weight
    UNFINISHED = "unfinished"  # the data end


@dataclass(frozen=True)
class Estimated:
    """An estimate in the scale's frame; `time` [s] of its last sample, host's clock."""

    time: float
    estimate: PayloadEstimate


@dataclass
class Pickup:
    """One pick-up; times [s] on the host's clock. It grows while the object is held."""

    number: int
    t_signal: float
    source: str  # the gripper's stream, where it tells of it; else who does
    target: str | None = None
    t_pick: float | None = None  # when the weight came
    t_first: float | None = None  # of the first estimate's last sample
    t_end: float | None = None
    t_bare: float | None = None  # when the hand was empty again
    end: End | None = None
    latest: Estimated | None = None
    by_joints: PayloadEstimate | None = None  # the same load from joint torques, flange's frame
    estimates: list[Estimated] = field(default_factory=list)
    repeated: int = 0  # signals that told of it again
    notes: list[str] = field(default_factory=list)


class PickupFollower:
    """Samples and signals in, pick-ups out, weighed by `scale`.

    `told_every_s`: how often an estimate is made of what is held. `count`: of pick-ups that others have followed.
    """

    def __init__(
        self,
        scale: Scale,
        *,
        prior: ObjectPrior | None = None,
        told_every_s: float = TOLD_EVERY_S,
        count: int = 0,
    ) -> None:
        self._scale, self._prior = scale, prior
        self._told_every_s = told_every_s
        self._window_length = max(LEAST_WINDOW, round(WINDOW_S * scale.rate_hz))
        self._signals: deque[Signal] = deque()
        self._rest: list[Samples] = []  # less than a window
        self._pending: deque[Window] = deque()  # bare so far, but the gripper may tell later
        self._strangers: list[Window] = []  # bare by what the gripper tells, not by their weight
        self._moved_at = -np.inf  # when such windows were last believed [s]
        self._suspects: list[Window] = []
        self._held_back: deque[Window] = deque()  # of the load so far, but the gripper may tell later
        self._current: Pickup | None = None
        self._fresh = False
        self._surest: Estimated | None = None  # of the estimates of what is held
        self._open_at: float | None = None  # the gripper says that it has let go; the weight decides
        self._told = -np.inf
        self._late_s = 0.0  # so long a weight may be gone before the gripper tells that it has let go
        self._count = count
        self.finished: list[Pickup] = []

    @property
    def current(self) -> Pickup | None:
        """What the gripper holds, or may hold."""
        return self._current

    @property
    def carried(self) -> bool:
        """Whether a weight has been confirmed and is still there."""
        return self._current is not None and self._current.t_pick is not None and self._current.end is None

    @property
    def count(self) -> int:
        """Pick-ups so far, with the present one."""
        return self._count

    @property
    def waiting(self) -> tuple[Signal, ...]:
        """Signals whose time has not come."""
        return tuple(self._signals)

    def signal(self, signal: Signal) -> None:
        """The gripper did something; in the order of time per source."""
        self._signals.append(signal)

    def take(self, samples: Samples) -> list[Pickup]:
        """The next samples; pick-ups of which there is something new."""
        self._rest.append(samples)
        table = joined(self._rest) if len(self._rest) > 1 else samples
        news: list[Pickup] = []
        length = self._window_length
        whole = len(table) - len(table) % length
        for start in range(0, whole, length):
            self._window(table.part(slice(start, start + length)), news)
        self._rest = [table.part(slice(whole, None))] if whole < len(table) else []
        return news

    def forget(self) -> None:
        """All but the last few pick-ups, and all but their latest estimates: for those who follow for days."""
        del self.finished[:-_REMEMBERED]
        for pickup in (*self.finished, *([] if self._current is None else [self._current])):
            pickup.estimates.clear()

    def finish(self) -> list[Pickup]:
        """The data end."""
        if self._current is not None:
            pickup = self._current
            if pickup.end is None:
                self._close(
                    pickup,
                    _last_time(pickup),
                    End.UNFINISHED if pickup.t_pick is not None else End.NOTHING,
                )
            self._current = None
        return self.finished

    # -- one window ---------------------------------------------------------------------------------------------------

    def _window(self, samples: Samples, news: list[Pickup]) -> None:
        window = self._scale.look(samples, begin=not self._pending)
        self._obey(window, news)
        pickup = self._current
        if pickup is None:
            self._bare(window)
        elif pickup.end is not None:
            self._after(pickup, window)
        elif pickup.t_pick is None:
            self._await_weight(pickup, window, news)
        elif self._open_at is not None:
            self._letting_go(pickup, window, news)
        else:
            self._carry(pickup, window, news)

    def _obey(self, window: Window, news: list[Pickup]) -> None:
        """Signals that are due by the end of this window."""
        waiting = [s for s in self._signals if s.time > window.end]
        due = sorted((s for s in self._signals if s.time <= window.end), key=lambda s: s.time)
        self._signals = deque(waiting)
        for signal in due:
            if signal.kind is SignalKind.SHUT:
                self._shut(signal, news)
            elif signal.kind is SignalKind.HELD:
                self._held(signal, news)
            elif self._current is not None and self._open_at is None:
                self._open_at = signal.time
                if self._current.t_pick is None:
                    self._close(self._current, signal.time, End.NOTHING)
                    news.append(self._current)
                    self._current, self._open_at = None, None

    def _held(self, signal: Signal, news: list[Pickup]) -> None:
        if self._current is not None and self._current.end is not None and self._open_at is not None:
            self._current, self._open_at = None, None  # lost, opened, and closed again
        if self._current is not None:
            if self._open_at is not None and self._current.end is None:
                self._open_at = None  # it flickered: the fingers never opened
                self._current.notes.append(
                    f"the gripper let go for a moment at {signal.time:.3f} s and held on"
                )
            else:
                self._current.repeated += 1
            if self._current.source == MQTT:  # the gripper's own word counts for more
                self._current.source = signal.source
            return
        self._count += 1
        self._current = Pickup(self._count, signal.time, signal.source, signal.target)
        if signal.time <= self._moved_at:
            self._current.notes.append(
                "it was told so late that its weight had been taken for a bias: it cannot be told"
            )
            self._close(self._current, signal.time, End.NOTHING)
            news.append(self._current)
            self._current = None
            return
        self._late_s = LATE * signal.within_s
        if not self._scale.ready:
            self._current.notes.append(
                "the gripper held it when the data began, so its weight cannot be told"
            )
        self._learn([w for w in self._pending if w.end < signal.time - GUARD_S])
        recent = [w for w in self._pending if signal.time - w.time < BEFORE_S]
        early = list(takewhile(lambda w: w.bare.strange, reversed(recent)))
        self._pending.clear()
        if early:
            self._lift(self._current, min(early[-1].end, signal.time))

    def _shut(self, signal: Signal, news: list[Pickup]) -> None:
        """Closed on nothing: a pick-up that says so."""
        if self._current is not None:
            return
        self._count += 1
        nothing = Pickup(self._count, signal.time, signal.source, signal.target)
        self._close(nothing, signal.time, End.NOTHING)
        news.append(nothing)

    def _bare(self, window: Window) -> None:
        """Nothing is held; what is old enough tells the biases."""
        self._pending.append(window)
        old = [w for w in self._pending if w.end < window.end - BEFORE_S]
        for _ in old:
            self._pending.popleft()
        self._learn(old)
        if not self._scale.ready:
            self._scale.meet(window)

    def _learn(self, windows: list[Window]) -> None:
        self._scale.learn([w for w in windows if not w.bare.strange])
        for window in windows:
            self._strangers = [*self._strangers, window] if window.bare.strange else []
            if self._strangers and window.end - self._strangers[0].time >= MOVED_S:
                if self._scale.moved(self._strangers):
                    self._moved_at = window.end
                    self._pending = deque(self._scale.look(w.samples, begin=False) for w in self._pending)
                self._strangers = []

    def _await_weight(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        """The fingers hold something; is there a weight?"""
        if window.time < pickup.t_signal + SETTLE_S:
            return
        if window.bare.strange:
            late = window.time - pickup.t_signal
            self._lift(pickup, pickup.t_signal if late < CONFIRM_S else window.time)
            self._carry(pickup, window, news)

    def _lift(self, pickup: Pickup, time: float) -> None:
        pickup.t_pick = time
        self._scale.grasped(self._prior, settling=True)
        self._fresh, self._told, self._surest = False, -np.inf, None
        self._suspects, self._strangers = [], []
        self._held_back.clear()

    def _carry(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        assert pickup.t_pick is not None
        age = window.time - pickup.t_pick
        if age < SETTLE_S:
            return
        if not self._fresh and age >= FRESH_S:
            self._scale.grasped(self._prior, settling=False)
            self._fresh, self._told = True, -np.inf
            self._held_back.clear()
        self._scale.hold(window)
        if self._strange(pickup, window):
            self._suspects.append(window)
            missing_s = window.end - self._suspects[0].time
            if len(self._suspects) >= self._scale.suspects and missing_s >= self._late_s:
                self._changed(pickup, news)
            return
        self._held_back.extend([*self._suspects, window])
        self._suspects = []
        while self._held_back and (not self._fresh or self._held_back[0].end < window.end - GUARD_S):
            self._feed(pickup, self._held_back.popleft())
        if self._told == -np.inf or window.end - self._told >= self._told_every_s:
            self._tell(pickup, window.end, news)

    def _strange(self, pickup: Pickup, window: Window) -> bool:
        """Whether a window does not belong to the load as it is known, or to what was known best of it."""
        if pickup.latest is None or self._scale.unsure(window):
            return False
        latest = pickup.latest.estimate
        if not self._fresh or self._told == -np.inf:  # it still settles; but it may be gone
            return self._scale.sharp and self._scale.light(window, latest.mass)
        if not self._scale.belongs(window, latest):
            return True
        if self._surest is None or not self._scale.sharp:
            return False
        return not self._scale.belongs(window, replace(self._surest.estimate, bias=latest.bias))

    def _changed(self, pickup: Pickup, news: list[Pickup]) -> None:
        """Several windows in a row do not belong to the load as it was."""
        assert pickup.t_pick is not None
        assert pickup.latest is not None
        first = self._suspects[0]
        if first.time - pickup.t_pick < STEADY_S and self._suspects[-1].bare.strange:
            self._scale.grasped(self._prior, settling=False)  # it is still being lifted
            self._told, self._suspects, self._surest = -np.inf, [], None
            self._held_back.clear()
            return
        if self._surest is not None and _apart(self._surest.estimate, pickup.latest.estimate):
            pickup.latest = self._surest
            pickup.notes.append("its weight changed bit by bit while it was held; this is what it was before")
        weight = pickup.latest.estimate.mass * STANDARD_GRAVITY
        gone = self._suspects[-1].bare.force < 0.5 * weight
        self._close(pickup, first.time, End.DROPPED if gone else End.SLIPPED)
        news.append(pickup)

    def _feed(self, pickup: Pickup, window: Window) -> None:
        why = self._scale.unsure(window)
        if why is None:
            self._scale.weigh(window)
        elif why not in pickup.notes:
            pickup.notes.append(why)

    def _tell(self, pickup: Pickup, time: float, news: list[Pickup]) -> None:
        estimate = self._scale.estimate()
        if estimate is None:
            return
        if not self._fresh:
            doubt = np.zeros(10)
            doubt[0], doubt[1:4] = SAG_MASS * estimate.mass, SAG_COM
            estimate = replace(estimate, covariance=frozen(estimate.covariance + np.diag(doubt**2)))
        pickup.latest = Estimated(time, estimate)
        if self._fresh and (self._surest is None or _doubt(pickup.latest) <= _doubt(self._surest)):
            self._surest = pickup.latest
        pickup.estimates.append(pickup.latest)
        pickup.t_first = time if pickup.t_first is None else pickup.t_first
        self._told = time
        if pickup not in news:
            news.append(pickup)

    # -- the end of a pick-up -----------------------------------------------------------------------------------------

    def _letting_go(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        """The gripper says that it is open: it is, if the weight is gone, or the scale too blunt to know better."""
        assert self._open_at is not None
        if window.time < self._open_at:
            return
        mass = 0.0 if pickup.latest is None else pickup.latest.estimate.mass
        late = window.end - self._open_at > FLICKER_S
        gone = self._scale.light(window, mass) or (late and not self._scale.sharp)
        if gone or self._scale.unsure(window):
            self._tell_last(pickup)
            self._close(pickup, self._open_at, End.RELEASED)
            pickup.t_bare = window.time
            news.append(pickup)
            self._current, self._open_at = None, None
        elif late:
            pickup.notes.append(
                f"the gripper said that it was open at {self._open_at:.3f} s, but still carried the weight"
            )
            self._open_at = None

    def _tell_last(self, pickup: Pickup) -> None:
        """All that was weighed, once more."""
        self._tell(pickup, _last_time(pickup), [])

    def _after(self, pickup: Pickup, window: Window) -> None:
        """Dropped or slipped: wait until the fingers open and the hand is bare."""
        opened = self._open_at is not None and window.time >= self._open_at
        mass = 0.0 if pickup.latest is None else pickup.latest.estimate.mass
        light = self._scale.light(window, mass)
        if (light and (opened or pickup.end is End.DROPPED)) or (opened and not self._scale.sharp):
            pickup.t_bare = window.time
            self._current, self._open_at = None, None

    def _close(self, pickup: Pickup, time: float, end: End) -> None:
        pickup.t_end, pickup.end = time, end
        self.finished.append(pickup)
        self._suspects = []
        self._held_back.clear()
        self._scale.released()


def _doubt(one: Estimated) -> float:
    """Variance of the mass [kg2]."""
    return float(one.estimate.covariance[0, 0])


def _apart(surest: PayloadEstimate, latest: PayloadEstimate) -> bool:
    """Whether the latest estimate is no longer of the load that was known best."""
    by = abs(latest.mass - surest.mass)
    return by > max(CHANGED * surest.mass, 4 * float(np.sqrt(surest.covariance[0, 0])))


def _last_time(pickup: Pickup) -> float:
    return pickup.t_signal if pickup.latest is None else pickup.latest.time
