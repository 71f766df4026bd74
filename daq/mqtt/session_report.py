"""A session as its cell's broker sees it: its state, retained, and every stream's health once a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from heft.daq.config.rig import RigConfig
from heft.daq.mqtt import topics
from heft.daq.session.sink import Sink

if TYPE_CHECKING:
    from heft.daq.mqtt.link import Link

__all__ = ["SessionReport"]

_HEALTH_NS = 1_000_000_000


class SessionReport(Sink):
    """Tells `heft/<cell>/session` and `heft/<cell>/health/<stream>`, inside `async with`.

    On a rig without a broker it tells nobody.
    """

    def __init__(self, rig: RigConfig, session: str) -> None:
        self._link: Link | None = None
        if rig.mqtt is not None:
            from heft.daq.mqtt.link import Link

            self._link = Link(rig.mqtt, rig.cell, "session", folder=rig.path.parent)
        self._cell, self._session = rig.cell, session
        self._told_ns: int | None = None

    async def __aenter__(self) -> Self:
        if self._link is not None:
            await self._link.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._link is not None:
            await self._link.__aexit__(*exc)

    def state(self, state: str, reason: str) -> None:
        if self._link is not None:
            facts = {"schema": "heft.session", "session": self._session, "state": state, "reason": reason}
            self._link.state(topics.session(self._cell), facts)

    def progress(self, snapshot: dict[str, Any]) -> None:
        now_ns = snapshot["t_ns"]
        due = self._told_ns is None or now_ns - self._told_ns >= _HEALTH_NS
        if self._link is None or not due:
            return
        self._told_ns = now_ns
        for stream, facts in snapshot["streams"].items():
            self._link.state(topics.health(self._cell, stream), {"schema": "heft.health", **facts})
