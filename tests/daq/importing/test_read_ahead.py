"""Items read by a thread: the same, in order, with what is raised at its place, and nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from heft.daq.importing.read_ahead import read_ahead


def test_items_come_in_order_and_all_of_them_from_one_thread() -> None:
    threads = set()

    def items() -> Generator[int]:
        for k in range(1, 50):
            threads.add(threading.get_ident())
            yield k

    assert list(read_ahead(items())) == list(range(1, 50))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_an_error_is_raised_behind_the_items_before_it() -> None:
    def items() -> Generator[int]:
        yield 1
        yield 2
        raise ValueError("cut off")

    ahead = read_ahead(items())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="cut off"):
        next(ahead)


def test_who_stops_early_closes_the_generator_and_leaves_no_thread() -> None:
    closed = []

    def items() -> Generator[int]:
        try:
            yield from range(1, 1000)
        finally:
            closed.append(True)

    ahead = read_ahead(items())
    assert next(ahead) == 1
    ahead.close()  # type: ignore[attr-defined]
    assert closed == [True]
    assert not [one for one in threading.enumerate() if one.name.startswith("read-ahead")]


def test_an_empty_one_is_empty() -> None:
    def items() -> Generator[int]:
        yield from ()

    assert list(read_ahead(items())) == []
