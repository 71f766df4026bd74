"""The life of a pick-up, on made-up wrenches of a hand that stands still and turns."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.bodies.wrench import wrench_terms
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.wrist_sensor import WristSensor
from heft.identify.payload.kinematics.alignment import Samples
from heft.identify.payload.kinematics.wrist_motion import WristMotion
from heft.identify.payload.pickups.pickup import End
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.signals import Signal, SignalKind
from heft.identify.payload.scales.wrist_scale import WristScale

GRAVITY = np.array([0.0, 0.0, -9.81])
HAND = np.array([0.8, 0.0, 0.0, 0.04, 0.003, 0.0, 0.003, 0.0, 0.0, 0.001])
LOAD = np.array([1.0, 0.02, 0.0, 0.12, 0.016, 0.0, 0.016, 0.0, -0.001, 0.002])


def standing(
    seconds: float, loads: list[tuple[float, float, np.ndarray]], rate_hz: float = 1000.0
) -> Samples:
    """A hand at rest; `loads` are carried from one time to another [s]."""
    t = np.arange(round(rate_hz * seconds)) / rate_hz
    zero = np.zeros((len(t), 3))
    rotation = np.broadcast_to(np.eye(3), (len(t), 3, 3))
    rows = wrench_terms(rotation).regressor(GRAVITY)
    wrench = rows @ HAND + np.array([1.0, -2.0, 0.5, 0.1, 0.0, -0.05])
    for start, end, ten in loads:
        held = (t >= start) & (t < end)
        wrench[held] += rows[held] @ ten
    rng = np.random.default_rng(0)
    wrench += np.array([0.05] * 3 + [0.002] * 3) * rng.standard_normal(wrench.shape)
    none = np.zeros((len(t), 7))
    return Samples(t, wrench, WristMotion(rotation, zero, zero, zero), none, none, none)


def follower(rate_hz: float = 1000.0) -> PickupFollower:
    hand = Hand(HAND, 1e-10 * np.eye(10), 0.003, 1e-4, WristSensor(delay_std=1e-4))
    return PickupFollower(WristScale(hand, GRAVITY, rate_hz=rate_hz))


def follow(samples: Samples, *signals: tuple[float, SignalKind], rate_hz: float = 1000.0) -> list:
    one = follower(rate_hz)
    for time, kind in signals:
        one.signal(Signal(time, kind, "gripper.state"))
    one.take(samples)
    return one.finish()


HELD, OPEN, SHUT = SignalKind.HELD, SignalKind.OPEN, SignalKind.SHUT


def test_held_and_released() -> None:
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD)]), (1.005, HELD), (2.005, OPEN))
    assert pickup.end is End.RELEASED
    assert pickup.t_pick == pytest.approx(1.0, abs=0.03)
    assert pickup.t_first < 1.1
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("rate_hz", [100.0, 250.0, 500.0, 4000.0, 7000.0])
def test_sensors_of_any_rate(rate_hz: float) -> None:
    """What is judged and averaged is so many milliseconds, not so many samples."""
    moved = LOAD.copy()
    moved[1] += 0.03
    loads = [(1.0, 2.0, LOAD), (3.0, 4.0, LOAD), (5.0, 6.0, LOAD), (6.0, 6.5, moved)]
    signals = ((1.005, HELD), (2.01, OPEN), (3.005, HELD), (4.5, OPEN), (5.005, HELD), (6.5, OPEN))
    released, dropped, slipped = follow(standing(7.0, loads, rate_hz), *signals, rate_hz=rate_hz)
    assert [p.end for p in (released, dropped, slipped)] == [End.RELEASED, End.DROPPED, End.SLIPPED]
    for pickup in (released, dropped, slipped):
        assert pickup.t_first - pickup.t_signal < 0.1
        assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)
        assert pickup.latest.estimate.std.mass < 0.01


def test_a_gripper_that_tells_late() -> None:
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD)]), (1.2, HELD), (2.0, OPEN))
    assert pickup.t_pick == pytest.approx(1.0, abs=0.03)
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_one_that_is_told_when_its_weight_has_been_taken_for_a_bias() -> None:
    """By a broker that was away for a while. What comes next is weighed as ever."""
    samples, one = standing(8.0, [(1.0, 4.0, LOAD), (6.0, 7.0, LOAD)]), follower()
    one.take(samples.between(0.0, 2.5))
    for time, kind in ((1.0, HELD), (4.0, OPEN), (6.0, HELD), (7.0, OPEN)):
        one.signal(Signal(time, kind, "mqtt"))
    one.take(samples.between(2.5, 8.0))
    late, punctual = one.finish()
    assert late.end is End.NOTHING
    assert late.latest is None
    assert "told so late" in late.notes[0]
    assert punctual.end is End.RELEASED
    assert punctual.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_an_object_that_leaves_the_table_later() -> None:
    (pickup,) = follow(standing(4.0, [(2.0, 3.0, LOAD)]), (1.0, HELD), (3.0, OPEN))
    assert pickup.t_pick == pytest.approx(2.0, abs=0.03)
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_an_object_that_is_lifted_slowly() -> None:
    """The table gives its weight to the hand bit by bit."""
    steps = [(1.0 + 0.02 * k, 1.0 + 0.02 * (k + 1), LOAD * k / 10) for k in range(1, 10)]
    (pickup,) = follow(standing(3.0, [*steps, (1.2, 2.0, LOAD)]), (1.0, HELD), (2.0, OPEN))
    assert pickup.end is End.RELEASED
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.02)


def test_dropped() -> None:
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD)]), (1.0, HELD), (2.5, OPEN))
    assert pickup.end is End.DROPPED
    assert pickup.t_end == pytest.approx(2.0, abs=0.03)
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(("late", "end"), [(0.05, End.RELEASED), (0.2, End.DROPPED)])
def test_a_gripper_that_tells_seldom_has_let_go_all_the_same(late: float, end: End) -> None:
    """At 20 Hz the weight may be gone for 50 ms before it says so."""
    one = follower()
    for time, kind in ((1.0, HELD), (2.0 + late, OPEN)):
        one.signal(Signal(time, kind, "gripper.state", within_s=0.05))
    one.take(standing(3.0, [(1.0, 2.0, LOAD)]))
    (pickup,) = one.finish()
    assert pickup.end is end
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_slipped() -> None:
    moved = LOAD.copy()
    moved[1] += 0.03
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD), (2.0, 2.6, moved)]), (1.0, HELD), (2.6, OPEN))
    assert pickup.end is End.SLIPPED
    assert pickup.t_end == pytest.approx(2.0, abs=0.03)


def test_the_same_event_twice_is_one_pickup() -> None:
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD)]), (1.0, HELD), (1.3, HELD), (2.0, OPEN))
    assert pickup.repeated == 1
    assert pickup.end is End.RELEASED


def test_two_pickups_are_two() -> None:
    loads = [(1.0, 2.0, LOAD), (3.0, 4.0, 0.5 * LOAD)]
    first, second = follow(standing(5.0, loads), (1.0, HELD), (2.0, OPEN), (3.0, HELD), (4.0, OPEN))
    assert (first.number, second.number) == (1, 2)
    assert first.latest.estimate.mass == pytest.approx(1.0, rel=0.01)
    assert second.latest.estimate.mass == pytest.approx(0.5, rel=0.01)


def test_a_gripper_that_flickers_has_not_let_go() -> None:
    signals = ((1.0, HELD), (1.5, OPEN), (1.52, HELD), (2.0, OPEN))
    (pickup,) = follow(standing(3.0, [(1.0, 2.0, LOAD)]), *signals)
    assert pickup.end is End.RELEASED
    assert pickup.t_end == pytest.approx(2.0)
    assert len(pickup.notes) == 1


@pytest.mark.parametrize("after", [0.06, 0.12, 0.2, 0.3])
def test_dropped_as_soon_as_it_was_lifted(after: float) -> None:
    """What was weighed is what was there, however short."""
    (pickup,) = follow(standing(3.0, [(1.0, 1.0 + after, LOAD)]), (1.0, HELD), (2.5, OPEN))
    assert pickup.end is End.DROPPED
    assert pickup.t_end == pytest.approx(1.0 + after, abs=0.03)
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.05)


def test_weight_that_is_lost_bit_by_bit() -> None:
    """Half of it runs out within two seconds: told, and weighed as it was before."""
    parts = [(2.0 + 0.02 * k, 2.02 + 0.02 * k, LOAD * (1 - k / 200)) for k in range(100)]
    loads = [(1.0, 2.0, LOAD), *parts, (4.0, 5.0, 0.5 * LOAD)]
    (pickup,) = follow(standing(6.0, loads), (1.0, HELD), (5.0, OPEN))
    assert pickup.end is End.SLIPPED
    assert 2.5 < pickup.t_end < 4.0
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.03)
    assert any("bit by bit" in note for note in pickup.notes)


def test_a_bias_that_went_while_something_was_held() -> None:
    """By more than counts as a weight: the empty hand shows it, and later pick-ups are weighed from there."""
    samples = standing(8.0, [(1.0, 4.0, LOAD), (6.0, 7.0, 0.3 * LOAD)])
    drift = 0.2 * np.clip(samples.time - 1.0, 0.0, 3.0)
    samples.shown[:, :2] += drift[:, None]
    first, second = follow(samples, (1.0, HELD), (4.0, OPEN), (6.0, HELD), (7.0, OPEN))
    assert (first.end, second.end) == (End.RELEASED, End.RELEASED)
    assert second.t_pick == pytest.approx(6.0, abs=0.03)
    assert second.latest.estimate.mass == pytest.approx(0.3, rel=0.01)


def test_a_pickup_after_a_drop_and_a_bias_that_went() -> None:
    samples = standing(6.0, [(1.0, 2.0, LOAD), (4.0, 5.0, LOAD)])
    samples.shown[samples.time > 1.5, 0] += 0.5
    first, second = follow(samples, (1.0, HELD), (2.5, OPEN), (4.0, HELD), (5.0, OPEN))
    assert (first.end, second.end) == (End.DROPPED, End.RELEASED)
    assert second.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_a_load_that_swings_is_told() -> None:
    """Too little to be a slip, too much to be noise."""
    samples = standing(4.0, [(1.0, 3.0, LOAD)])
    quiet = follow(samples, (1.0, HELD), (3.0, OPEN))[0].latest.estimate
    held = (samples.time >= 1.0) & (samples.time < 3.0)
    samples.shown[held, :3] += 0.25 * np.sin(2 * np.pi * 2.0 * samples.time[held, None])
    swings = follow(samples, (1.0, HELD), (3.0, OPEN))[0].latest.estimate
    assert quiet.warnings == ()
    assert "no rigid load explains it" in swings.warnings[0]


def test_no_weight_is_nothing() -> None:
    (pickup,) = follow(standing(3.0, []), (1.0, HELD), (2.0, OPEN))
    assert pickup.end is End.NOTHING
    assert pickup.latest is None


def test_shut_on_nothing() -> None:
    (pickup,) = follow(standing(2.0, []), (1.0, SHUT))
    assert pickup.end is End.NOTHING


def test_the_data_end_while_it_is_held() -> None:
    (pickup,) = follow(standing(2.0, [(1.0, 2.0, LOAD)]), (1.0, HELD))
    assert pickup.end is End.UNFINISHED
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.01)


def test_blocks_of_any_length_give_the_same() -> None:
    samples = standing(3.0, [(1.0, 2.0, LOAD)])
    whole = follow(samples, (1.0, HELD), (2.0, OPEN))[0].latest.estimate.mass
    one = follower()
    one.signal(Signal(1.0, HELD, "gripper.state"))
    one.signal(Signal(2.0, OPEN, "gripper.state"))
    for start in range(0, len(samples), 37):
        one.take(samples.part(slice(start, start + 37)))
    assert one.finish()[0].latest.estimate.mass == whole


@pytest.mark.parametrize("piece", [20, 60, 110, 250, 500, 3000])
def test_an_end_is_told_once_however_the_samples_come(piece: int) -> None:
    """An estimate and the release in one batch are one piece of news: told twice, it would be two releases."""
    samples, one, told = standing(3.0, [(1.0, 2.0, LOAD)]), follower(), []
    for time, kind in ((1.005, HELD), (2.005, OPEN)):
        one.signal(Signal(time, kind, "gripper.state"))
    for start in range(0, len(samples), piece):
        told += [pickup.end for pickup in one.take(samples.part(slice(start, start + piece)))]
    assert told.count(End.RELEASED) == 1
