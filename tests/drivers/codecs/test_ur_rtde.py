"""RTDE: packages by the maker's guide, byte by byte; whatever the pieces they come in."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.codecs.ur_rtde import Package, Parser, Recipe, Type
from heft.drivers.errors import ProtocolError

NAMES = ("timestamp", "actual_q", "safety_mode")
ANSWER = Package(Type.SETUP_OUTPUTS, b"\x01DOUBLE,VECTOR6D,INT32")


def test_packages_byte_by_byte():
    assert codec.version_request().encode() == bytes.fromhex("0005 56 0002")
    assert Package(Type.START).encode() == bytes.fromhex("0003 53")
    asked = codec.setup_outputs(("timestamp", "actual_q"), 125.0).encode()
    assert asked == bytes.fromhex("001d 4f 405f400000000000") + b"timestamp,actual_q"
    assert codec.setup_inputs(("input_int_register_24",)).encode() == b"\x00\x18I" + b"input_int_register_24"


def test_a_recipe_reads_what_it_was_told():
    recipe = Recipe.decode(ANSWER, NAMES)
    payload = struct.pack(">Bd6di", 1, 12.5, *range(6), 1)
    assert recipe.unpack(Package(Type.DATA, payload)) == (12.5, 0, 1, 2, 3, 4, 5, 1)
    assert recipe.pack(12.5, *range(6), 1).payload == payload
    assert recipe.size == len(payload)


@pytest.mark.parametrize(
    ("types", "says"),
    [
        (b"\x01DOUBLE,NOT_FOUND,INT32", "actual_q is NOT_FOUND"),
        (b"\x01IN_USE,VECTOR6D,INT32", "timestamp is IN_USE"),
        (b"\x01DOUBLE", "1 types for 3 names"),
        (b"", "empty answer"),
    ],
)
def test_what_the_controller_does_not_have_is_named(types, says):
    with pytest.raises(ProtocolError, match=says):
        Recipe.decode(Package(Type.SETUP_OUTPUTS, types), NAMES)


def test_data_that_do_not_fit_are_refused():
    recipe = Recipe.decode(ANSWER, NAMES)
    good = recipe.pack(1.0, *[0.0] * 6, 1).payload
    for payload in (good[:-1], good + b"\0", b"\x02" + good[1:]):
        with pytest.raises(ProtocolError):
            recipe.unpack(Package(Type.DATA, payload))
    with pytest.raises(ProtocolError):
        recipe.pack(1.0)


@given(cuts=st.lists(st.integers(1, 40), max_size=30), noise=st.binary(max_size=20))
def test_whole_packages_are_found_in_pieces_and_after_noise(cuts, noise):
    recipe = Recipe.decode(ANSWER, NAMES)
    sent = [recipe.pack(float(k), *[0.5] * 6, 1) for k in range(5)]
    stream = b"".join(package.encode() for package in sent)
    parser = Parser()
    parser.data_bytes = recipe.size
    found, place = [], 0
    for cut in (*cuts, len(stream)):
        found += parser.feed(stream[place : place + cut])
        place += cut
    assert found == sent
    assert parser.skipped == 0
    parser.feed(noise)  # which may look like the head of a package, and then swallow what follows


@given(data=st.binary(max_size=300))
def test_anything_may_come(data):
    for package in Parser().feed(data):
        assert package.type in set(Type)
