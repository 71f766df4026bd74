"""Robotiq's URCap: requests and answers as public clients write and read them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import robotiq_urcap as codec
from heft.drivers.codecs.robotiq_2f import Action, Activation, Object
from heft.drivers.errors import ProtocolError


def test_requests_byte_by_byte():
    assert codec.get("POS") == b"GET POS\n"
    action = Action(activate=True, go=True, position=255, speed=128, force=64)
    assert codec.set_action(action) == b"SET ACT 1 GTO 1 POS 255 SPE 128 FOR 64\n"


def test_answers():
    assert codec.answer_of(b"POS 13\n", "POS") == 13
    told = {"ACT": 1, "GTO": 1, "STA": 3, "OBJ": 2, "FLT": 0, "PRE": 255, "POS": 189}
    status = codec.status_of(told)
    assert (status.activation, status.object, status.position) == (
        Activation.ACTIVE,
        Object.CONTACT_CLOSING,
        189,
    )
    assert (status.activated, status.going, status.requested) == (True, True, 255)


@pytest.mark.parametrize(
    "data", [b"POS\n", b"PRE 13\n", b"POS 256\n", b"POS -1\n", b"ack", b"", b"POS 13\nPOS 14\n"]
)
def test_what_is_no_answer(data):
    with pytest.raises(ProtocolError, match="is no answer to GET POS"):
        codec.answer_of(data, "POS")


def test_states_that_do_not_exist():
    told = dict.fromkeys(codec.READ, 0) | {"STA": 4}
    with pytest.raises(ProtocolError, match="STA 4"):
        codec.status_of(told)


@given(data=st.binary(max_size=40))
def test_anything_may_come(data):
    with suppress(ProtocolError):
        assert 0 <= codec.answer_of(data, "POS") <= 255
