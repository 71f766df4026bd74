"""Setting up CANopen nodes: the `canopen` library's SDO and NMT, on a bus of its own, in a thread.

Nothing here is on the way of a sample: when set-up is done the bus is closed, and the driver's cycle takes over.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

import can
import canopen
from canopen.sdo.exceptions import SdoAbortedError, SdoError

from heft.drivers.codecs.canopen import Function, NmtCommand, PdoMap, cob_id
from heft.drivers.errors import ConnectError
from heft.drivers.transports.can_bus import CanSettings, open_bus

__all__ = ["CanopenSetup", "in_thread"]

_ANSWER_S = 0.4
_DISABLED = 1 << 31  # of a PDO's identifier
_NO_REMOTE = 1 << 30  # of a PDO's identifier: it is not sent on remote requests
_EVERY_SYNC = 1

T = TypeVar("T")


class Abandoned(Exception):
    """The driver does not want the answer any more; raised inside the thread."""


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """The result of `work(abandon)`, run in a thread.

    When this is cancelled, `abandon` is set and the thread waited for: `work` looks at it between two blocking calls.
    """
    abandon = threading.Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, abandon)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        abandon.set()
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        future.exception()  # nobody else will look at it
        raise


class CanopenSetup:
    """A bus with nodes to set up; used by `with`, in a thread.

    names     what each node is called in messages
    abandon   set by a driver that was cancelled: the next transfer raises Abandoned
    """

    def __init__(
        self, device: str, settings: CanSettings, names: dict[int, str], abandon: threading.Event
    ) -> None:
        self.device = device
        self.names = names
        self._settings = settings
        self._abandon = abandon
        self._network: Any = None

    def __enter__(self) -> Self:
        self._network = canopen.Network(open_bus(self.device, self._settings))
        self._network.NOTIFIER_CYCLE = 0.05  # how long `disconnect` takes
        self._network.connect()
        for node in self.names:
            dictionary: Any = canopen.ObjectDictionary()  # type: ignore[no-untyped-call]
            self._network.add_node(canopen.RemoteNode(node, dictionary))
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(can.CanError):  # the adapter was pulled; what was being done has failed and decoded so
            self._network.disconnect()

    # -- objects ------------------------------------------------------------------------------------------------------

    def command(self, command: NmtCommand) -> None:
        """To all nodes that are to be set up."""
        for node in self.names:
            self._network[node].nmt.send_command(int(command))

    def present(self) -> None:
        """Every node answers, or ConnectError names all that do not."""
        silent = []
        for node in self.names:
            sdo = self._network[node].sdo
            sdo.RESPONSE_TIMEOUT, sdo.MAX_RETRIES = _ANSWER_S, 1
            try:
                self.read(node, 0x1000, 0)
            except ConnectError:
                silent.append(self.who(node))
            sdo.MAX_RETRIES = 2
        if silent:
            raise ConnectError(
                self.device,
                f"{self._settings.where}: no answer to SDO from {', '.join(silent)} within {_ANSWER_S:g} s; check "
                f"power, node number, bit rate ({self._settings.bitrate} bit/s) and termination",
            )

    def read(self, node: int, index: int, sub: int) -> bytes | None:
        """Value of an object; None: the node does not have it."""
        self._go_on()
        try:
            data: bytes = self._network[node].sdo.upload(index, sub)
        except SdoAbortedError:
            return None
        except (SdoError, can.CanError) as exc:
            raise self._failed(node, f"reading {index:04X}:{sub}", exc) from exc
        return data

    def number(self, node: int, index: int, sub: int = 0, *, signed: bool = False) -> int | None:
        """Value of an object that is a number."""
        data = self.read(node, index, sub)
        return None if data is None else int.from_bytes(data, "little", signed=signed)

    def text(self, node: int, index: int) -> str:
        """Value of an object that is a string; empty where there is none."""
        data = self.read(node, index, 0)
        return "" if data is None else data.decode("ascii", "replace").strip("\0 ")

    def write(self, node: int, index: int, sub: int, value: int, size: int) -> bool:
        """Set an object of `size` bytes; False: the node refuses."""
        self._go_on()
        data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        try:
            self._network[node].sdo.download(index, sub, data)
        except SdoAbortedError:
            return False
        except (SdoError, can.CanError) as exc:
            raise self._failed(node, f"writing {index:04X}:{sub}", exc) from exc
        return True

    def require(self, node: int, index: int, sub: int, value: int, size: int, why: str) -> None:
        """Set an object that there is no way round."""
        if not self.write(node, index, sub, value, size):
            raise ConnectError(
                self.device,
                f"{self.who(node)} refuses {value:#x} in object {index:04X}:{sub}, needed to {why}",
            )

    # -- what all nodes need ------------------------------------------------------------------------------------------

    def profile(self, node: int, expected: int) -> None:
        """The node says in object 1000 that it follows this profile."""
        actual = (self.number(node, 0x1000) or 0) & 0xFFFF
        if actual != expected:
            raise ConnectError(
                self.device,
                f"{self.who(node)} follows CiA {actual}, not CiA {expected}; is its number right?",
            )

    def serial(self, node: int, expected: int | None) -> int | None:
        """Serial number (1018:4), which must be the expected one if there is one."""
        actual = self.number(node, 0x1018, 4)
        if expected is not None and actual != expected:
            raise ConnectError(
                self.device,
                f"{self.who(node)} has serial number {actual}, the rig's file says {expected}; was it exchanged?",
            )
        return actual

    def map_pdo(self, node: int, function: Function, pdo: PdoMap) -> None:
        """Let one PDO carry these objects with every SYNC.

        What is so already is left alone: some nodes have mappings that cannot be written, and are right as they are.
        Bit 30 of the identifier (no remote requests) stays as the node has it: some refuse it otherwise.
        """
        transmit = function in (Function.TPDO1, Function.TPDO2, Function.TPDO3, Function.TPDO4)
        first = Function.TPDO1 if transmit else Function.RPDO1
        number = (function - first) // 0x100
        communication, mapping = (0x1800, 0x1A00) if transmit else (0x1400, 0x1600)
        communication, mapping = communication + number, mapping + number
        identifier = cob_id(function, node)
        why = f"map {'TPDO' if transmit else 'RPDO'}{number + 1}"
        present = self.number(node, communication, 1) or 0
        identifier |= present & _NO_REMOTE
        timed = self.number(node, communication, 2) == _EVERY_SYNC
        mapped = self._mapped(node, mapping) == pdo.words
        if present == identifier and timed and mapped:
            return
        self.require(node, communication, 1, identifier | _DISABLED, 4, why)
        if not timed:
            self.require(node, communication, 2, _EVERY_SYNC, 1, why)
        if not mapped:
            self.write(node, mapping, 0, 0, 1)  # a count that cannot be written may be right; the words tell
            for sub, word in enumerate(pdo.words, 1):
                if self.number(node, mapping, sub) != word:
                    self.require(node, mapping, sub, word, 4, why)
            if self.number(node, mapping, 0) != len(pdo.words):
                self.require(node, mapping, 0, len(pdo.words), 1, why)
        self.require(node, communication, 1, identifier, 4, why)

    def _mapped(self, node: int, mapping: int) -> tuple[int, ...]:
        """What a PDO carries now."""
        count = self.number(node, mapping, 0) or 0
        return tuple(self.number(node, mapping, sub) or 0 for sub in range(1, min(count, 64) + 1))

    def announce_sync(self, node: int, rate_hz: float) -> None:
        """Tell the node how often SYNC comes (1006), where it wants to know."""
        if self.number(node, 0x1006) is not None:
            self.write(node, 0x1006, 0, round(1e6 / rate_hz), 4)

    def silence(self, node: int, function: Function) -> None:
        """Switch a TPDO off, where there is one."""
        number = (function - Function.TPDO1) // 0x100
        present = self.number(node, 0x1800 + number, 1)
        if present is not None and not present & _DISABLED:
            self.write(node, 0x1800 + number, 1, present | _DISABLED, 4)

    def who(self, node: int) -> str:
        """A node in words."""
        return f"node {node} ({self.names[node]})"

    def _go_on(self) -> None:
        if self._abandon.is_set():
            raise Abandoned

    def _failed(self, node: int, what: str, exc: Exception) -> ConnectError:
        return ConnectError(
            self.device, f"{self.who(node)}: {what} failed ({exc}); check power, node number and bit rate"
        )
