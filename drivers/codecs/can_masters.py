"""Frames that only a master sends: heard on a bus, they tell that another one is at work there. Pure.

A drive that was left running by a program that is gone still tells its state and position; that is no master.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from heft.drivers.transports.can_frame import CanFrame

__all__ = ["MASTERS", "master_word"]

#: CANopen (CiA 301): functions of identifiers, node in the low seven bits.
_CANOPEN = {
    0x200: "PDO to",
    0x300: "PDO to",
    0x400: "PDO to",
    0x500: "PDO to",
    0x600: "SDO request to",
}
#: ODrive: commands that set something; the others are answers, or what a drive tells by itself.
_ODRIVE = frozenset(
    {0x02, 0x06, 0x07, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x11, 0x12, 0x16, 0x18, 0x19, 0x1A, 0x1B}
)


def _canopen(frame: CanFrame, nodes: Collection[int]) -> str | None:
    if frame.id == 0x000:
        return "NMT command"
    if frame.id == 0x080:
        return "SYNC"
    node, function = frame.id & 0x7F, frame.id & 0x780
    return f"{_CANOPEN[function]} node {node}" if function in _CANOPEN and node in nodes else None


def _odrive(frame: CanFrame, nodes: Collection[int]) -> str | None:
    node, command = frame.id >> 5, frame.id & 0x1F
    if node not in nodes or not (frame.remote or command in _ODRIVE):
        return None
    return f"request or command {command:#04x} to node {node}"


def _moteus(frame: CanFrame, numbers: Collection[int]) -> str | None:
    """The identifier is source << 8 | destination, with bit 15 where an answer is wanted; controllers answer to 0."""
    return f"command to controller {frame.id & 0x7F}" if frame.id & 0x7F in numbers else None


def _mit(frame: CanFrame, motors: Collection[int]) -> str | None:
    """Of motors that answer under another number than their own: the others cannot be told from their master."""
    return f"command to motor {frame.id}" if frame.id in motors else None


#: By kind of device: what a master says to one of these nodes, in words, or None.
MASTERS: Mapping[str, Callable[[CanFrame, Collection[int]], str | None]] = {
    "cia402": _canopen,
    "cia406": _canopen,
    "mit_can": _mit,
    "odrive_can": _odrive,
    "moteus": _moteus,
}


def master_word(kind: str, frame: CanFrame, nodes: Collection[int]) -> str | None:
    """What a frame tells of another master on the bus of these nodes; None where it tells of none."""
    if frame.error or kind not in MASTERS:
        return None
    return MASTERS[kind](frame, nodes)
