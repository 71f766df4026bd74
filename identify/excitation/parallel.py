"""Several starts at once, in processes of their own: all are explored, the best of them polished; of those that are
proved the best one wins."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from heft.identify.errors import HeftError, ProblemError
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.search import Candidate, Progress, explore, polish, repeated

__all__ = ["best_candidate"]

GRACE_S = 10.0  # after the budget: what a search needs to prove what it has
QUIET_S = 0.2
SEARCH, EXPLORE = 0.9, 0.5  # of the budget: until when is searched, and until when new starts are explored
POLISHED = 3  # of so many explored motions one is polished, and at least LEAST_POLISHED
LEAST_POLISHED = 2
SHOWN = 0.01  # violation of motions on the way that are worth telling

#: The number of a start to be explored, or an explored motion to be polished.
Task = int | Candidate


class _Searches(Protocol):
    """Where tasks are done: here, or in processes."""

    def __call__(
        self, tasks: list[Task], until: float, tell: Progress
    ) -> Iterator[tuple[int, Candidate | str]]:
        """Each start's number with what came of it, or what was wrong; `tell` gets motions on the way."""


def best_candidate(request: DesignRequest, tell: Callable[[Candidate], None]) -> Candidate:
    """The proved candidate with the smallest criterion; of equals that of the earlier start.

    Which starts there are depends on the seed alone, and what comes of each, too, as long as the budget does not end
    it. Ctrl-C ends the search: then the best that is proved so far counts, else the best so far, which is proved now;
    KeyboardInterrupt where there is none.
    `ProblemError` with the reason of the first start where no start has led to a motion.

    Motions of earlier sessions are improved, too, and count as they are: what is made is no worse than repeating one.
    """
    begin = time.monotonic()
    explored: dict[int, Candidate] = {}
    polished: dict[int, Candidate] = {}
    failed: dict[int, str] = {}

    def note(candidate: Candidate) -> None:
        (polished if candidate.finished else explored)[candidate.start] = candidate
        if candidate.extra < SHOWN:
            tell(candidate)

    def gather(found: Iterator[tuple[int, Candidate | str]]) -> None:
        for number, answer in found:
            if isinstance(answer, str):
                failed[number] = answer
            else:
                note(answer)

    again = repeated(request)
    for number, candidate in enumerate(again, start=request.starts + len(again)):
        note(candidate)
        kept = polish(request, candidate, lambda _: None, begin)
        polished[number] = replace(kept, start=number)
    with _searches(request) as search:
        try:
            gather(search(list(range(request.starts)), begin + EXPLORE * request.budget_s, note))
            ranked = sorted(explored.values(), key=lambda one: (one.merit, one.start))
            count = max(LEAST_POLISHED, len(ranked) // POLISHED)
            best = [one for place, one in enumerate(ranked) if place < count or one.start >= request.starts]
            gather(search([*best], begin + SEARCH * request.budget_s, note))
        except KeyboardInterrupt:
            if not explored:
                raise
    if explored and not any(candidate.proved for candidate in polished.values()):
        # interrupted, or a host that was too busy
        for candidate in sorted(explored.values(), key=lambda one: (one.merit, one.start)):
            made = polish(request, candidate, lambda _: None, time.monotonic())
            polished[made.start] = made
            if made.proved:
                break
    return _best(polished, failed)


def _best(found: dict[int, Candidate], failed: dict[int, str]) -> Candidate:
    proved = [candidate for _, candidate in sorted(found.items()) if candidate.proved]
    if proved:
        return min(proved, key=lambda candidate: candidate.value)
    if failed:
        raise ProblemError(failed[min(failed)])
    left = next((f": {one.left} is left by the best of them" for one in found.values() if one.left), "")
    raise ProblemError(
        f"no motion that keeps every bound was found in time{left}; give it more (--budget), or more --seconds to move "
        "in, or widen what stands in the way"
    )


@contextmanager
def _searches(request: DesignRequest) -> Iterator[_Searches]:
    workers = min(request.starts, os.cpu_count() or 1)
    if workers == 1:
        yield _Here(request)
        return
    still = np.zeros((1, len(request.limits.axes)))
    request.rows_of(
        (still, still, still)
    )  # after an installation the regressor is compiled once, not in each of them
    processes = _Processes(request, workers)
    try:
        yield processes
    finally:
        processes.end()


class _Here:
    """One task after the other, in this process."""

    def __init__(self, request: DesignRequest) -> None:
        self._request = request

    def __call__(
        self, tasks: list[Task], until: float, tell: Progress
    ) -> Iterator[tuple[int, Candidate | str]]:
        for place, task in enumerate(tasks):
            if place and time.monotonic() >= until:
                return
            yield _number(task), _done(self._request, task, tell, until)


class _Processes:
    """As many tasks at a time as there are processes."""

    def __init__(self, request: DesignRequest, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._tasks: Any = context.Queue()
        self._answers: Any = context.Queue()
        # Its robot is made anew there: arrays that were sent can be written to, and would need other compiled code.
        plain = replace(request)
        self._processes = [
            context.Process(target=_work, args=(plain, self._tasks, self._answers), daemon=True)
            for _ in range(count)
        ]
        for process in self._processes:
            process.start()

    def __call__(
        self, tasks: list[Task], until: float, tell: Progress
    ) -> Iterator[tuple[int, Candidate | str]]:
        for place, task in enumerate(tasks):
            self._tasks.put((task, until, place < len(self._processes)))
        undone = {_key(task) for task in tasks}
        count = len(undone)
        # a host so busy that nothing has come of its processes is waited for
        while undone and (len(undone) == count or time.monotonic() < until + GRACE_S):
            try:
                key, answer, last = self._answers.get(timeout=QUIET_S)
            except queue.Empty:
                if not any(process.is_alive() for process in self._processes) and self._answers.empty():
                    return
                continue
            if last:
                undone.discard(key)
            if last and answer is not None:
                yield key[1], answer
            elif answer is not None:
                tell(answer)

    def end(self) -> None:
        """End what still runs."""
        for process in self._processes:
            process.terminate()
            process.join()


def _number(task: Task) -> int:
    return task if isinstance(task, int) else task.start


def _key(task: Task) -> tuple[bool, int]:
    """Whether it is to be polished, and its start."""
    return isinstance(task, Candidate), _number(task)


def _done(request: DesignRequest, task: Task, tell: Progress, until: float) -> Candidate | str:
    """What came of a task."""
    try:
        return explore(request, task, until) if isinstance(task, int) else polish(request, task, tell, until)
    except HeftError as exc:
        return str(exc)


def _work(request: DesignRequest, tasks: Any, answers: Any) -> None:
    """In a process of its own: task after task; one that may be left out is not begun after its time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it says when it ends
    while True:
        task, until, wanted = tasks.get()
        if not wanted and time.monotonic() >= until:
            answers.put((_key(task), None, True))
            continue

        def tell(candidate: Candidate, task: Task = task) -> None:
            answers.put((_key(task), candidate, False))

        answers.put((_key(task), _done(request, task, tell, until), True))
