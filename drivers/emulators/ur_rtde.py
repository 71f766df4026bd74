"""An emulated controller of a Universal Robots arm: RTDE, version 2, as far as it is read.

Package: size u16, type u8, payload; big-endian. `V` version, `v` controller's version, `O` output recipe (rate f64,
names) answered by its number and types, `S` start, `P` pause, `U` data. What it has no value for is zero; what it does
not know is NOT_FOUND. Any number of clients, each with its own recipe and rate.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.sampling import Samples
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.wires.tcp_wire import Client, TcpWire
from heft.drivers.options import NonNegative
from heft.drivers.plant.faults import Saturate, Silence, Stuck
from heft.drivers.plant.plant import Plant

__all__ = ["UrOptions", "UrRtde"]

_JOINTS = 6
_RESOLUTION = 1e-6  # of the wrench [N], [N m]
_RUNNING, _NORMAL = 7, 1

_CODES = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT32": "I",
    "UINT64": "Q",
    "INT32": "i",
    "DOUBLE": "d",
    "VECTOR3D": "3d",
    "VECTOR6D": "6d",
    "VECTOR6INT32": "6i",
}
_TYPES = {
    **dict.fromkeys(
        [
            "target_q",
            "target_qd",
            "target_qdd",
            "target_current",
            "target_moment",
            "actual_q",
            "actual_qd",
            "actual_current",
            "actual_current_window",
            "joint_control_output",
            "actual_TCP_pose",
            "actual_TCP_speed",
            "actual_TCP_force",
            "target_TCP_pose",
            "target_TCP_speed",
            "joint_temperatures",
            "actual_joint_voltage",
            "ft_raw_wrench",
            "payload_inertia",
        ],
        "VECTOR6D",
    ),
    **dict.fromkeys(
        ["actual_tool_accelerometer", "elbow_position", "elbow_velocity", "payload_cog"], "VECTOR3D"
    ),
    **dict.fromkeys(
        [
            "timestamp",
            "actual_execution_time",
            "speed_scaling",
            "target_speed_fraction",
            "actual_momentum",
            "actual_main_voltage",
            "actual_robot_voltage",
            "actual_robot_current",
            "standard_analog_input0",
            "standard_analog_input1",
            "standard_analog_output0",
            "standard_analog_output1",
            "io_current",
            "tcp_force_scalar",
            "payload",
        ],
        "DOUBLE",
    ),
    **dict.fromkeys(["actual_digital_input_bits", "actual_digital_output_bits"], "UINT64"),
    **dict.fromkeys(
        [
            "robot_status_bits",
            "safety_status_bits",
            "runtime_state",
            "output_bit_registers0_to_31",
            "output_bit_registers32_to_63",
        ],
        "UINT32",
    ),
    **dict.fromkeys(["robot_mode", "safety_mode", "safety_status"], "INT32"),
    "joint_mode": "VECTOR6INT32",
    **{f"output_int_register_{i}": "INT32" for i in range(48)},
    **{f"output_double_register_{i}": "DOUBLE" for i in range(48)},
}
_SENSOR = ("ft_raw_wrench",)


class UrOptions(WrenchOptions):
    """One controller with its arm, and the errors of what it measures."""

    #: Where it listens; a controller's own port by default.
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, lt=65536)] = 30004
    #: Version of its software; below 5 it is a CB3, which has no sensor in its flange and sends at 125 Hz.
    version: tuple[int, int, int, int] = (5, 15, 0, 0)
    velocity_noise: NonNegative = 0.0
    #: Noise of the currents [A rms].
    current_noise: NonNegative = 0.0


@dataclass
class _Session:
    """One client: what it has sent so far, and what it wants."""

    pending: bytes = b""
    names: tuple[str, ...] = ()
    layout: struct.Struct = field(default_factory=lambda: struct.Struct(">B"))
    every: int = 1
    started: bool = False


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
        self._stuck: float | None = None
        self.declare(
            {"wrench": self._model.sensor},
            {"wrench": self._model.delay_s, "motion": 0.0, "current": 0.5 * self._sampling.period_s},
        )

    def _make_wire(self) -> TcpWire:
        return TcpWire(self.name, self.plant, self.options.port, self.options.host)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} requests")
            tasks.create_task(self._stream(), name=f"emulator {self.name} data")

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            for received in await self.wire.receive():
                if not received.data:
                    self._sessions.pop(received.peer, None)
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
            if answer is not None and not self.active(Silence):
                await self.wire.reply(struct.pack(">HB", 3 + len(answer), kind) + answer, peer)

    def _handle(self, session: _Session, kind: str, payload: bytes) -> bytes | None:
        match kind:
            case "V":
                return bytes([payload == b"\x00\x02"])
            case "v":
                return struct.pack(">4I", *self.options.version)
            case "O":
                return self._set_up(session, payload)
            case "S" | "P":
                session.started = kind == "S" and bool(session.names)
                return bytes([session.started or kind == "P"])
        return None

    def _set_up(self, session: _Session, payload: bytes) -> bytes:
        (rate_hz,) = struct.unpack_from(">d", payload)
        names = tuple(
            payload[8:].decode("ascii", "replace").rstrip(",").split(",")
        )  # some clients end with a comma
        old = self.options.version[0] < 5
        types = ["NOT_FOUND" if old and name in _SENSOR else _TYPES.get(name, "NOT_FOUND") for name in names]
        if "NOT_FOUND" not in types:
            session.names = names
            session.layout = struct.Struct(">B" + "".join(_CODES[kind] for kind in types))
            session.every = max(1, round(self._rate_hz / rate_hz)) if rate_hz > 0 else 1
        return b"\x01" + ",".join(types).encode("ascii")

    # -- data ---------------------------------------------------------------------------------------------------------

    async def _stream(self) -> None:
        async for samples in self._sampling.due():
            if any(session.started for session in self._sessions.values()):
                await self._send(samples)

    async def _send(self, samples: Samples) -> None:
        rows = self._measure(samples)
        for k, t in enumerate(samples.t.tolist()):
            values = {name: column[k] for name, column in rows.items()}
            for peer, session in list(self._sessions.items()):
                if session.started and int(samples.number[k]) % session.every == 0:
                    data = session.layout.pack(1, *_flat(session.names, values))
                    await self.wire.send(struct.pack(">HB", 3 + len(data), ord("U")) + data, peer, at=t)

    def _measure(self, samples: Samples) -> dict[str, NDArray[Any]]:
        """What the controller measures, one row for each sample."""
        t, n = samples.t, len(samples.t)
        state = self.plant.motor(t)
        torque = self.plant.mean_torque(t - 0.5 * self._sampling.period_s, self._sampling.period_s)
        current = torque / self.plant.torque_per_ampere
        o, count = self.options, min(_JOINTS, len(self.plant.axes))
        wide = {name: np.zeros((n, _JOINTS)) for name in ("q", "v", "i")}
        for name, values in (("q", state.q), ("v", state.v), ("i", current)):
            wide[name][:, :count] = values[:, :count]
        counts, _ = self._model.read(t)
        wrench = counts * _RESOLUTION
        for fault in self.active(Saturate):
            wrench[:, slice(None) if fault.column is None else fault.column] = np.nan
        ticks = self.ticker.ticks(t) * (1.0 / self.TICK_HZ)
        if not self.active(Stuck):
            self._stuck = None
        elif self._stuck is None:
            self._stuck = float(ticks[0])
        return {
            "timestamp": ticks if self._stuck is None else np.full(n, self._stuck),
            "actual_q": wide["q"],
            "target_q": wide["q"],
            "actual_qd": wide["v"] + o.velocity_noise * self._noise.standard_normal((n, _JOINTS)),
            "actual_current": wide["i"] + o.current_noise * self._noise.standard_normal((n, _JOINTS)),
            "joint_temperatures": np.full((n, _JOINTS), 30.0),
            "ft_raw_wrench": wrench,
            "robot_mode": np.full(n, _RUNNING),
            "safety_mode": np.full(n, self.status or _NORMAL),
            "runtime_state": np.ones(n, dtype=np.int64),
            "speed_scaling": np.ones(n),
            "target_speed_fraction": np.ones(n),
        }


def _flat(names: tuple[str, ...], values: dict[str, Any]) -> list[Any]:
    """Values of a recipe one after the other; what is not measured is zero."""
    flat: list[Any] = []
    for name in names:
        kind = _TYPES[name]
        width = {"VECTOR6D": 6, "VECTOR6INT32": 6, "VECTOR3D": 3}.get(kind, 1)
        whole = kind not in ("DOUBLE", "VECTOR6D", "VECTOR3D")
        found = np.atleast_1d(values[name]).tolist() if name in values else [0] * width
        flat += [int(x) for x in found] if whole else [float(x) for x in found]
    return flat
