"""Who comes first on a busy host: acquisition, because devices do not wait; then everything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["ahead_of_others", "behind_others"]

_NICE = 10


@contextmanager
def ahead_of_others() -> Iterator[None]:
    """Inside, this thread runs as soon as it has something to do (SCHED_RR), where this user may have that.

    Processes and threads that it starts are ordinary ones. It needs CAP_SYS_NICE, or a limit such as `rtprio 1` in
    limits.conf; without, nothing changes.
    """
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, lowest)
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.sched_setscheduler(0, before, parameters)


def behind_others(pid: int) -> None:
    """Let a process that thinks step aside for those that measure."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)
