"""What a gripper's stream tells."""

from __future__ import annotations

import numpy as np

from heft.drivers.stream import Column, Stream
from heft.identify.payload.pickups.signals import GripperSignals, SignalKind

STREAM = Stream(
    "gripper.state",
    (Column("fingers", "opening", "m"), Column("fingers", "current", "A"), Column("object", "detected", "1")),
    100.0,
)


def signals(opening, detected):
    time = np.arange(len(opening)) / 100.0
    values = np.column_stack([opening, np.zeros(len(opening)), detected])
    return GripperSignals(STREAM).of(time, values)


def closing(to: float, count: int = 60) -> np.ndarray:
    return np.maximum(0.085 - 0.002 * np.arange(count), to)


def test_held_and_open() -> None:
    detected = np.array([0.0] * 20 + [1.0] * 20 + [0.0] * 20)
    found = signals(closing(0.05), detected)
    assert [(s.kind, s.time) for s in found] == [(SignalKind.HELD, 0.2), (SignalKind.OPEN, 0.4)]
    assert found[0].source == "gripper.state"


def test_fingers_that_meet_hold_nothing_and_say_so_once() -> None:
    found = signals(closing(0.0, 120), np.zeros(120))
    assert [s.kind for s in found] == [SignalKind.SHUT]
    assert found[0].time <= 0.45  # when they met


def test_fingers_on_their_way_say_nothing() -> None:
    assert signals(closing(0.0, 43), np.zeros(43)) == []


def test_an_invalid_state_says_nothing() -> None:
    detected = np.array([0.0, 0.0, np.nan, 0.0])
    assert signals(np.full(4, 0.085), detected) == []


def test_shut_again_after_opening() -> None:
    opening = np.concatenate([closing(0.0, 60), closing(0.0, 60)])
    assert [s.kind for s in signals(opening, np.zeros(120))] == [SignalKind.SHUT, SignalKind.SHUT]


def test_fingers_that_lose_what_they_hold_have_not_closed_on_nothing() -> None:
    lost = np.maximum(0.05 - 0.002 * np.arange(40), 0.0)
    opening = np.concatenate(
        [closing(0.05, 40), lost, closing(0.0, 60)]
    )  # then they open, and close on nothing
    detected = np.array([0.0] * 20 + [1.0] * 20 + [0.0] * 100)
    kinds = [s.kind for s in signals(opening, detected)]
    assert kinds == [SignalKind.HELD, SignalKind.OPEN, SignalKind.SHUT]
