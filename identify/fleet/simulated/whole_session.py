"""A whole session of a simulated arm as a recording: motion, torques with noise, temperatures, two segments.

Torques are those of the robot's own regressor, which is checked against Pinocchio when a robot is made; for an
independent physics engine use the simulated rig (`docs/simulated-rig.md`), which takes a hundred times as long.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heft.daq.record import Writer
from heft.drivers import Block, Column, Stream
from heft.identify.bodies.arrays import Array
from heft.identify.data.recorded_robot import ROBOT_JSON
from heft.identify.fleet.session_facts import RIG_FILE
from heft.identify.robot import Robot

__all__ = ["WholeSession", "fourier_motion"]

TICK_HZ, TICK_BITS = 1e6, 32
#: Host time of the first sample [ns].
START_NS = 1_000_000_000
BLOCK, FLUSHED = 100, 1000  # samples of a Block, and between two chunks of the file
POSITION_UNIT, TORQUE_SHARE = 1e-6, 1e-5  # resolution of positions [rad], of torques over the joint's largest
HARMONICS, BASE_HZ = 5, 0.05  # as of 003's excitation


@dataclass(frozen=True)
class WholeSession:
    """One session.

    parameters    of the arm on that day (p,)
    temperature   of each joint [K], shape (n,); None: not measured
    noise         standard deviation of torques over the joint's rms
    seed          of motion and noise; `motion_seed` where the motion is to be another's
    utc_ns        of its first sample
    """

    robot: Robot
    arm: str
    parameters: Array
    utc_ns: int
    seconds: float = 60.0
    rate_hz: float = 1000.0
    temperature: Array | None = None
    noise: float = 0.02
    seed: int = 0
    motion_seed: int = 0
    delay_s: float = 0.0

    def torques(self) -> tuple[Array, Array, Array]:
        """Time [s] (T,), positions [rad] (T, n) and torques with noise [N m] (T, n)."""
        t = np.arange(round(self.seconds * self.rate_hz)) / self.rate_hz
        q, _, _ = fourier_motion(self.robot, t, self.motion_seed)
        q_then, dq, ddq = fourier_motion(self.robot, t - self.delay_s, self.motion_seed)
        tau = self.robot.torque(q_then, dq, ddq, self.parameters)
        sigma = self.noise * np.sqrt((tau**2).mean(axis=0))
        return t, q, tau + np.random.default_rng(self.seed).normal(0.0, 1.0, q.shape) * sigma

    def write(self, path: Path) -> Path:
        """Write the recording; identification for three quarters of the time, then validation."""
        t, q, tau = self.torques()
        joints, step_ns = self.robot.joints, round(1e9 / self.rate_hz)
        unit = float(TORQUE_SHARE * np.abs(tau).max())
        motion = Stream(
            "arm.motion",
            tuple(Column(joint, "position", "rad", POSITION_UNIT) for joint in joints),
            self.rate_hz,
            "<i4",
            tick_hz=TICK_HZ,
            tick_bits=TICK_BITS,
        )
        torque = Stream(
            "arm.torque",
            tuple(Column(joint, "torque", "N m", unit) for joint in joints),
            self.rate_hz,
            "<i4",
            tick_hz=TICK_HZ,
            tick_bits=TICK_BITS,
        )
        tables = {
            motion: np.rint(q / POSITION_UNIT).astype("<i4"),
            torque: np.rint(tau / unit).astype("<i4"),
        }
        end_ns = START_NS + round(self.seconds * 1e9)
        with path.open("xb", buffering=0) as raw:
            writer = Writer(raw, self.utc_ns - START_NS)
            writer.attach(ROBOT_JSON, "application/json", 0, json.dumps(self.robot.to_dict()).encode())
            writer.attach(RIG_FILE, "text/plain", 0, f"name: {self.arm}\ncell: {self.arm}\n".encode())
            for stream in tables:
                writer.describe(stream)
            warm = self._temperature_stream()
            if warm is not None:
                writer.describe(warm)
            waiting = self._events(end_ns)
            for first in range(0, len(t), BLOCK):
                while waiting and waiting[0][0] <= START_NS + first * step_ns:
                    writer.event(waiting[0][0], json.dumps(waiting.pop(0)[1]))
                if first % FLUSHED == 0:
                    writer.flush()
                index = np.arange(first, min(first + BLOCK, len(t)))
                stamps, ticks = START_NS + index * step_ns, index * step_ns // 1000
                for stream, table in tables.items():
                    values = table[first : first + BLOCK]
                    writer.block(
                        Block(stream, first, stamps, values, np.zeros(values.shape, np.uint8), ticks=ticks)
                    )
                if warm is not None and first % FLUSHED == 0:
                    assert self.temperature is not None
                    kelvin = np.rint(100 * self.temperature).astype("<i4")[None]
                    number = first // FLUSHED
                    valid = np.zeros(kelvin.shape, np.uint8)
                    writer.block(Block(warm, number, stamps[:1], kelvin, valid, ticks=ticks[:1]))
            for at_ns, facts in waiting:
                writer.event(at_ns, json.dumps(facts))
            for stream in tables:
                account = {"stream": stream.name, "expected": len(t), "received": len(t), "lost": 0}
                writer.note("losses", {stream.name: json.dumps(account)})
            writer.finish()
        return path

    def _temperature_stream(self) -> Stream | None:
        if self.temperature is None:
            return None
        columns = tuple(Column(joint, "temperature", "K", 0.01) for joint in self.robot.joints)
        return Stream(
            "arm.temperature", columns, self.rate_hz / FLUSHED, "<i4", tick_hz=TICK_HZ, tick_bits=TICK_BITS
        )

    def _events(self, end_ns: int) -> list[tuple[int, dict[str, object]]]:
        """Segments, and the session's end."""
        turn_ns = START_NS + round(0.75 * self.seconds * 1e9)
        parts = [("identification", START_NS, turn_ns), ("validation", turn_ns, end_ns)]
        events: list[tuple[int, dict[str, object]]] = []
        for use, start_ns, stop_ns in parts:
            for what, at_ns in (("start", start_ns), ("end", stop_ns)):
                fact = {"t_ns": at_ns, "name": f"segment_{what}", "segment": use, "use": use}
                events.append((at_ns, fact))
        events.append((end_ns, {"t_ns": end_ns, "name": "state", "state": "done", "reason": ""}))
        return events


