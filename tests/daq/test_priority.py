"""Who comes first on a busy host, and that everything is afterwards as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
import zmq

from heft.daq.priority import ahead_of_others, bring_threads_along


def policy(thread: int = 0) -> int:
    """Of a thread of this process, without the flag that children do not inherit it."""
    return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK


@contextmanager
def another_thread() -> Iterator[int]:
    """Its number, while it waits."""
    end = Event()
    thread = Thread(target=end.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        yield thread.native_id
    finally:
        end.set()
        thread.join()


@pytest.fixture
def _permitted() -> None:
    with ahead_of_others():
        if policy() != os.SCHED_RR:
            pytest.skip("this user may not ask for real-time priority")


@pytest.mark.usefixtures("_permitted")
def test_threads_go_along_below_their_loop_and_come_back() -> None:
    before = policy()
    with another_thread() as thread:
        bring_threads_along()  # nobody goes ahead
        assert policy(thread) == before
        with ahead_of_others():
            assert policy() == os.SCHED_RR
            assert policy(thread) == before
            bring_threads_along()
            assert policy(thread) == os.SCHED_RR
            assert os.sched_getparam(thread).sched_priority <= os.sched_getparam(0).sched_priority
        assert policy() == policy(thread) == before


def test_without_permission_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    before = policy()
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with ahead_of_others(), another_thread() as thread:
        bring_threads_along()
        assert policy() == policy(thread) == before


@pytest.mark.usefixtures("_permitted")
def test_threads_of_libraries_are_left_alone() -> None:
    """One of ZeroMQ that is made another's equal while it starts ends the whole process."""

    def tasks() -> set[int]:
        return {int(one.name) for one in Path("/proc/self/task").iterdir()}

    before = tasks()
    with ahead_of_others(), zmq.Context() as context, context.socket(zmq.PUB):
        own = tasks() - before
        bring_threads_along()
        assert own
        assert {policy(thread) for thread in own} == {os.SCHED_OTHER}
