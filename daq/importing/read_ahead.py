"""Batches read by a thread while those before are written: parsing and unpacking let other threads run meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["read_ahead"]

DEPTH = 2  # batches that wait at most: memory for some megabytes
T = TypeVar("T")


def read_ahead(items: Generator[T], depth: int = DEPTH) -> Iterator[T]:
    """The same items in the same order; what the generator raises is raised at its place.

    The generator runs in one thread from its begin to its end, so it may hold what is bound to a thread.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
        waiting = deque(pool.submit(next, items, None) for _ in range(depth))
        try:
            while (item := waiting.popleft().result()) is not None:
                waiting.append(pool.submit(next, items, None))
                yield item
        finally:
            for one in waiting:
                one.cancel()
            pool.submit(items.close)
