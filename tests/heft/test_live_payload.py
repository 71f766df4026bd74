"""What the payload service tells, and how often."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heft.daq.clock import ManualClock
from heft.identify.payload.pickups.pickup import End, Pickup
from heft.live_payload import PayloadService


class Link:
    """Keeps the events that the broker would get."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def hear(self, topic: str, take: Any) -> None:
        pass

    def state(self, topic: str, facts: Any) -> None:
        pass

    def event(self, topic: str, facts: dict[str, Any]) -> None:
        self.events.append(f"{facts['number']} {facts['event']}")


def _document(pickup: Pickup, hand: Any) -> dict[str, Any]:
    return {"number": pickup.number, "state": "carried" if pickup.end is None else str(pickup.end)}


@pytest.mark.parametrize("late_news", [0, 1, 3])
async def test_a_release_is_told_once_whatever_is_found_out_later(tmp_path: Path, late_news: int) -> None:
    link, told = Link(), list[str]()
    service = PayloadService(
        SimpleNamespace(hand=None, wanted=frozenset()),  # type: ignore[arg-type]
        SimpleNamespace(document=_document),  # type: ignore[arg-type]
        {},
        clock=ManualClock(),
        cell="cell",
        out=tmp_path,
        link=link,  # type: ignore[arg-type]
        tell=lambda facts: told.append(facts["state"]),
    )
    for number in (1, 2):
        pickup = Pickup(number, 1.0, "gripper.state", None)
        for _ in range(3):
            await service._update(pickup)
        pickup.end = End.RELEASED
        for _ in range(1 + late_news):
            await service._update(pickup)
    await service._end_recording(now=True)
    assert link.events == ["1 picked", "1 released", "2 picked", "2 released"]
    assert told.count("released") == 2
