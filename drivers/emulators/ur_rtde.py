"""An emulated controller of a Universal Robots arm: RTDE version 2 (30004), the secondary interface (30002), the
dashboard (29999) and the port of Robotiq's URCap (63352).

RTDE package: size u16, type u8, payload; big-endian. `V` version, `v` controller's version, `O` output recipe (rate,
names) and `I` input recipe (names), each answered by its number and types, `S` start, `P` pause, `U` data. What it has
no value for is zero; what it does not know is NOT_FOUND, an input that another client has is IN_USE. Any number of
clients, each with its own recipes and rate. `ur_controller.py` runs what comes on the secondary interface.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.fingers import FingerOptions, Fingers
from heft.drivers.emulators.base.sampling import Samples
from heft.drivers.emulators.base.urcap import UrcapServer
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.protocols.rtde_fields import CODES, INPUTS, OUTPUTS, WIDTHS
from heft.drivers.emulators.ur_controller import JOINTS, UrController
from heft.drivers.emulators.wires.tcp_wire import Client, TcpWire
from heft.drivers.options import NonNegative, Positive, RateHz
from heft.drivers.plant.faults import Saturate, Silence, Stuck
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import PerColumn, per_column

__all__ = ["UrOptions", "UrRtde"]

_RESOLUTION = 1e-6  # of the wrench [N], [N m]
_SENSOR = ("ft_raw_wrench",)
_STATE_NS = 100_000_000  # between two messages on the secondary interface
_MODES = {7: "RUNNING"}
_SAFETY = {1: "NORMAL", 2: "REDUCED", 3: "PROTECTIVE_STOP"}
_RUNTIME = {1: "STOPPED", 2: "PLAYING", 4: "PAUSED"}

Port = Annotated[int, Field(ge=0, lt=65536)]


class UrOptions(WrenchOptions):
    """One controller with its arm, and the errors of what it measures."""

    #: Where it listens: a controller's own ports by default. 0: any free one; left empty (null): nothing is there.
    host: str = "127.0.0.1"
    port: Port = 30004
    script_port: Port = 30002
    #: The realtime interface: takes programs too; what it sends on a controller is not sent here.
    realtime_port: Port | None = 30003
    dashboard_port: Port | None = 29999
    gripper_port: Port | None = 63352
    #: The gripper behind the URCap's port.
    gripper: FingerOptions = FingerOptions()
    #: Version of its software; below 5 it is a CB3, which has no sensor in its flange and sends at 125 Hz.
    version: tuple[int, int, int, int] = (5, 15, 0, 0)
    #: Whether the operator has chosen remote control; otherwise programs of others are ignored.
    remote: bool = True
    #: Of the speed slider.
    speed_fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    #: Load that it was left with: mass [kg] and centre of gravity [m].
    payload: NonNegative = 0.0
    payload_cog: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: Loops of the joints per second, and bandwidth of their position loops; torque is held from one loop to the next.
    servo_hz: RateHz = 500.0
    bandwidth_hz: PerColumn = 10.0
    #: Of the filter that smooths setpoints, as `servoj` does [Hz].
    smoothing_hz: Positive = 10.0
    #: From which the arm stops protectively [rad]; and the same of a smoothed setpoint [rad/s].
    following_error: Positive = 0.3
    fastest: Positive = 4.0
    #: Of the controller's own stop [rad/s2].
    deceleration: Positive = 10.0
    velocity_noise: PerColumn = 0.0
    #: Noise of the currents [A rms].
    current_noise: PerColumn = 0.0
    #: Torque that an ampere makes, as a multiple of what the robot's file says: what a calibration with a load finds.
    gain: PerColumn = 1.0


@dataclass
class _Session:
    """One RTDE client: what it has sent so far, and what it wants."""

    pending: bytes = b""
    names: tuple[str, ...] = ()
    layout: struct.Struct = field(default_factory=lambda: struct.Struct(">B"))
    every: int = 1
    started: bool = False
    inputs: dict[int, tuple[tuple[str, ...], struct.Struct]] = field(default_factory=dict)


class UrRtde(Emulator[UrOptions, TcpWire]):
    """The arm's first six joints; those that the plant does not have stay at zero."""

    Options: ClassVar[type[UrOptions]] = UrOptions
    TICK_BITS = 40  # microseconds since it was switched on, some days ago; the number itself never wraps

    def __init__(self, name: str, options: UrOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._sessions: dict[Client, _Session] = {}
        self._rate_hz = 500.0 if options.version[0] >= 5 else 125.0
        self._sampling = self.sampling(self._rate_hz)
        self._noise = plant.rng(name, "noise")
        self._model = WrenchModel(
            name, options, plant, period_s=self._sampling.period_s, resolution=np.full(6, _RESOLUTION)
        )
        self._velocity_noise = per_column(f"{name}.velocity_noise", options.velocity_noise, JOINTS)
        self._gain = per_column(f"{name}.gain", options.gain, JOINTS)
        self._current_noise = per_column(f"{name}.current_noise", options.current_noise, JOINTS)
        self._stages = Axes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._trip,
            period_s=1.0 / options.servo_hz,
            filter_hz=options.smoothing_hz,
        )
        self.controller = UrController(
            name,
            plant,
            self._stages,
            step_s=1.0 / self._rate_hz,
            remote=options.remote or options.version[0] < 5,  # a CB3 knows no local control
            following_error=options.following_error,
            fastest=options.fastest,
            deceleration=options.deceleration,
        )
        self.controller.speed_fraction = options.speed_fraction
        self.controller.load = (options.payload, list(options.payload_cog), [0.0] * 6)
        o = options
        self._script = TcpWire(f"{name} script", plant, o.script_port, o.host, self._version_message())
        self._dashboard, self._gripper = self._optional("dashboard"), self._optional("gripper")
        self._realtime = self._optional("realtime")
        self.fingers = Fingers(options.gripper, plant)
        self._stuck: float | None = None
        self._others = AsyncExitStack()
        self.declare(
            {"wrench": self._model.sensor},
            {"wrench": self._model.delay_s, "motion": 0.0, "current": 0.5 * self._sampling.period_s},
        )

    def _make_wire(self) -> TcpWire:
        return TcpWire(self.name, self.plant, self.options.port, self.options.host)

    def _optional(self, what: str) -> TcpWire | None:
        port = getattr(self.options, f"{what}_port")
        greeting = b"Connected: Universal Robots Dashboard Server\n" if what == "dashboard" else b""
        return (
            None
            if port is None
            else TcpWire(f"{self.name} {what}", self.plant, port, self.options.host, greeting)
        )

    def _trip(self, axis: int) -> None:
        self.controller.stop_protectively(self.plant.seconds(self.clock.now_ns()), f"joint {axis} was hit")

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        more = {
            "script": self._script,
            "realtime": self._realtime,
            "dashboard": self._dashboard,
            "gripper": self._gripper,
        }
        ports = {f"{what}_port": wire.endpoint["port"] for what, wire in more.items() if wire is not None}
        return {**self.wire.endpoint, **ports}

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for wire in filter(None, (self._script, self._realtime, self._dashboard, self._gripper)):
                await stack.enter_async_context(wire)
            await super().__aenter__()
            self._others = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await super().__aexit__(*exc)
        finally:
            await self._others.aclose()

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            jobs = {"requests": self._listen(), "data": self._stream(), "state": self._tell_state()}
            jobs["programs"] = self._take_programs(self._script)
            if self._realtime is not None:
                jobs["programs in real time"] = self._take_programs(self._realtime)
            if self._dashboard is not None:
                jobs["dashboard"] = self._answer_dashboard(self._dashboard)
            if self._gripper is not None:
                jobs["gripper"] = UrcapServer(self.fingers, lambda: self.status).serve(self._gripper)
            for what, job in jobs.items():
                tasks.create_task(job, name=f"emulator {self.name} {what}")

    # -- RTDE requests ------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            for received in await self.wire.receive():
                if not received.data:
                    self._sessions.pop(received.peer, None)
                    continue
                if self.active(Silence):  # a dead link is dead both ways
                    continue
                session = self._sessions.setdefault(received.peer, _Session())
                session.pending += received.data
                await self._answer(session, received.peer)

    async def _answer(self, session: _Session, peer: Client) -> None:
        while len(session.pending) >= 3:
            size, kind = struct.unpack_from(">HB", session.pending)
            if size < 3:
                session.pending = b""
                return
            if len(session.pending) < size:
                return
            payload, session.pending = session.pending[3:size], session.pending[size:]
            answer = self._handle(session, chr(kind), payload)
            if answer is not None:
                await self.wire.reply(struct.pack(">HB", 3 + len(answer), kind) + answer, peer)

    def _handle(self, session: _Session, kind: str, payload: bytes) -> bytes | None:
        match kind:
            case "V":
                return bytes([payload == b"\x00\x02"])
            case "v":
                return struct.pack(">4I", *self.options.version)
            case "O":
                return self._set_up(session, payload)
            case "I":
                return self._set_up_inputs(session, payload)
            case "S" | "P":
                session.started = kind == "S" and bool(session.names or session.inputs)
                return bytes([session.started or kind == "P"])
            case "U":
                self._take_inputs(session, payload)
        return None

    def _set_up(self, session: _Session, payload: bytes) -> bytes:
        (rate_hz,) = struct.unpack_from(">d", payload)
        names = _names(payload[8:])
        old = self.options.version[0] < 5
        types = ["NOT_FOUND" if old and name in _SENSOR else OUTPUTS.get(name, "NOT_FOUND") for name in names]
        if "NOT_FOUND" not in types:
            session.names = names
            session.layout = _layout(types)
            session.every = max(1, round(self._rate_hz / rate_hz)) if rate_hz > 0 else 1
        return b"\x01" + ",".join(types).encode("ascii")

    def _set_up_inputs(self, session: _Session, payload: bytes) -> bytes:
        names = _names(payload)
        others = (one for one in self._sessions.values() if one is not session)
        taken = {name for one in others for theirs, _ in one.inputs.values() for name in theirs}
        types = ["IN_USE" if name in taken else INPUTS.get(name, "NOT_FOUND") for name in names]
        if not {"NOT_FOUND", "IN_USE"}.isdisjoint(types):
            return b"\x00" + ",".join(types).encode("ascii")
        number = len(session.inputs) + 1
        session.inputs[number] = (names, _layout(types))
        return bytes([number]) + ",".join(types).encode("ascii")

    def _take_inputs(self, session: _Session, payload: bytes) -> None:
        """A data package of a client; one that no recipe of it fits is left out."""
        names, layout = session.inputs.get(payload[0] if payload else 0, ((), None))
        if layout is None or not session.started or len(payload) != layout.size:
            return
        _, *flat = layout.unpack(payload)
        values, place = [], 0
        for name in names:
            width = WIDTHS.get(INPUTS[name], 1)
            values.append(flat[place] if width == 1 else flat[place : place + width])
            place += width
        self.controller.write(names, values, self.plant.seconds(self.clock.now_ns()))

    # -- programs and the dashboard -----------------------------------------------------------------------------------

    async def _take_programs(self, wire: TcpWire) -> None:
        pending: dict[Client, str] = {}
        while True:
            for received in await wire.receive():
                if not received.data:
                    pending.pop(received.peer, None)
                elif not self.active(Silence):
                    text = pending.get(received.peer, "") + received.data.decode("utf-8", "replace")
                    t = self.plant.seconds(received.host_ns)
                    pending[received.peer] = self.controller.submit(text.replace("\r", ""), t)

    async def _tell_state(self) -> None:
        """The robot's mode, ten times a second, to whoever is on the secondary interface."""
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _STATE_NS)
            c = self.controller
            mode = struct.pack(
                ">Q7BBBdddB",
                int(self.clock.now_ns() // 1000),
                *(1, 1, 1, 0, c.safety_mode == 3, c.runtime_state == 2, c.runtime_state == 4),
                *(c.robot_mode, 0, c.speed_fraction, c.speed_fraction, 1.0, 0),
            )
            body = struct.pack(">iB", 5 + len(mode), 0) + mode
            if not self.active(Silence):
                for client in self._script.clients:
                    await self._script.reply(struct.pack(">iB", 5 + len(body), 16) + body, client)

    def _version_message(self) -> bytes:
        """What the secondary interface sends first."""
        major, minor, bugfix, build = self.options.version
        name, date = b"URControl", b"01-01-2024, 00:00:00"
        body = struct.pack(">Qbb", 0, -2, 3) + bytes([len(name)]) + name
        body += struct.pack(">BBii", major, minor, bugfix, build) + date
        return struct.pack(">iB", 5 + len(body), 20) + body

    async def _answer_dashboard(self, wire: TcpWire) -> None:
        pending: dict[Client, bytes] = {}
        while True:
            for received in await wire.receive():
                if not received.data:
                    pending.pop(received.peer, None)
                    continue
                *lines, rest = (pending.get(received.peer, b"") + received.data).split(b"\n")
                pending[received.peer] = rest
                for line in lines:
                    if not self.active(Silence):
                        words = line.decode("ascii", "replace").strip()
                        await wire.reply(self._dashboard_says(words).encode() + b"\n", received.peer)

    def _dashboard_says(self, command: str) -> str:
        c, o = self.controller, self.options
        match command.lower():
            case "is in remote control" if o.version[0] >= 5:
                return str(c.remote).lower()
            case "robotmode":
                return f"Robotmode: {_MODES.get(c.robot_mode, 'IDLE')}"
            case "safetymode" | "safetystatus":
                return f"{command.capitalize()}: {_SAFETY.get(c.safety_mode, 'FAULT')}"
            case "programstate":
                return f"{_RUNTIME.get(c.runtime_state, 'STOPPED')} <unnamed>"
            case "running":
                return f"Program running: {str(c.runtime_state == 2).lower()}"
            case "stop":
                c.stop(self.plant.seconds(self.clock.now_ns()))
                return "Stopped"
            case "unlock protective stop":
                c.unlock()
                return "Protective stop releasing"
            case "polyscopeversion":
                return f"URSoftware {'.'.join(map(str, o.version))} (Jan 01 2024)"
            case "get serial number":
                return "20205500001"
            case "get robot model":
                return "UR10"
            case "quit":
                return "Disconnected"
        return f"could not understand: '{command}'"

    # -- data ---------------------------------------------------------------------------------------------------------

    async def _stream(self) -> None:
        async for samples in self._sampling.due():
            for t in samples.t.tolist():
                self.controller.step(t)
            if any(session.started and session.names for session in self._sessions.values()):
                await self._send(samples)

    async def _send(self, samples: Samples) -> None:
        rows = self._measure(samples)
        for k, t in enumerate(samples.t.tolist()):
            for peer, session in list(self._sessions.items()):
                if session.started and session.names and int(samples.number[k]) % session.every == 0:
                    data = session.layout.pack(1, *_flat(session.names, rows, k))
                    await self.wire.send(struct.pack(">HB", 3 + len(data), ord("U")) + data, peer, at=t)

    def _measure(self, samples: Samples) -> dict[str, list[Any]]:
        """What the controller measures and knows, one row for each sample."""
        t, n = samples.t, len(samples.t)
        state = self.plant.motor(t)
        torque = self.plant.mean_torque(t - 0.5 * self._sampling.period_s, self._sampling.period_s)
        current = torque / self.plant.torque_per_ampere
        count = min(JOINTS, len(self.plant.axes))
        wide = {name: np.zeros((n, JOINTS)) for name in ("q", "v", "i", "target_q", "target_v")}
        for name, values in (("q", state.q), ("v", state.v), ("i", current)):
            wide[name][:, :count] = values[:, :count]
        reference, axes = self._stages.reference, len(self.plant.axes)
        wide["target_q"][:, :count] = reference[:count]
        wide["target_v"][:, :count] = reference[axes : axes + count]
        counts, _ = self._model.read(t)
        wrench = counts * _RESOLUTION
        for fault in self.active(Saturate):
            wrench[:, slice(None) if fault.column is None else fault.column] = np.nan
        ticks = self.ticker.ticks(t) * (1.0 / self.TICK_HZ)
        if not self.active(Stuck):
            self._stuck = None
        elif self._stuck is None:
            self._stuck = float(ticks[0])
        noisy_v = wide["v"] + self._velocity_noise * self._noise.standard_normal((n, JOINTS))
        noisy_i = wide["i"] / self._gain + self._current_noise * self._noise.standard_normal((n, JOINTS))
        arrays: dict[str, NDArray[Any]] = {
            "timestamp": ticks if self._stuck is None else np.full(n, self._stuck),
            "actual_q": wide["q"],
            "target_q": wide["target_q"],
            "target_qd": wide["target_v"],
            "actual_qd": noisy_v,
            "actual_current": noisy_i,
            "ft_raw_wrench": wrench,
        }
        return {name: values.tolist() for name, values in arrays.items()} | {
            name: [value] * n for name, value in self._known().items()
        }

    def _known(self) -> dict[str, Any]:
        """What is known without measuring."""
        c = self.controller
        mass, cog, inertia = c.load
        running = c.runtime_state == 2
        return {
            **c.outputs,
            **c.inputs,
            "joint_temperatures": [30.0] * JOINTS,
            "robot_mode": c.robot_mode,
            "safety_mode": self.status or c.safety_mode,
            "safety_status": self.status or c.safety_mode,
            "runtime_state": c.runtime_state,
            "robot_status_bits": 1 | running << 1,
            "safety_status_bits": 1 if c.safety_mode == 1 else 1 << (c.safety_mode - 1),
            "speed_scaling": c.speed_fraction,
            "target_speed_fraction": c.speed_fraction,
            "payload": mass,
            "payload_cog": cog,
            "payload_inertia": inertia,
        }


def _names(payload: bytes) -> tuple[str, ...]:
    return tuple(payload.decode("ascii", "replace").rstrip(",").split(","))  # some clients end with a comma


def _layout(types: list[str]) -> struct.Struct:
    return struct.Struct(">B" + "".join(CODES[kind] for kind in types))


def _flat(names: tuple[str, ...], rows: Mapping[str, list[Any]], k: int) -> list[Any]:
    """Values of a recipe one after the other; what is not known is zero."""
    flat: list[Any] = []
    for name in names:
        kind = OUTPUTS[name]
        width = WIDTHS.get(kind, 1)
        found: Any = rows[name][k] if name in rows else 0 if width == 1 else [0] * width
        flat += found if width > 1 else [found]
    return flat
