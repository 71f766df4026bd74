"""Which running session a command of another terminal means."""

from __future__ import annotations

from collections.abc import Sequence

from heft.daq.bus.runtime import RunningSession
from heft.daq.errors import ConfigError

__all__ = ["choose", "label"]


def choose(sessions: Sequence[RunningSession], name: str | None) -> RunningSession:
    """The one that is meant; ConfigError with a list where that is not clear."""
    meant = [s for s in sessions if name is None or name in (s.name, str(s.pid))]
    if len(meant) == 1:
        return meant[0]
    there = "".join(f"\n  {label(s)}" for s in (meant or sessions))
    if not meant:
        raise ConfigError(f"{name}: no session of this name is running; there are{there}")
    raise ConfigError(f"{len(meant)} sessions are running; give the name or the process id of one{there}")


def label(session: RunningSession) -> str:
    """How it is called in messages."""
    return f"{session.name} (process {session.pid})"
