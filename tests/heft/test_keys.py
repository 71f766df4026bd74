"""Keys of a replay, from a terminal."""

from __future__ import annotations

from heft.terminal.keys import LEFT, RIGHT, split_keys


def test_keys_come_one_by_one() -> None:
    assert list(split_keys(f" {LEFT}l{RIGHT}{RIGHT}q")) == [" ", LEFT, "l", RIGHT, RIGHT, "q"]
    assert list(split_keys("")) == []
