"""Fixed-length frames in a byte stream: what is found, what is counted, and that cuts do not matter."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.drivers.codecs.checksums import MODBUS
from heft.drivers.codecs.framing import Framing

LENGTH = 6


def framing() -> Framing:
    return Framing(header=b"\xaa", length=LENGTH, crc=MODBUS, crc_from=1)


def frame(payload: bytes) -> bytes:
    return b"\xaa" + payload + MODBUS(payload).to_bytes(2, "little")


def starts(stream: bytes) -> list[int]:
    """The rule, byte by byte: a frame here, or one byte on."""
    found, place = [], 0
    while place + LENGTH <= len(stream):
        window = stream[place : place + LENGTH]
        if window[0] == 0xAA and MODBUS(window[1:-2]) == int.from_bytes(window[-2:], "little"):
            found.append(place)
            place += LENGTH
        else:
            place += 1
    return found


PIECES = st.lists(
    st.one_of(
        st.binary(max_size=8),
        st.binary(min_size=3, max_size=3).map(frame),
        st.sampled_from([b"\xaa", b"\xaa" * 5, frame(b"\xaa\xaa\xaa"), frame(b"\xaa\x00\xaa")[:-1]]),
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(pieces=PIECES, cuts=st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_frames_are_those_of_the_rule_however_the_stream_is_cut(pieces, cuts):
    stream = b"".join(pieces)
    parser = framing()
    rows, ends, place = [], [], 0
    for cut in [*cuts, len(stream)]:
        found = parser.feed(stream[place : place + cut])
        place += cut
        rows += [row.tobytes() for row in found.rows]
        ends += found.ends.tolist()
    expected = starts(stream)
    assert [end - LENGTH for end in ends] == expected
    assert rows == [stream[s : s + LENGTH] for s in expected]
    assert (parser.fed, parser.accepted) == (len(stream), len(expected))
    pending = len(stream) - LENGTH * len(expected) - parser.rejected
    assert 0 <= pending < LENGTH


def test_good_frame_is_given_out_with_its_last_byte():
    parser = framing()
    stream = b"\xaa\x01" + frame(b"abc")
    for byte in stream[:-1]:
        assert len(parser.feed(bytes([byte]))) == 0
    found = parser.feed(stream[-1:])
    assert found.rows.tobytes() == frame(b"abc")
    assert found.ends.tolist() == [len(stream)]


def test_constant_header_byte_in_the_payload_does_not_lock_the_parser():
    parser = framing()
    stream = b"".join(frame(bytes([0xAA, i, 0xAA])) for i in range(50))
    assert len(parser.feed(stream[3:])) == 49  # joined in the middle of the first
    assert (parser.rejected, parser.breaks) == (3, 1)


def test_breaks_count_runs_of_rejected_bytes_across_reads():
    parser = framing()
    good = frame(b"xyz")
    for piece in (good, b"\x01" * 9, b"\x02" * 9, good, good, b"\x03" * 7, good):
        parser.feed(piece)
    assert (parser.accepted, parser.rejected, parser.breaks) == (4, 25, 2)


def test_reset_forgets_the_unfinished_frame():
    parser = framing()
    parser.feed(frame(b"abc")[:4])
    assert parser.rejected == 0
    parser.reset()
    parser.reset()
    assert len(parser.feed(frame(b"def"))) == 1
    assert (parser.rejected, parser.breaks) == (4, 1)


def test_earlier_of_two_overlapping_frames_wins():
    outer = frame(b"\x00\xaa\x11")
    inner = frame(outer[3:])  # begins at the third byte of the outer one and contains its checksum
    stream = outer[:2] + inner
    assert stream.startswith(outer)
    parser = framing()
    assert parser.feed(stream).rows.tobytes() == outer
    assert (parser.accepted, parser.rejected, parser.breaks) == (1, 0, 0)


def test_nothing_to_find():
    found = framing().feed(b"")
    assert found.rows.shape == (0, LENGTH)
    assert found.ends.dtype == np.int64
