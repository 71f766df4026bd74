"""Which events are believed."""

from __future__ import annotations

import json

import pytest

from heft.daq.mqtt.inbox import Inbox, IncomingEvent

TOPIC = "heft/cell/event/gripper"


def said(**facts: object) -> bytes:
    return json.dumps({"event_id": "a", "ts": 100.0, "event": "picked", **facts}).encode()


def judge(
    inbox: Inbox, payload: bytes, *, retained: bool = False, utc_s: float = 101.0
) -> IncomingEvent | str:
    return inbox.judge(TOPIC, payload, retained=retained, utc_s=utc_s)


def test_a_fresh_event_is_believed_once() -> None:
    inbox = Inbox(30.0)
    event = judge(inbox, said())
    assert isinstance(event, IncomingEvent)
    assert event.facts["event"] == "picked"
    assert judge(inbox, said()) == "repeated"
    assert isinstance(judge(inbox, said(event_id="b")), IncomingEvent)


@pytest.mark.parametrize(
    ("payload", "options", "reason"),
    [
        (said(), {"retained": True}, "retained"),
        (said(), {"utc_s": 131.0}, "old"),
        (said(), {"utc_s": 90.0}, "early"),
        (b"picked", {}, "malformed"),
        (b"[1, 2]", {}, "malformed"),
        (json.dumps({"ts": 100.0}).encode(), {}, "malformed"),
        (said(ts="yesterday"), {}, "malformed"),
        (said(ts="1970-01-01T00:01:40"), {}, "malformed"),
        (said(ts=True), {}, "malformed"),
    ],
)
def test_others_are_refused_and_counted(payload: bytes, options: dict, reason: str) -> None:
    inbox = Inbox(30.0)
    assert judge(inbox, payload, **options) == reason
    assert inbox.refused == {reason: 1}


def test_a_refused_event_may_come_again() -> None:
    inbox = Inbox(30.0)
    assert judge(inbox, said(), retained=True) == "retained"
    assert isinstance(judge(inbox, said()), IncomingEvent)


def test_a_time_with_a_zone() -> None:
    event = judge(Inbox(30.0), said(ts="1970-01-01T01:01:40+01:00"))
    assert isinstance(event, IncomingEvent)
    assert event.ts == pytest.approx(100.0)
