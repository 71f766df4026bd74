"""The text protocol of Robotiq's URCap, served: `SET NAME VALUE ...` is answered `ack`, `GET NAME` `NAME VALUE`."""

from __future__ import annotations

from collections.abc import Callable

from heft.drivers.emulators.base.fingers import Fingers
from heft.drivers.emulators.wires.tcp_wire import Client, TcpWire

__all__ = ["UrcapServer"]


class UrcapServer:
    """Serves fingers to any number of clients; `fault` says what else is wrong with them."""

    def __init__(self, fingers: Fingers, fault: Callable[[], int]) -> None:
        self._fingers, self._fault = fingers, fault
        self._written = {"ACT": 0, "GTO": 0, "POS": 0, "SPE": 255, "FOR": 0, "ATR": 0, "ARD": 0, "SID": 9}

    async def serve(self, wire: TcpWire) -> None:
        """For ever."""
        pending: dict[Client, bytes] = {}
        while True:
            for received in await wire.receive():
                if not received.data:
                    pending.pop(received.peer, None)
                    continue
                *lines, rest = (pending.get(received.peer, b"") + received.data).split(b"\n")
                pending[received.peer] = rest
                for line in lines:
                    answer = self.answer(line.decode("ascii", "replace"))
                    await wire.send(answer.encode("ascii"), received.peer)

    def answer(self, line: str) -> str:
        """To one line."""
        words = line.split()
        if len(words) == 2 and words[0] == "GET":
            value = self._get(words[1])
            return "?" if value is None else f"{words[1]} {value}\n"
        if len(words) > 2 and len(words) % 2 == 1 and words[0] == "SET":
            names, values = words[1::2], words[2::2]
            if set(names) <= self._written.keys() and all(value.isdecimal() for value in values):
                self._written |= {name: int(value) for name, value in zip(names, values, strict=True)}
                w = self._written
                self._fingers.command(
                    activate=bool(w["ACT"]), go=bool(w["GTO"]), position=w["POS"], speed=w["SPE"]
                )
                return "ack"
        return "?"

    def _get(self, name: str) -> int | None:
        self._fingers.fault = self._fault()
        s = self._fingers.state()
        told = {
            "ACT": int(s.activate),
            "GTO": int(s.go),
            "STA": s.activation,
            "OBJ": s.object,
            "FLT": s.fault,
            "PRE": s.requested,
            "POS": s.position,
            "COU": s.current,
        }
        return told.get(name, self._written.get(name))
