"""An emulated CANopen node (CiA 301): NMT, SDO, PDOs with SYNC, heartbeats in both directions, emergencies.

Pure: what comes in is handed over with its time [s since the plant's start], what goes out is handed back.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from heft.drivers.emulators.protocols.object_dictionary import Abort, ObjectDictionary, SdoServer
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["BOOT", "OPERATIONAL", "PRE_OPERATIONAL", "STOPPED", "CanopenNode"]

BOOT, STOPPED, OPERATIONAL, PRE_OPERATIONAL = 0x00, 0x04, 0x05, 0x7F
_NMT_STATES = {0x01: OPERATIONAL, 0x02: STOPPED, 0x80: PRE_OPERATIONAL}
_OFF = 1 << 31
_NO_REMOTE = 1 << 30
_COMMUNICATION = {*range(0x1400, 0x1404), *range(0x1800, 0x1804)}
Layout = tuple[tuple[tuple[int, int], ...], struct.Struct]


class CanopenNode:
    """One node.

    number     1 to 127
    profile    device profile in object 1000: 402 drive, 406 encoder
    without_remote  bit 30 of a PDO's identifier is set, and may not be cleared
    fixed_pdos      mappings cannot be written
    on_write   called with index and value of every object that the host has changed, by PDO or SDO
    """

    def __init__(
        self,
        number: int,
        profile: int,
        *,
        identity: tuple[int, int, int, int],
        name: str,
        version: str,
        on_write: Callable[[int, int], None] = lambda index, value: None,
        without_remote: bool = False,
        fixed_pdos: bool = False,
    ) -> None:
        self.number = number
        self.state = PRE_OPERATIONAL
        self.objects = ObjectDictionary()
        self.objects.check = self._check
        self._on_write = on_write
        self._sdo = SdoServer(self.objects)
        self._layouts: dict[int, Layout] = {}
        # Communication objects by identifier, and of synchronous TPDOs with their type: looked up after every change.
        self._rpdos: dict[int, int] | None = None
        self._tpdos: list[tuple[int, int]] | None = None
        self._latched: dict[int, bytes] = {}  # RPDOs that wait for SYNC
        self._sent: dict[int, float] = {}  # when an event-driven TPDO was sent last [s]
        self._syncs = 0
        self._heartbeat_sent = -1e9  # when the last heartbeat was sent [s]
        self._heard: dict[int, float] = {}
        self._bit30 = _NO_REMOTE if without_remote else 0
        self._fill(profile, identity, name, version, writable=not fixed_pdos)

    def _fill(
        self, profile: int, identity: tuple[int, int, int, int], name: str, version: str, *, writable: bool
    ) -> None:
        add, n = self.objects.add, self.number
        add(0x1000, 0, "I", profile)
        add(0x1001, 0, "B", 0)
        add(0x1006, 0, "I", 0, writable=True)
        add(0x1008, 0, "s", name.encode())
        add(0x100A, 0, "s", version.encode())
        add(0x1016, 0, "B", 1)
        add(0x1016, 1, "I", 0, writable=True)
        add(0x1017, 0, "H", 0, writable=True)
        add(0x1018, 0, "B", 4)
        for sub, value in enumerate(identity, 1):
            add(0x1018, sub, "I", value)
        for pdo in range(4):
            for index, base in ((0x1400, 0x200), (0x1800, 0x180)):
                add(index + pdo, 0, "B", 5)
                add(index + pdo, 1, "I", (base + 0x100 * pdo + n) | _OFF | self._bit30, writable=True)
                add(index + pdo, 2, "B", 255, writable=True)
                add(index + pdo, 3, "H", 0, writable=True)
                add(index + pdo, 5, "H", 0, writable=True)
                add(index + pdo + 0x200, 0, "B", 0, writable=writable)
                for sub in range(1, 9):
                    add(index + pdo + 0x200, sub, "I", 0, writable=writable)

    def preset_pdo(self, index: int, words: tuple[int, ...], kind: int, *, timer_ms: int = 0) -> None:
        """A PDO as the node has it when it is switched on: communication object, mapping, transmission type."""
        self.objects[index, 2], self.objects[index, 5] = kind, timer_ms
        for sub, word in enumerate(words, 1):
            self.objects[index + 0x200, sub] = word
        self.objects[index + 0x200, 0] = len(words)
        self.objects[index, 1] = self.objects[index, 1] & ~_OFF

    # -- what the host sends ------------------------------------------------------------------------------------------

    def receive(self, frame: CanFrame, t: float) -> Iterator[CanFrame]:
        """Answers to a frame that is not SYNC."""
        identifier, data = frame.id, frame.data
        if identifier == 0x000 and len(data) == 2 and data[1] in (0, self.number):
            yield from self._handle_nmt(data[0], t)
        elif identifier == 0x600 + self.number and len(data) == 8 and self.state != STOPPED:
            yield from self._serve(data)
        elif 0x701 <= identifier <= 0x77F and len(data) == 1:
            self._heard[identifier - 0x700] = t
        elif self.state == OPERATIONAL:
            self._take(identifier, data)

    def _handle_nmt(self, order: int, t: float) -> Iterator[CanFrame]:
        if order in _NMT_STATES:
            self.state = _NMT_STATES[order]
            yield from self.events(t)
        elif order in (0x81, 0x82):
            self.state = PRE_OPERATIONAL
            self._latched.clear()
            yield self._heartbeat(BOOT)

    def _serve(self, data: bytes) -> Iterator[CanFrame]:
        answer = self._sdo.answer(data)
        if answer is not None:
            yield CanFrame(0x580 + self.number, answer)
        if data[0] >> 5 == 1 and answer is not None and answer[0] == 0x60:
            index, sub = struct.unpack_from("<HB", data, 1)
            if sub == 0 and index >= 0x6000:
                self._on_write(index, self.objects[index, sub])

    def _take(self, identifier: int, data: bytes) -> None:
        if self._rpdos is None:
            cobs = {index: self.objects[index, 1] for index in range(0x1400, 0x1404)}
            self._rpdos = {cob & 0x7FF: index for index, cob in cobs.items() if not cob & _OFF}
        index = self._rpdos.get(identifier)
        if index is None:
            return
        if self.objects[index, 2] <= 240:
            self._latched[index] = data
        else:
            self._unpack(index, data)

    def _unpack(self, index: int, data: bytes) -> None:
        keys, layout = self._layout(index + 0x200)
        if len(data) < layout.size:
            return  # too short a PDO is not used
        for key, value in zip(keys, layout.unpack_from(data), strict=True):
            self.objects[key] = value
            self._on_write(key[0], value)

    # -- what the node sends by itself --------------------------------------------------------------------------------

    def apply_latched(self) -> None:
        """SYNC: what was received since the last one counts from now on."""
        self._syncs += 1
        for index, data in self._latched.items():
            self._unpack(index, data)
        self._latched.clear()

    def synchronous(self) -> Iterator[CanFrame]:
        """SYNC: the TPDOs that belong to it."""
        if self.state == OPERATIONAL:
            if self._tpdos is None:
                kinds = {index: self.objects[index, 2] for index in range(0x1800, 0x1804)}
                on = [index for index in kinds if not self.objects[index, 1] & _OFF]
                self._tpdos = [(index, kinds[index]) for index in on if 1 <= kinds[index] <= 240]
            for index, kind in self._tpdos:
                if self._syncs % kind == 0:
                    yield self._pack(index)

    def events(self, t: float, *, timed: bool = False) -> Iterator[CanFrame]:
        """TPDOs that are sent because something has changed; `timed`: because their timer has run out at t [s]."""
        if self.state == OPERATIONAL:
            for index in range(0x1800, 0x1804):
                if self.objects[index, 2] < 254 or self.objects[index, 1] & _OFF:
                    continue
                timer = self.objects[index, 5] * 1e-3
                if not timed or (timer and t - self._sent.get(index, -1e9) >= timer):
                    self._sent[index] = t
                    yield self._pack(index)

    def emergency(self, code: int, register: int, more: bytes = bytes(5)) -> CanFrame:
        self.objects[0x1001, 0] = register
        return CanFrame(0x080 + self.number, struct.pack("<HB5s", code, register, more))

    def heartbeats(self, t: float) -> Iterator[CanFrame]:
        """The heartbeat, if it is due at t [s]."""
        period = self.objects[0x1017, 0] * 1e-3
        if period and t - self._heartbeat_sent >= period:
            self._heartbeat_sent = t
            yield self._heartbeat(self.state)

    def host_silent(self, t: float) -> bool:
        """Has the heartbeat that the node watches been missing for too long? It watches from the first one on."""
        word = self.objects.get((0x1016, 1))
        limit, producer = (word & 0xFFFF) * 1e-3, word >> 16 & 0x7F
        return bool(limit) and producer in self._heard and t - self._heard[producer] > limit

    def forget_host(self) -> None:
        """Watch again from the next heartbeat on."""
        self._heard.clear()

    def _heartbeat(self, state: int) -> CanFrame:
        return CanFrame(0x700 + self.number, bytes([state]))

    def _pack(self, index: int) -> CanFrame:
        keys, layout = self._layout(index + 0x200)
        values = [self.objects[key] for key in keys]
        return CanFrame(self.objects[index, 1] & 0x7FF, layout.pack(*values))

    def _layout(self, mapping: int) -> Layout:
        """Objects of a mapping, and how they are packed."""
        if mapping not in self._layouts:
            words = [self.objects[mapping, sub] for sub in range(1, self.objects[mapping, 0] + 1)]
            keys = tuple((word >> 16, word >> 8 & 0xFF) for word in words)
            layout = struct.Struct("<" + "".join(self.objects.code(key) for key in keys))
            self._layouts[mapping] = (keys, layout)
        return self._layouts[mapping]

    def _check(self, key: tuple[int, int], value: int) -> None:
        """A mapping may be changed only while its PDO is off, and to what fits."""
        index, sub = key
        self._rpdos = self._tpdos = None
        if sub == 1 and index in _COMMUNICATION and value & self._bit30 != self._bit30:
            raise Abort(Abort.VALUE)
        if not (0x1600 <= index < 0x1604 or 0x1A00 <= index < 0x1A04):
            return
        self._layouts.pop(index, None)
        if not self.objects[index - 0x200, 1] & _OFF or (sub and self.objects[index, 0]):
            raise Abort(Abort.STATE)
        if sub:
            mapped = (value >> 16, value >> 8 & 0xFF)
            if struct.calcsize("<" + self.objects.code(mapped)) * 8 != value & 0xFF:
                raise Abort(Abort.NOT_MAPPABLE)
        elif value:
            sizes = [self.objects[index, i] & 0xFF for i in range(1, value + 1)]
            if sum(sizes) > 64:
                raise Abort(Abort.PDO_LENGTH)