def fourier_motion(robot: Robot, t: Array, seed: int) -> tuple[Array, Array, Array]:
    """q, dq, ddq (T, n) of a Fourier series inside the robot's limits (003, Eq. 78), by seed."""
    rng, n = np.random.default_rng(seed), len(robot.joints)
    w = 2 * np.pi * BASE_HZ * np.arange(1, HARMONICS + 1)
    a = rng.normal(0.0, 1.0, (n, HARMONICS)) / w
    phase = rng.uniform(0.0, 2 * np.pi, (n, HARMONICS))
    limits = robot.limits
    assert limits is not None
    low, high = np.nan_to_num(np.clip(limits.position, -2.5, 2.5)).T
    speed = np.clip(np.nan_to_num(limits.velocity, posinf=2.0), None, 2.0)
    reach = np.abs(a).sum(axis=1)
    scale = np.minimum(0.45 * (high - low) / reach, 0.7 * speed / (np.abs(a) * w).sum(axis=1))
    a = a * scale[:, None]
    angle = np.multiply.outer(t, w)[:, None, :] + phase
    centre = 0.5 * (low + high)
    return (
        centre + (a * np.sin(angle)).sum(axis=2),
        (a * w * np.cos(angle)).sum(axis=2),
        (-a * w**2 * np.sin(angle)).sum(axis=2),
    )
