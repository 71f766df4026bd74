"""One thread, while it is asked for."""

from __future__ import annotations

import pytest

from identify.blas import _libraries, one_thread


def counts() -> list[int]:
    return [get() for get, _ in _libraries()]


def test_one_thread_and_back() -> None:
    if not _libraries():
        pytest.skip("numpy and scipy here bring no OpenBLAS of their own")
    for _, put in _libraries():
        put(2)
    before = counts()
    with one_thread():
        assert counts() == [1] * len(before)
    assert counts() == before

    @one_thread()
    def inside() -> list[int]:
        return counts()

    assert inside() == [1] * len(before)
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert counts() == before
