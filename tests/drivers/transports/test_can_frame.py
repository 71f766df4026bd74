"""CAN frames: what can exist."""

from __future__ import annotations

import pytest

from heft.drivers.transports.can_frame import CanFrame


def test_what_can_exist() -> None:
    CanFrame(0x7FF, bytes(8))
    CanFrame(0x1FFFFFFF, bytes(8), extended=True)
    CanFrame(1, bytes(64), fd=True, bitrate_switch=True)
    CanFrame(1, remote=True)
    assert CanFrame(0x40, bytes(8), error=True).bus_off
    assert not CanFrame(0x04, bytes(8), error=True).bus_off
    assert not CanFrame(0x40).bus_off


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"id": 0x800}, "0x800 does not fit 11 bits; set `extended`"),
        ({"id": -1}, "-0x1 does not fit 11 bits"),
        ({"id": 1 << 29, "extended": True}, "does not fit 29 bits"),
        ({"id": 1, "data": bytes(9)}, "at most 8 bytes, got 9; set `fd`"),
        ({"id": 1, "data": bytes(9), "fd": True}, r"cannot carry 9 bytes; pad to one of"),
        ({"id": 1, "data": b"x", "remote": True}, "without payload"),
        ({"id": 1, "fd": True, "remote": True}, "a classic frame"),
    ],
)
def test_what_cannot(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CanFrame(**arguments)  # type: ignore[arg-type]
