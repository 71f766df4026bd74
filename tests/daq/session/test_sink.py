"""Sinks: each gets its turn, whatever becomes of the others."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from heft.daq.errors import RecordError
from heft.daq.session.sink import Sink, Sinks


class Listener(Sink):
    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, name: str, t_ns: int, facts: Any) -> None:
        self.events.append(name)


class Failing(Listener):
    def event(self, name: str, t_ns: int, facts: Any) -> None:
        super().event(name, t_ns, facts)
        raise RecordError("the disk is full")


class Required(Failing):
    required = True


def test_one_that_fails_is_left_out_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    blamed: list[Exception] = []
    failing, last = Failing(), Listener()
    sinks = Sinks([failing], blamed.append)
    sinks.add(last)
    with caplog.at_level(logging.ERROR, "heft.session"):
        sinks.event("one", 1, {})
        sinks.event("two", 2, {})
    assert (failing.events, last.events) == (["one"], ["one", "two"])
    assert blamed == []
    assert "Failing failed and is left out" in caplog.text
    assert "the disk is full" in caplog.text


def test_the_failure_of_a_required_one_is_told_each_time_and_the_next_has_its_turn() -> None:
    blamed: list[Exception] = []
    required, last = Required(), Listener()
    sinks = Sinks([required, last], blamed.append)
    sinks.event("one", 1, {})
    sinks.event("two", 2, {})
    assert required.events == last.events == ["one", "two"]
    assert [str(exc) for exc in blamed] == ["the disk is full"] * 2
