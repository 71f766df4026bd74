"""Several searches at once, each in a process of its own; the best that is proved wins."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from heft.identify.errors import HeftError, ProblemError, SolverError
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.search import Candidate, prove, search

__all__ = ["best_candidate"]

GRACE_S = 30.0  # after the budget: what a search needs to prove what it has
QUIET_S = 0.2
SEARCH = 0.9  # of the budget; the rest is for the proof


def best_candidate(request: DesignRequest, tell: Callable[[Candidate], None]) -> Candidate:
    """The proved candidate with the smallest criterion; of equals that of the earlier start.

    Ctrl-C ends the search: then the best that is proved so far counts, else the best so far, which is proved now;
    KeyboardInterrupt where there is none.
    `ProblemError` with the reason of the first start where no start has led to a motion.
    """
    workers = min(request.starts, os.cpu_count() or 1)
    until = time.monotonic() + SEARCH * request.budget_s
    if workers == 1:
        return _alone(request, tell, until)
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    numbers = [list(range(first, request.starts, workers)) for first in range(workers)]
    processes = [
        context.Process(target=_work, args=(request, own, answers, SEARCH * request.budget_s), daemon=True)
        for own in numbers
    ]
    for process in processes:
        process.start()
    found: dict[int, Candidate] = {}
    failed: dict[int, str] = {}
    begun: dict[int, Candidate] = {}
    try:
        while len(found) + len(failed) < request.starts and time.monotonic() < until + GRACE_S:
            try:
                number, answer = answers.get(timeout=QUIET_S)
            except queue.Empty:
                if not any(process.is_alive() for process in processes) and answers.empty():
                    break
                continue
            if isinstance(answer, str):
                failed[number] = answer
            elif answer.finished:
                found[number] = answer
                tell(answer)
            else:
                begun[number] = answer
                tell(answer)
    except KeyboardInterrupt:
        if not _keep_best(request, found, begun):
            raise
    finally:
        for process in processes:
            process.terminate()
            process.join()
    _keep_best(request, found, begun)  # a busy host may have had no time to prove anything
    return _best(found, failed)


def _best(found: dict[int, Candidate], failed: dict[int, str]) -> Candidate:
    proved = [candidate for _, candidate in sorted(found.items()) if candidate.proved]
    if proved:
        return min(proved, key=lambda candidate: candidate.value)
    if failed:
        raise ProblemError(failed[min(failed)])
    raise SolverError(
        "no motion that keeps every bound was found in time; give it more (--budget), or more --seconds to move in"
    )


def _alone(request: DesignRequest, tell: Callable[[Candidate], None], until: float) -> Candidate:
    found: dict[int, Candidate] = {}
    failed: dict[int, str] = {}
    begun: dict[int, Candidate] = {}

    def note(candidate: Candidate) -> None:
        begun[candidate.start] = candidate
        tell(candidate)

    try:
        for number in range(request.starts):
            if found and time.monotonic() >= until:
                break
            try:
                found[number] = search(request, number, note, until)
                tell(found[number])
            except HeftError as exc:
                failed[number] = str(exc)
    except KeyboardInterrupt:
        if not _keep_best(request, found, begun):
            raise
    return _best(found, failed)


def _keep_best(request: DesignRequest, found: dict[int, Candidate], begun: dict[int, Candidate]) -> bool:
    """Whether there is a proved motion; where there is none yet, the best so far is proved, in this process."""
    if not any(candidate.proved for candidate in found.values()) and begun:
        best = prove(request, min(begun.values(), key=lambda candidate: candidate.value))
        found[best.start] = best
    return any(candidate.proved for candidate in found.values())


def _work(request: DesignRequest, numbers: list[int], answers: Any, budget_s: float) -> None:
    """In a process of its own: search from each start, and answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it says when it ends
    until = time.monotonic() + budget_s
    for number in numbers:
        if number != numbers[0] and time.monotonic() >= until:
            answers.put((number, Candidate(number, np.zeros((0, 0)), np.inf, False, 0, True)))
            continue
        try:
            answers.put((number, search(request, number, lambda one: answers.put((one.start, one)), until)))
        except HeftError as exc:
            answers.put((number, str(exc)))
