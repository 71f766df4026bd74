"""CiA 301 messages."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import canopen
from heft.drivers.codecs.canopen import (
    Emergency,
    Function,
    Heartbeat,
    MappedObject,
    NmtCommand,
    NmtState,
    PdoMap,
)
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame


def test_identifiers():
    assert canopen.cob_id(Function.TPDO1, 3) == 0x183
    assert canopen.cob_id(Function.TPDO2, 3) == 0x283
    assert canopen.cob_id(Function.RPDO1, 7) == 0x207
    assert canopen.cob_id(Function.EMCY, 5) == 0x085
    assert canopen.cob_id(Function.HEARTBEAT, 127) == 0x77F


def test_network_management():
    assert canopen.nmt(NmtCommand.OPERATIONAL, 4) == CanFrame(0x000, bytes([1, 4]))
    assert canopen.nmt(NmtCommand.RESET_NODE) == CanFrame(0x000, bytes([0x81, 0]))
    assert canopen.sync() == CanFrame(0x080)
    assert canopen.sync(240) == CanFrame(0x080, b"\xf0")


def test_heartbeat():
    assert Heartbeat.decode(b"\x05") == Heartbeat(NmtState.OPERATIONAL)
    assert Heartbeat.decode(b"\x00").state is NmtState.BOOT
    for state in NmtState:
        assert Heartbeat.decode(Heartbeat(state).encode()).state is state
    for data in (b"", b"\x01", b"\x85", b"\x05\x05"):
        with pytest.raises(ProtocolError):
            Heartbeat.decode(data)


def test_emergency():
    data = bytes.fromhex("1023 05 0102030405")
    emergency = Emergency.decode(data)
    assert emergency == Emergency(0x2310, 0x05, bytes([1, 2, 3, 4, 5]))
    assert not emergency.cleared
    assert Emergency.decode(bytes(8)).cleared
    assert emergency.encode() == data
    with pytest.raises(ProtocolError):
        Emergency(0, 0, b"\x00").encode()


@given(data=st.binary(max_size=10))
def test_only_protocol_errors(data):
    for kind in (Heartbeat, Emergency):
        with contextlib.suppress(ProtocolError):
            assert kind.decode(data).encode() == data


def test_consumer_heartbeat():
    assert canopen.consumer_heartbeat(126, 100) == 0x007E0064
    with pytest.raises(ProtocolError):
        canopen.consumer_heartbeat(126, 70_000)


def test_mapping_words():
    assert MappedObject(0x6041, 0, "H").word == 0x60410010
    assert MappedObject(0x6060, 0, "b").word == 0x60600008
    with pytest.raises(ProtocolError, match="a PDO holds 8"):
        PdoMap("too long", *[MappedObject(0x6064, 0, "i")] * 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: canopen.cob_id(Function.TPDO1, 0),
        lambda: canopen.cob_id(Function.TPDO1, 128),
        lambda: canopen.nmt(NmtCommand.STOP, 128),
        lambda: canopen.sync(0),
        lambda: canopen.sync(241),
    ],
)
def test_what_cannot_be_sent(call):
    with pytest.raises(ProtocolError):
        call()
