"""CRC-16: published check values, and rows against single messages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs.checksums import MODBUS, X25


@pytest.mark.parametrize(("crc", "check"), [(X25, 0x906E), (MODBUS, 0x4B37)])
def test_published_check_value(crc, check):
    assert crc(b"123456789") == check


@pytest.mark.parametrize(("crc", "residue"), [(X25, 0x0F47), (MODBUS, 0x0000)])
@given(data=st.binary(max_size=40))
def test_message_with_its_checksum_leaves_the_residue(crc, residue, data):
    assert crc(data + crc(data).to_bytes(2, "little")) == residue


@pytest.mark.parametrize("crc", [X25, MODBUS])
@given(data=st.binary(min_size=1, max_size=200), length=st.integers(1, 20))
def test_rows_are_the_single_messages(crc, data, length):
    rows = np.frombuffer(data[: len(data) // length * length], dtype=np.uint8).reshape(-1, length)
    assert crc.rows(rows).tolist() == [crc(row.tobytes()) for row in rows]


def test_no_rows():
    assert X25.rows(np.empty((0, 34), np.uint8)).shape == (0,)
