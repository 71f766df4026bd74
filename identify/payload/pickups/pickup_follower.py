"""Pick-ups one after the other: from the gripper's signal, confirmed by weight, to the release, the drop or the slip.

    bare --held, weight--> carried --open, no weight--> bare
                           carried --no weight--> dropped --open--> bare
                           carried --the load has moved--> slipped --open--> bare

Samples are judged in windows before they are weighed, so that what no longer belongs to the load does not spoil its
estimate.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import takewhile

import numpy as np

from heft.identify.bodies.arrays import frozen
from heft.identify.bodies.wrench import STANDARD_GRAVITY
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.sample_chunks import CHUNK_S, chunk_length
from heft.identify.payload.kinematics.alignment import Samples, joined
from heft.identify.payload.pickups.pickup import End, Estimated, Pickup
from heft.identify.payload.pickups.pickup_rules import PICKUP_RULES
from heft.identify.payload.pickups.signals import MQTT, Signal, SignalKind
from heft.identify.payload.scales.scale import Scale, Window

__all__ = ["PickupFollower"]


class PickupFollower:
    """Samples and signals in, pick-ups out, weighed by `scale`.

    `publish_every_s`: how often an estimate is made of what is held; more than once a chunk there is nothing new.
    `count`: of pick-ups that others have followed.
    """

    def __init__(
        self,
        scale: Scale,
        *,
        prior: ObjectPrior | None = None,
        publish_every_s: float = CHUNK_S,
        count: int = 0,
    ) -> None:
        self._scale, self._prior = scale, prior
        self.notes: tuple[str, ...] = ()  # to be said of every pick-up
        self._publish_every_s = publish_every_s
        self._window_length = chunk_length(PICKUP_RULES.window_s, scale.rate_hz)
        self._signals: deque[Signal] = deque()
        self._rest: list[Samples] = []  # less than a window
        self._pending: deque[Window] = deque()  # bare so far, but the gripper may tell later
        self._unexplained: list[Window] = []  # bare by what the gripper tells, not by their weight
        self._shifted_at = -np.inf  # when such windows were last believed [s]
        self._changing: list[Window] = []  # that do not match the load, in a row
        self._held_back: deque[Window] = deque()  # of the load so far, but the gripper may tell later
        self._current: Pickup | None = None
        self._fresh = False
        self._most_certain: Estimated | None = None  # of the estimates of what is held
        self._open_at: float | None = None  # the gripper says that it has let go; the weight decides
        self._published_at = -np.inf
        self._late_s = 0.0  # so long a weight may be gone before the gripper tells that it has let go
        self._count = count
        self.finished: list[Pickup] = []

    @property
    def current(self) -> Pickup | None:
        """What the gripper holds, or may hold."""
        return self._current

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
        del self.finished[: -PICKUP_RULES.kept]
        for pickup in (*self.finished, *([] if self._current is None else [self._current])):
            pickup.estimates.clear()

    def finish(self) -> list[Pickup]:
        """The data end."""
        if self._current is not None:
            pickup = self._current
            if pickup.end is None:
                self._close(
                    pickup,
                    pickup.last_time,
                    End.UNFINISHED if pickup.t_pick is not None else End.NOTHING,
                )
            self._current = None
        return self.finished

    # -- one window ---------------------------------------------------------------------------------------------------

    def _window(self, samples: Samples, news: list[Pickup]) -> None:
        window = self._scale.window(samples, first=not self._pending)
        self._process_signals(window, news)
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
            self._carried(pickup, window, news)

    def _process_signals(self, window: Window, news: list[Pickup]) -> None:
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
                    _report(self._current, news)
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
        self._current = Pickup(self._count, signal.time, signal.source, signal.target, notes=list(self.notes))
        if signal.time <= self._shifted_at:
            self._current.notes.append(
                "it was told so late that its weight had been taken for a bias: it cannot be told"
            )
            self._close(self._current, signal.time, End.NOTHING)
            _report(self._current, news)
            self._current = None
            return
        self._late_s = PICKUP_RULES.late * signal.within_s
        if not self._scale.ready:
            self._current.notes.append(
                "the gripper held it when the data began, so its weight cannot be told"
            )
        self._learn([w for w in self._pending if w.end < signal.time - PICKUP_RULES.guard_s])
        recent = [w for w in self._pending if signal.time - w.time < PICKUP_RULES.apart_s]
        early = list(takewhile(lambda w: w.bare.unexplained, reversed(recent)))
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
        old = [w for w in self._pending if w.end < window.end - PICKUP_RULES.apart_s]
        for _ in old:
            self._pending.popleft()
        self._learn(old)
        if not self._scale.ready:
            self._scale.learn_early(window)

    def _learn(self, windows: list[Window]) -> None:
        self._scale.learn([w for w in windows if not w.bare.unexplained])
        for window in windows:
            self._unexplained = [*self._unexplained, window] if window.bare.unexplained else []
            if self._unexplained and window.end - self._unexplained[0].time >= PICKUP_RULES.shifted_s:
                if self._scale.shift(self._unexplained):
                    self._shifted_at = window.end
                    self._pending = deque(self._scale.window(w.samples, first=False) for w in self._pending)
                self._unexplained = []

    def _await_weight(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        """The fingers hold something; is there a weight?"""
        if window.time < pickup.t_signal + PICKUP_RULES.settle_s:
            return
        if window.bare.unexplained:
            late = window.time - pickup.t_signal
            self._lift(pickup, pickup.t_signal if late < PICKUP_RULES.apart_s else window.time)
            self._carried(pickup, window, news)

    def _lift(self, pickup: Pickup, time: float) -> None:
        pickup.t_pick = time
        self._scale.grasped(self._prior, settling=True)
        self._fresh, self._published_at, self._most_certain = False, -np.inf, None
        self._changing, self._unexplained = [], []
        self._held_back.clear()

    def _carried(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        assert pickup.t_pick is not None
        age = window.time - pickup.t_pick
        if age < PICKUP_RULES.settle_s:
            return
        if not self._fresh and age >= PICKUP_RULES.fresh_s:
            self._scale.grasped(self._prior, settling=False)
            self._fresh, self._published_at = True, -np.inf
            self._held_back.clear()
        self._scale.remember_posture(window)
        if not self._matches(pickup, window):
            self._changing.append(window)
            missing_s = window.end - self._changing[0].time
            if len(self._changing) >= self._scale.rules.windows_to_change and missing_s >= self._late_s:
                self._changed(pickup, news)
            return
        self._held_back.extend([*self._changing, window])
        self._changing = []
        while self._held_back and (
            not self._fresh or self._held_back[0].end < window.end - PICKUP_RULES.guard_s
        ):
            self._feed(pickup, self._held_back.popleft())
        if self._published_at == -np.inf or window.end - self._published_at >= self._publish_every_s:
            self._publish(pickup, window.end, news)

    def _matches(self, pickup: Pickup, window: Window) -> bool:
        """Whether a window shows the load as it is known, and as it was known best."""
        if pickup.latest is None or self._scale.unusable(window):
            return True
        latest = pickup.latest.estimate
        if not self._fresh or self._published_at == -np.inf:  # it still settles; but it may be gone
            return not (self._scale.precise and self._scale.load_gone(window, latest.mass))
        if not self._scale.matches(window, latest):
            return False
        if self._most_certain is None or not self._scale.precise:
            return True
        return self._scale.matches(window, replace(self._most_certain.estimate, bias=latest.bias))

    def _changed(self, pickup: Pickup, news: list[Pickup]) -> None:
        """Several windows in a row do not belong to the load as it was."""
        assert pickup.t_pick is not None
        assert pickup.latest is not None
        first = self._changing[0]
        if first.time - pickup.t_pick < PICKUP_RULES.steady_s and self._changing[-1].bare.unexplained:
            self._scale.grasped(self._prior, settling=False)  # it is still being lifted
            self._published_at, self._changing, self._most_certain = -np.inf, [], None
            self._held_back.clear()
            return
        if self._most_certain is not None and _differ(self._most_certain.estimate, pickup.latest.estimate):
            pickup.latest = self._most_certain
            pickup.notes.append("its weight changed bit by bit while it was held; this is what it was before")
        weight = pickup.latest.estimate.mass * STANDARD_GRAVITY
        gone = self._changing[-1].bare.force < 0.5 * weight
        self._close(pickup, first.time, End.DROPPED if gone else End.SLIPPED)
        _report(pickup, news)

    def _feed(self, pickup: Pickup, window: Window) -> None:
        why = self._scale.unusable(window)
        if why is None:
            self._scale.weigh(window)
        elif why not in pickup.notes:
            pickup.notes.append(why)

    def _publish(self, pickup: Pickup, time: float, news: list[Pickup]) -> None:
        estimate = self._scale.estimate()
        if estimate is None:
            return
        if not self._fresh:
            doubt = np.zeros(10)
            doubt[0], doubt[1:4] = PICKUP_RULES.sag_mass * estimate.mass, PICKUP_RULES.sag_com
            estimate = replace(estimate, covariance=frozen(estimate.covariance + np.diag(doubt**2)))
        pickup.latest = Estimated(time, estimate)
        if self._fresh and (
            self._most_certain is None or _mass_variance(pickup.latest) <= _mass_variance(self._most_certain)
        ):
            self._most_certain = pickup.latest
        pickup.estimates.append(pickup.latest)
        pickup.t_first = time if pickup.t_first is None else pickup.t_first
        self._published_at = time
        _report(pickup, news)

    # -- the end of a pick-up -----------------------------------------------------------------------------------------

    def _letting_go(self, pickup: Pickup, window: Window, news: list[Pickup]) -> None:
        """The gripper says that it is open: it is, if the weight is gone, or the scale too blunt to know better."""
        assert self._open_at is not None
        if window.time < self._open_at:
            return
        late = window.end - self._open_at > PICKUP_RULES.flicker_s
        gone = self._scale.load_gone(window, pickup.mass) or (late and not self._scale.precise)
        if gone or self._scale.unusable(window):
            self._publish(pickup, pickup.last_time, [])  # all that was weighed, once more
            self._close(pickup, self._open_at, End.RELEASED)
            pickup.t_bare = window.time
            _report(pickup, news)
            self._current, self._open_at = None, None
        elif late:
            pickup.notes.append(
                f"the gripper said that it was open at {self._open_at:.3f} s, but still carried the weight"
            )
            self._open_at = None

    def _after(self, pickup: Pickup, window: Window) -> None:
        """Dropped or slipped: wait until the fingers open and the hand is bare."""
        opened = self._open_at is not None and window.time >= self._open_at
        gone = self._scale.load_gone(window, pickup.mass)
        if (gone and (opened or pickup.end is End.DROPPED)) or (opened and not self._scale.precise):
            pickup.t_bare = window.time
            self._current, self._open_at = None, None

    def _close(self, pickup: Pickup, time: float, end: End) -> None:
        pickup.t_end, pickup.end = time, end
        self.finished.append(pickup)
        self._changing = []
        self._held_back.clear()
        self._scale.released()


def _report(pickup: Pickup, news: list[Pickup]) -> None:
    """Once, however much there is new of it: an end that is told twice would be two ends."""
    if not any(one is pickup for one in news):
        news.append(pickup)


def _mass_variance(one: Estimated) -> float:
    """[kg2]"""
    return float(one.estimate.covariance[0, 0])


def _differ(best: PayloadEstimate, latest: PayloadEstimate) -> bool:
    """Whether the latest estimate is no longer of the load that was known best."""
    by = abs(latest.mass - best.mass)
    return by > max(
        PICKUP_RULES.changed * best.mass, PICKUP_RULES.changed_sigmas * float(np.sqrt(best.covariance[0, 0]))
    )
