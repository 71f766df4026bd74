"""Faults of a line on command: what becomes of the items that pass it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.faults import FaultInjector, Faults

MS = 1_000_000


def exchange(faults: Faults, count: int = 1000, seed: int = 1) -> list[bytes]:
    """What arrives of `count` numbered items."""
    injector: FaultInjector[bytes] = FaultInjector(seed)
    injector.faults = faults
    return [delivery.item for n in range(count) for delivery in injector.pass_on(b"%08d" % n, n * MS)]


def test_no_faults_no_changes() -> None:
    assert exchange(Faults()) == [b"%08d" % n for n in range(1000)]


def test_drop() -> None:
    got = exchange(Faults(drop=0.1))
    assert 850 < len(got) < 950
    assert got == sorted(got)


def test_corrupt_flips_one_bit() -> None:
    got = exchange(Faults(corrupt=0.2))
    flips = [(int.from_bytes(data) ^ int.from_bytes(b"%08d" % n)).bit_count() for n, data in enumerate(got)]
    assert len(got) == 1000
    assert set(flips) == {0, 1}
    assert 150 < sum(flips) < 250


def test_truncate() -> None:
    got = exchange(Faults(truncate=1.0))
    assert all(len(data) < 8 and (b"%08d" % n).startswith(data) for n, data in enumerate(got))
    assert {len(data) for data in got} == set(range(8))


def test_duplicate() -> None:
    assert exchange(Faults(duplicate=1.0), 3) == [b"%08d" % (n // 2) for n in range(6)]


def test_silence_and_back() -> None:
    injector: FaultInjector[bytes] = FaultInjector()
    injector.faults = Faults(silence=True)
    assert not injector.pass_on(b"unheard", 0)
    injector.faults = Faults()
    assert [delivery.item for delivery in injector.pass_on(b"heard", 0)] == [b"heard"]


def test_nothing_overtakes_a_delayed_item() -> None:
    injector: FaultInjector[bytes] = FaultInjector()
    injector.faults = Faults(delay_s=0.010)
    (late,) = injector.pass_on(b"late", 5 * MS)
    injector.faults = Faults()
    (behind,) = injector.pass_on(b"behind it", 6 * MS)
    assert (late.due_ns, behind.due_ns) == (15 * MS, 15 * MS)


def test_equal_seeds_give_equal_faults() -> None:
    faults = Faults(drop=0.1, corrupt=0.1, truncate=0.1, duplicate=0.1)
    first, again, other = [exchange(faults, seed=seed) for seed in (3, 3, 4)]
    assert first == again
    assert first != other


PROBABILITY = st.floats(0, 1)
FAULTS = st.builds(
    Faults,
    drop=PROBABILITY,
    corrupt=PROBABILITY,
    truncate=PROBABILITY,
    duplicate=PROBABILITY,
    delay_s=st.floats(0, 1),
)
FRAMES = st.builds(lambda data: CanFrame(1, data), st.binary(max_size=8))
FD_FRAMES = st.builds(lambda n: CanFrame(1, bytes(n), fd=True), st.sampled_from([0, 8, 12, 48, 64]))


@given(FAULTS, st.lists(st.binary(max_size=100) | FRAMES | FD_FRAMES, max_size=20), st.integers(0, 1000))
def test_whatever_goes_wrong_items_stay_possible_and_in_order(
    faults: Faults, items: list[Any], seed: int
) -> None:
    injector: FaultInjector[Any] = FaultInjector(seed)
    injector.faults = faults
    deliveries = [delivery for n, item in enumerate(items) for delivery in injector.pass_on(item, n * MS)]
    due = [delivery.due_ns for delivery in deliveries]
    assert due == sorted(due)
    assert len(deliveries) <= 2 * len(items)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"drop": 1.5}, "drop is 1.5, a probability is from 0 to 1"),
        ({"delay_s": -1.0}, "delay_s is -1.0 s, must not"),
    ],
)
def test_faults_that_cannot_be(arguments: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Faults(**arguments)  # type: ignore[arg-type]
