"""The bare hand is learned while other things happen: nothing waits for it, and what is held meanwhile profits."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np
import pytest

from heft.daq.recording import Recording
from heft.identify.data.recorded_robot import robot_of
from heft.identify.payload.bare_hand import learned_hand as hand_module
from heft.identify.payload.pickups.pickup import End
from heft.identify.payload.weighing.live import LivePayload

#: They go through a whole recording several times, and share it with others; make it once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hammer")]


def blocks_of(live: LivePayload, recording: Recording) -> Any:
    return heapq.merge(*(recording.blocks(n) for n in live._stamps), key=lambda block: block.host_ns[-1])


def test_a_pickup_before_the_hand_is_learned_is_told_at_once_and_profits_later(hammer: Any) -> None:
    """Few, large portions: there is less time to think, so learning is not over when the hammer is taken."""
    recording = Recording.open(hammer.file)
    live = LivePayload(recording.streams, robot_of(recording))
    (truth,) = hammer.truth["payloads"]
    news, known = [], []
    blocks = blocks_of(live, recording)
    while portion := list(itertools.islice(blocks, 12)):
        told = live.take(portion)
        news += [(int(portion[-1].host_ns[-1]) * 1e-9, pickup) for pickup in told]
        known += [live.hand is not None for _ in told]
    when, first = news[0]
    assert not known[0]
    assert when - first.t_signal < 0.4  # the wrist gives way, and what is not known of the hand turns with it
    assert known[-1]
    assert {pickup.number for _, pickup in news} == {1}
    last = news[-1][1]
    assert last.end is End.RELEASED
    assert last.t_first == first.t_first
    assert last.notes == []
    assert last.latest is not None
    assert last.latest.estimate.prior_dominated == ()
    assert all(pickup.estimates == [] for _, pickup in news)  # nothing piles up
    assert last.latest.estimate.mass == pytest.approx(truth["mass"], rel=0.005)


def test_learning_bit_by_bit_is_learning(hammer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers as from all at once; and no bit is a large part of the whole."""
    recording = Recording.open(hammer.file)
    found: list[Any] = []
    stepwise = hand_module.fit_hand_stepwise

    def remember(samples: Any, gravity: Any, **options: Any) -> Any:
        at_once = hand_module.fit_hand(lambda delay: _whole(samples(delay)), gravity)
        found.append(at_once)
        hand = yield from stepwise(samples, gravity, **options)
        found.append(hand)
        return hand

    monkeypatch.setattr("heft.identify.payload.pickups.wrist_pickups.fit_hand_stepwise", remember)
    live = LivePayload(recording.streams, robot_of(recording))
    steps = 0
    for block in blocks_of(live, recording):
        live.take([block])
        steps += live._wrist is not None and live._wrist._learning is not None
        if live.hand is not None:
            break
    at_once, bit_by_bit = found
    assert live.hand is bit_by_bit
    assert steps > 30
    spread = np.sqrt(np.diag(at_once.covariance))
    assert np.all(np.abs(at_once.ten - bit_by_bit.ten) < 0.01 * spread)
    assert at_once.delay_s == pytest.approx(bit_by_bit.delay_s, abs=0.01 * at_once.delay_std_s)


def _whole(work: Any) -> Any:
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
