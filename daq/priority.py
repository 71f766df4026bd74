"""Who comes first on a busy host: acquisition, because devices do not wait; emulated devices; then everything else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["ahead_of_others", "as_a_device", "behind_others", "bring_threads_along"]

_NICE = 10


@contextmanager
def ahead_of_others() -> Iterator[None]:
    """Inside, this thread runs as soon as it has something to do (SCHED_RR), where this user may have that.

    Processes and threads that it starts are ordinary ones. It needs CAP_SYS_NICE, or a limit such as `rtprio 2` in
    limits.conf (with `rtprio 1` emulated devices are its equals); without, nothing changes.
    """
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    lowest = os.sched_get_priority_min(os.SCHED_RR)
    if not _round_robin(lowest + 1):
        _round_robin(lowest)
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.sched_setscheduler(0, before, parameters)
            for thread in _other_threads():
                with suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, before, parameters)


def bring_threads_along() -> None:
    """Let the other Python threads of this process come before strangers too, where the calling one does.

    They share the interpreter with it: one that holds it and is put aside for another program makes acquisition wait.
    Threads of libraries never hold it, and are left alone: one of ZeroMQ that is just starting sets its own scheduling
    again, and ends the whole process where that has become another one meanwhile.
    """
    if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_RR:
        return
    lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
    for one in threading.enumerate():
        if one.native_id is not None and one.native_id != threading.get_native_id():
            with suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(one.native_id, os.SCHED_RR | os.SCHED_RESET_ON_FORK, lowest)


def _other_threads() -> list[int]:
    """Threads of this process but the calling one."""
    return [
        int(one.name)
        for one in Path("/proc/self/task").iterdir()
        if int(one.name) != threading.get_native_id()
    ]


def as_a_device() -> None:
    """From now on this process comes before all but acquisition: it stands for a device, which waits for nobody."""
    _round_robin(os.sched_get_priority_min(os.SCHED_RR))


def behind_others(pid: int) -> None:
    """Let a process that thinks step aside for those that measure."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)


def _round_robin(priority: int) -> bool:
    """Whether this thread may have that."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except PermissionError:
        return False
    return True
