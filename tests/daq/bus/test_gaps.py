"""Counting what did not arrive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heft.daq.bus.gaps import Gaps


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["got", "lost", "counts", "counts lost"]))))
def test_received_and_lost_add_up_to_published(history: list[tuple[str, str]]) -> None:
    gaps = Gaps()
    published = dict.fromkeys("abc", 0)
    received = dict.fromkeys("abc", 0)
    reported = dict.fromkeys("abc", 0)
    gaps.counted("s", published)
    for topic, what in history:
        if what.startswith("counts"):
            if what == "counts":
                gaps.counted("s", published)
            continue
        if what == "got":
            reported[topic] += gaps.arrived("s", topic, published[topic])
            received[topic] += 1
        published[topic] += 1
    gaps.counted("s", published)
    for topic in "abc":
        assert received[topic] + gaps.lost.get(topic, 0) == published[topic]
        assert reported[topic] <= gaps.lost.get(topic, 0)
        assert gaps.arrived("s", topic, published[topic]) == gaps.lost.get(topic, 0) - reported[topic]


def test_joining_late_and_a_new_session_are_no_loss() -> None:
    gaps = Gaps()
    assert gaps.arrived("first", "a", 1000) == 0
    assert gaps.arrived("first", "a", 1003) == 2
    assert gaps.arrived("second", "a", 5) == 0
    assert gaps.lost == {"a": 2}
