"""RDT requests and records, and what differs between the boxes."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.block import Validity
from heft.drivers.codecs import ati_rdt
from heft.drivers.codecs.ati_dialect import ATI, AXIA, ONROBOT, onrobot_filter, onrobot_rate
from heft.drivers.codecs.ati_page import Page
from heft.drivers.codecs.ati_rdt import Command, Record, Request
from heft.drivers.errors import ProtocolError

U32 = st.integers(0, 2**32 - 1)
RECORDS = st.builds(Record, U32, U32, U32, st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 6))
GOLDEN = bytes.fromhex("000000010000006400000000000f4240ffe17b8001c9c380000003e8fffffc18000001f4")
GOLDEN_RECORD = Record(1, 100, 0, (1_000_000, -2_000_000, 30_000_000, 1000, -1000, 500))


@pytest.mark.parametrize(
    ("request_", "data"),
    [
        (Request(Command.START_REALTIME), "1234000200000000"),
        (Request(Command.STOP), "1234000000000000"),
        (ATI.bias(), "1234004200000000"),
        (Request(Command.START_REALTIME, 0x12345678), "1234000212345678"),
        (ONROBOT.bias(), "12340042000000ff"),
        (ONROBOT.bias(False), "1234004200000000"),
        (onrobot_filter(None), "1234008100000000"),
        (onrobot_filter(15.0), "1234008100000004"),
        (onrobot_rate(500.0), "1234008200000002"),
    ],
)
def test_requests(request_, data):
    assert request_.encode() == bytes.fromhex(data)
    assert Request.decode(bytes.fromhex(data)) == request_


def test_golden_record():
    assert GOLDEN_RECORD.encode() == GOLDEN
    assert Record.decode(GOLDEN) == GOLDEN_RECORD


@given(record=RECORDS)
def test_record_round_trip(record):
    assert Record.decode(record.encode()) == record


@given(command=st.integers(0, 0xFFFF), count=U32)
def test_request_round_trip(command, count):
    assert Request.decode(Request(command, count).encode()) == Request(command, count)


@given(data=st.binary(max_size=80))
def test_only_protocol_errors(data):
    for decode in (Record.decode, Request.decode, Page.decode):
        with contextlib.suppress(ProtocolError):
            decode(data)


@given(batch=st.lists(st.one_of(st.lists(RECORDS, max_size=3), st.binary(max_size=50)), max_size=8))
def test_batch_is_the_single_records(batch):
    datagrams = [d if isinstance(d, bytes) else b"".join(r.encode() for r in d) for d in batch]
    records = ati_rdt.decode_records(datagrams)
    expected, origin, rejected = [], [], 0
    for i, datagram in enumerate(datagrams):
        if not datagram or len(datagram) % 36:
            rejected += 1
            continue
        for place in range(0, len(datagram), 36):
            expected.append(Record.decode(datagram[place : place + 36]))
            origin.append(i)
    got = [
        Record(rdt, ft, status, tuple(counts))
        for rdt, ft, status, counts in zip(
            records.rdt_sequence.tolist(),
            records.ft_sequence.tolist(),
            records.status.tolist(),
            records.counts.tolist(),
            strict=True,
        )
    ]
    assert got == expected
    assert records.datagram.tolist() == origin
    assert (len(records), records.rejected) == (len(expected), rejected)


def test_batch_has_native_types():
    records = ati_rdt.decode_records([GOLDEN])
    assert records.counts.dtype == np.dtype("=i4")
    assert records.status.dtype == np.dtype("=u4")


def usable(dialect, *status):
    return (dialect.validity(np.array(status, dtype=np.uint32)) == Validity.OK).tolist()


def test_net_ft_status():
    assert usable(ATI, 0, 0x8001_0000) == [True, True]
    assert not any(usable(ATI, 0x8002_0000, 0x8003_0000, 0x8000_0000, 0x0001_0000, 1))
    assert ATI.describe(0x8002_0004) == "error, transducer saturated or converter error, temperature"
    assert ATI.describe(0) == "healthy"
    assert ATI.describe(1) == "bit 0"


def test_axia_status():
    assert usable(AXIA, 0x0001_0000, 0xC000_0000) == [True, False]
    assert AXIA.describe(0xC000_0000) == "error, force or torque out of range"


def test_validity_of_samples():
    status = np.array([0, 0x8001_0000, 0x8002_0000, 0x8000_0004], dtype=np.uint32)
    expected = [Validity.OK, Validity.OK, Validity.SATURATED, Validity.FAULT]
    assert ATI.validity(status).tolist() == expected
    assert ONROBOT.validity(np.array([0, 2], dtype=np.uint32)).tolist() == [Validity.OK, Validity.FAULT]
    assert AXIA.validity(np.array([0x8800_0000], dtype=np.uint32)).tolist() == [Validity.SATURATED]


@pytest.mark.parametrize(
    "call",
    [
        lambda: ATI.bias(False),
        lambda: onrobot_filter(20.0),
        lambda: onrobot_rate(300.0),
        lambda: onrobot_rate(0.0),
        lambda: onrobot_rate(2000.0),
        lambda: Request(0, -1).encode(),
        lambda: Request(0, 2**32).encode(),
        lambda: Request.decode(bytes(8)),
        lambda: Record(0, 0, 0, (0,) * 5).encode(),
    ],
)
def test_what_cannot_be_asked_or_read(call):
    with pytest.raises(ProtocolError):
        call()


def page(**changes: str) -> bytes:
    fields = {
        "prodname": "Net F/T",
        "cfgcalsn": "FT12345",
        "mfgdigsn": "LOT2821",
        "mfgdigver": "2.2.59",
        "cfgcpf": "1000000",
        "cfgcpt": "1000000",
        "scfgfu": "N",
        "scfgtu": "N-m",
        "comrdtrate": "1000",
        **changes,
    }
    body = "".join(f"<{k}>{v}</{k}>" for k, v in fields.items() if v != "absent")
    return f'<?xml version="1.0" encoding="UTF-8"?><netft>{body}</netft>'.encode()


def test_page():
    assert Page.decode(page()) == Page(1e-6, 1e-6, "Net F/T", ("FT12345", "LOT2821"), "2.2.59", 1000.0)
    foreign = Page.decode(page(cfgcpf="1000", cfgcpt="10", scfgfu="kN", scfgtu="N-mm", comrdtrate="absent"))
    assert (foreign.force_scale, foreign.torque_scale, foreign.rate_hz) == (1.0, 1e-4, None)
    pounds = Page.decode(page(scfgfu="lbf", scfgtu="lbf-in"))
    assert pounds.force_scale == pytest.approx(4.44822e-6)
    assert pounds.torque_scale == pytest.approx(4.44822e-6 * 0.0254)


def test_pages_of_the_net_box_and_of_the_axia_name_their_rates_otherwise():
    net_box = Page.decode(
        page(runrate="7000", cfgtfx="0;0;132.710;0;0;0", setuserfilter="3", comrdte="Disabled")
    )
    assert (net_box.rate_hz, net_box.internal_hz, net_box.filter, net_box.streams) == (
        1000.0,
        7000.0,
        3,
        False,
    )
    assert net_box.transform == (0.0, 0.0, 132.71, 0.0, 0.0, 0.0)
    axia = Page.decode(page(comrdtrate="absent", commrdtrate="500", setrate="7912", scfgtu="kg-cm"))
    assert (axia.rate_hz, axia.internal_hz, axia.transform) == (500.0, 7912.0, None)
    assert axia.torque_scale == pytest.approx(0.0980665e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"cfgcpf": "absent"},
        {"cfgcpt": "0"},
        {"cfgcpf": "many"},
        {"scfgfu": "stone"},
        {"cfgcpf": "nan"},
        {"cfgtfx": "a;b"},
    ],
)
def test_page_that_says_nothing_usable(changes):
    with pytest.raises(ProtocolError, match=r"netftapi2\.xml"):
        Page.decode(page(**changes))


def test_page_with_entities_is_refused():
    with pytest.raises(ProtocolError, match="declaration"):
        Page.decode(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    with pytest.raises(ProtocolError, match="at most"):
        Page.decode(b" " * 300_000)
