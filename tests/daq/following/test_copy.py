"""A follower's copy: byte for byte the recording, also after its process was killed or its disk forgot something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heft.daq.following.client import FollowClient
from heft.daq.following.copy import RecordingCopy
from heft.daq.following.source import Source
from heft.daq.recording import Recording

if TYPE_CHECKING:
    from tests.daq.following.conftest import Growing


@pytest.fixture
def whole(growing: Growing) -> bytes:
    """A finished recording of several chunks."""
    for _ in range(6):
        growing.write(20)
    return growing.finish()


def copied(folder: Path, data: bytes) -> RecordingCopy:
    copy = RecordingCopy(folder, "short")
    copy.append(data)
    return copy


def test_it_becomes_the_recording(whole: bytes, tmp_path: Path) -> None:
    copy = RecordingCopy(tmp_path / "copy", "short")
    assert copy.path == tmp_path / "copy" / "short.mcap.partial"
    rng = np.random.default_rng(0)
    while copy.size < len(whole):
        copy.append(whole[copy.size : copy.size + int(rng.integers(0, 900))])
    copy.finish()
    assert copy.path == tmp_path / "copy" / "short.mcap"
    assert copy.path.read_bytes() == whole
    assert Recording.open(copy.path).recovery.ok
    copy.close()


def test_one_that_its_recorder_has_not_finished_stays_partial(whole: bytes, tmp_path: Path) -> None:
    copy = copied(tmp_path / "copy", whole[:-100])
    copy.finish()
    assert copy.path.name == "short.mcap.partial"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.61, 0.99, 1.0])
def test_what_a_killed_process_had_is_kept_as_far_as_it_is_whole(
    whole: bytes, tmp_path: Path, share: float
) -> None:
    had = whole[: int(share * len(whole))]
    copied(tmp_path / "copy", had)._raw.close()  # as the kernel does
    again = RecordingCopy(tmp_path / "copy", "short")
    assert again.size <= len(had)
    if share > 0.5:
        assert again.size > 0.25 * len(whole)  # the last chunk and the index are asked for again
    assert again.path.read_bytes() == whole[: again.size]
    again.append(whole[again.size :])
    again.finish()
    assert again.path.read_bytes() == whole


def test_a_whole_one_without_an_answer_is_taken_up_again(whole: bytes, tmp_path: Path) -> None:
    copied(tmp_path / "copy", whole).finish()
    again = RecordingCopy(tmp_path / "copy", "short")
    assert 0 < again.size < len(whole)
    again.append(whole[again.size :])
    again.finish()
    assert again.path.read_bytes() == whole


def test_from_damage_on_nothing_is_trusted(whole: bytes, growing: Growing, tmp_path: Path) -> None:
    entry = Recording.open(growing.path).chunks("arm.motion")[2]
    copied(tmp_path / "copy", whole).close()
    path = tmp_path / "copy" / "short.mcap.partial"
    damaged = bytearray(whole)
    damaged[entry.offset + entry.length - 20] ^= 0xFF
    path.write_bytes(damaged)
    again = RecordingCopy(tmp_path / "copy", "short")
    assert again.size == entry.offset
    assert path.read_bytes() == whole[: entry.offset]
    again.close()


async def test_a_copy_of_another_recording_is_given_up(
    source: Source, client: FollowClient, growing: Growing, tmp_path: Path
) -> None:
    source.begin(growing.path)
    data = growing.write(50)
    session = source.server.info.session
    same = copied(tmp_path / "same", data)
    assert await same.agree(client, session) == same.size == len(data)
    other = copied(tmp_path / "other", data[:-7] + bytes(7))
    other.growing.advance()
    assert await other.agree(client, session) == other.size == other.growing.size == 0
    assert other.path.read_bytes() == b""
    longer = copied(tmp_path / "longer", data + b"x")
    assert await longer.agree(client, session) == 0
    for copy in (same, other, longer):
        copy.close()
