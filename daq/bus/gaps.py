"""What a subscriber has missed, by counting. Pure."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Gaps"]


class Gaps:
    """Messages lost per topic of one publisher's session.

    What was published before a topic was first heard of is not lost: nobody had asked for it. When the
    session changes, another publisher has begun to count from 0; what was lost at the end of the one before
    is not known.
    """

    def __init__(self) -> None:
        self.lost: dict[str, int] = {}
        self._session: str | None = None
        self._next: dict[str, int] = {}
        self._unreported: dict[str, int] = {}

    def arrived(self, session: str, topic: str, sequence: int) -> int:
        """Account for a message; how many of its topic were lost since the last one that arrived."""
        self._enter(session)
        self._missed(topic, sequence)
        self._next[topic] = sequence + 1
        return self._unreported.pop(topic, 0)

    def counted(self, session: str, counts: Mapping[str, int]) -> None:
        """Account for the publisher's word: so many messages of each topic have left before this moment.

        This finds the losses that no later message would show: of a rare topic, or at the end.
        """
        self._enter(session)
        for topic, count in counts.items():
            self._missed(topic, count)
            self._next[topic] = count

    def _enter(self, session: str) -> None:
        if session != self._session:
            self._session = session
            self._next.clear()

    def _missed(self, topic: str, sequence: int) -> None:
        missed = sequence - self._next.get(topic, sequence)
        if missed > 0:
            self.lost[topic] = self.lost.get(topic, 0) + missed
            self._unreported[topic] = self._unreported.get(topic, 0) + missed
