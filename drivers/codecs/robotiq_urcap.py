"""The text protocol of Robotiq's URCap (TCP 63352): variables by name, a line for each request.

`SET ACT 1 GTO 1 POS 255 SPE 128 FOR 128` is answered by `ack` without an end of line, `GET POS` by `POS 13`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from heft.drivers.codecs.robotiq_2f import Action, Activation, Object, Status
from heft.drivers.errors import ProtocolError

__all__ = ["ACK", "PORT", "READ", "answer_of", "get", "set_action", "status_of"]

PORT: Final = 63352
ACK: Final = b"ack"
#: What makes up a status; motor current (COU) is not told by every version.
READ: Final = ("ACT", "GTO", "STA", "OBJ", "FLT", "PRE", "POS")


def get(name: str) -> bytes:
    """Ask for a variable."""
    return f"GET {name}\n".encode("ascii")


def set_action(action: Action) -> bytes:
    """Write all that an action says, in one request."""
    values = {
        "ACT": int(action.activate),
        "GTO": int(action.go),
        "POS": action.position,
        "SPE": action.speed,
        "FOR": action.force,
    }
    return ("SET " + " ".join(f"{name} {value}" for name, value in values.items()) + "\n").encode("ascii")


def answer_of(data: bytes, name: str) -> int:
    """The value in the answer to `get(name)`; ProtocolError where it answers something else."""
    prefix = name.encode("latin-1") + b" "
    digits = data.removeprefix(prefix).lstrip(b" ").rstrip()
    if not data.startswith(prefix) or not digits.isdigit() or len(digits) > 3 or int(digits) > 255:
        raise ProtocolError(f"URCap: {data[:40]!r} is no answer to GET {name}")
    return int(digits)


def status_of(values: Mapping[str, int], current: int = 0) -> Status:
    """A status from the variables in `READ`."""
    if values["STA"] > 3 or values["OBJ"] > 3:
        raise ProtocolError(f"URCap: STA {values['STA']}, OBJ {values['OBJ']}, each at most 3")
    return Status(
        activated=bool(values["ACT"]),
        going=bool(values["GTO"]),
        activation=Activation(values["STA"]),
        object=Object(values["OBJ"]),
        fault=values["FLT"] & 0xF,
        controller_fault=values["FLT"] >> 4,
        requested=values["PRE"],
        position=values["POS"],
        current=current,
    )
