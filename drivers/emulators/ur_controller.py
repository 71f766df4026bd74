"""The inside of an emulated Universal Robots controller: modes, registers, load, and the program that moves the arm.

The arm is powered and holds by itself, with or without a program. A program is taken where the controller is
in remote control and the arm may move, and replaces the one that runs; secondary programs run beside it. A program
ends by itself, by an error, by its RTDE watchdog, by a protective stop, or because another one comes; then the arm
slows down and holds.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.protocols.urscript import Machine, Program, ScriptError, parse
from heft.drivers.plant.plant import Plant

__all__ = ["JOINTS", "UrController"]

_log = logging.getLogger("heft.emulators")

JOINTS = 6
_NORMAL, _PROTECTIVE_STOP = 1, 3
_RUNNING = 7
_STOPPED, _PLAYING, _PAUSED = 1, 2, 4
_FORWARD = 3.2  # of the velocity that is fed forward, at most [rad/s]: a setpoint that jumps is smoothed
_BACKLOG = 1 << 20  # bytes of a program that may be waiting for its end


class UrController:
    """One controller.

    step_s           its period [s]
    remote           whether it takes programs over the network
    following_error  from which it stops protectively [rad]; `fastest`: the same of a smoothed setpoint [rad/s]
    load             mass [kg], centre of gravity [m] (3), inertia [kg m2] (6) that it reckons with
    """

    def __init__(
        self,
        name: str,
        plant: Plant,
        axes: Axes,
        *,
        step_s: float,
        remote: bool,
        following_error: float,
        fastest: float,
        deceleration: float,
    ) -> None:
        self._name, self._plant, self._axes = name, plant, axes
        self._count = min(JOINTS, len(plant.axes))
        self.step_s, self.remote = step_s, remote
        self._following_error, self._fastest, self._deceleration = following_error, fastest, deceleration
        self.robot_mode, self.safety_mode, self.runtime_state = _RUNNING, _NORMAL, _STOPPED
        self.speed_fraction = 1.0
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, int | float] = {}
        self.load: tuple[float, list[float], list[float]] = (0.0, [0.0] * 3, [0.0] * 6)
        self.said: list[str] = []  # by textmsg, and errors
        self._heard: dict[str, float] = {}  # when inputs were written last [s]
        self._watchdogs: dict[str, tuple[float, str]] = {}
        self._machine: Machine | None = None
        self._t = 0.0
        self._functions = self._make_functions()
        for axis in range(len(plant.axes)):
            axes.enable(axis)

    # -- what comes from outside --------------------------------------------------------------------------------------

    def write(self, names: Sequence[str], values: Sequence[Any], t: float) -> None:
        """Inputs of an RTDE package, received at t [s]."""
        for name, value in zip(names, values, strict=True):
            self.inputs[name] = value
            self._heard[name] = t
        if self.inputs.get("speed_slider_mask") and "speed_slider_fraction" in names:
            self.speed_fraction = min(max(float(self.inputs["speed_slider_fraction"]), 0.01), 1.0)

    def submit(self, text: str, t: float) -> str:
        """A piece of text on the script port; what of it is not whole yet."""
        try:
            programs, rest = parse(text)
        except ScriptError as exc:
            self._say(f"syntax error: {exc}")
            return ""
        for program in programs:
            self._begin(program, t)
        return rest if len(rest) < _BACKLOG else ""

    def _begin(self, program: Program, t: float) -> None:
        if not self.remote:
            self._say("a program was ignored: not in remote control")
            return
        if program.secondary:
            self._t = t
            self._at_once(Machine(program, self._functions))
            return
        if self.safety_mode > 2 or self.robot_mode != _RUNNING:
            self._say("a program was refused: the arm may not move")
            return
        self.stop(t)
        self._machine, self.runtime_state = Machine(program, self._functions), _PLAYING

    def _at_once(self, machine: Machine) -> None:
        try:
            machine.step()
            if not machine.over:
                self._say("a secondary program may not take time")
        except ScriptError as exc:
            self._say(f"secondary program: {exc}")

    def stop(self, t: float) -> None:
        """End the program: the arm slows down and holds."""
        if self._machine is not None:
            self._machine, self.runtime_state = None, _STOPPED
            self._watchdogs.clear()
            self._slow_down(t, self._deceleration)

    def stop_protectively(self, t: float, why: str) -> None:
        """As after a collision: nothing moves until it is unlocked."""
        if self.safety_mode == _PROTECTIVE_STOP:
            return
        self._say(f"protective stop: {why}")
        running = self._machine is not None
        self.stop(t)
        self._slow_down(t, 2.0 * self._deceleration)
        self.safety_mode, self.runtime_state = _PROTECTIVE_STOP, _PAUSED if running else _STOPPED

    def unlock(self) -> None:
        """After a protective stop."""
        if self.safety_mode == _PROTECTIVE_STOP:
            self.safety_mode, self.runtime_state = _NORMAL, _STOPPED

    def _say(self, what: str) -> None:
        self.said.append(what)
        _log.info("emulator %s: %s", self._name, what)

    # -- one period ---------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """The program goes on by one period, at t [s]."""
        self._t = t
        if self._machine is None:
            return
        for name, (longest_s, action) in self._watchdogs.items():
            if t - self._heard.get(name, t) > longest_s and action != "ignore":
                self._say(f"no {name} for {longest_s:g} s: program stopped")
                self.stop(t)
                return
        self._check_following(t)
        machine = self._machine
        if machine is None:
            return
        try:
            machine.step()
        except ScriptError as exc:
            self._say(f"runtime error: {exc}")
            self.stop(t)
            return
        if machine.over and self._machine is machine:
            self._machine, self.runtime_state = None, _STOPPED
            self._watchdogs.clear()

    def _check_following(self, t: float) -> None:
        q, _ = self._plant.present()
        for axis in range(self._count):
            error = abs(self._axes.reference[axis] - q[axis])
            if error > self._following_error:
                self.stop_protectively(t, f"joint {axis} is {error:.3f} rad away from where it should be")
                return
            speed = abs(self._axes.reference[len(q) + axis])
            if speed > self._fastest:
                self.stop_protectively(t, f"joint {axis} at {speed:.2f} rad/s, bound {self._fastest:g}")
                return

    def _slow_down(self, t: float, deceleration: float) -> float:
        """How long it takes [s]."""
        return max(self._axes.slow_down(axis, t, deceleration) for axis in range(self._count))

    # -- what programs may call ---------------------------------------------------------------------------------------

    def _make_functions(self) -> dict[str, Callable[..., Any]]:
        return {
            "get_steptime": lambda: self.step_s,
            "get_target_joint_positions": self._target,
            "get_joint_positions": self._actual,
            "get_actual_joint_positions": self._actual,
            "read_input_integer_register": lambda i: self.inputs.get(f"input_int_register_{i}", 0),
            "read_input_float_register": lambda i: self.inputs.get(f"input_double_register_{i}", 0.0),
            "read_output_integer_register": lambda i: self.outputs.get(f"output_int_register_{i}", 0),
            "read_output_float_register": lambda i: self.outputs.get(f"output_double_register_{i}", 0.0),
            "write_output_integer_register": lambda i, x: self.outputs.update(
                {f"output_int_register_{i}": int(x)}
            ),
            "write_output_float_register": lambda i, x: self.outputs.update(
                {f"output_double_register_{i}": float(x)}
            ),
            "rtde_set_watchdog": self._set_watchdog,
            "servoj": self._servoj,
            "speedj": self._speedj,
            "stopj": self._stopj,
            "servostop": lambda a=10.0: self._stopj(a),
            "stopl": self._stopj,
            "movej": self._movej,
            "sync": lambda: self._wait(1),
            "sleep": lambda s: self._wait(max(1, round(s / self.step_s))),
            "textmsg": lambda a, b="": self._say(f"{a}{b}"),
            "set_payload": self._set_load,
            "set_target_payload": self._set_load,
            "set_payload_mass": lambda m: self._set_load(m, self.load[1], self.load[2]),
            "set_payload_cog": lambda c: self._set_load(self.load[0], c, self.load[2]),
            "get_target_payload": lambda: self.load[0],
            "get_target_payload_cog": lambda: list(self.load[1]),
            "get_target_payload_inertia": lambda: list(self.load[2]),
            "force_mode_set_gain_scaling": lambda x: None,
            "force_mode_set_damping": lambda x: None,
            "norm": lambda x: math.hypot(*x) if isinstance(x, list) else abs(x),
            "length": len,
            "floor": lambda x: math.floor(x),
            "ceil": lambda x: math.ceil(x),
            "sqrt": lambda x: math.sqrt(x),
            "pow": lambda x, y: x**y,
            "is_steady": lambda: bool((np.abs(self._plant.present()[1]) < 0.01).all()),
        }

    def _padded(self, values: NDArray[np.float64]) -> list[float]:
        return [*values[: self._count].tolist(), *([0.0] * (JOINTS - self._count))]

    def _actual(self) -> list[float]:
        return self._padded(self._plant.present()[0])

    def _target(self) -> list[float]:
        """Setpoint of every joint now [rad]."""
        now = [self._axes.setpoint(axis, self._t) for axis in range(self._count)]
        return [*now, *([0.0] * (JOINTS - self._count))]

    def _wait(self, periods: int) -> Iterator[None]:
        for _ in range(periods):
            yield

    def _set_watchdog(self, name: str, min_hz: float, action: str = "pause") -> None:
        if action not in ("ignore", "pause", "stop") or min_hz <= 0.0:
            raise ScriptError(f"rtde_set_watchdog: {name}, {min_hz}, {action}")
        self._watchdogs[name] = (1.0 / min_hz, action)
        self._heard.setdefault(name, self._t)

    def _servoj(
        self,
        q: list[float],
        a: float = 0.0,
        v: float = 0.0,
        t: float = 0.002,
        lookahead_time: float = 0.1,
        gain: float = 300.0,
    ) -> Iterator[None]:
        """Towards `q` within t [s], longer where the speed slider says so."""
        if not 0.03 <= lookahead_time <= 0.2 or not 100.0 <= gain <= 2000.0:
            raise ScriptError(f"servoj: lookahead_time {lookahead_time}, gain {gain}")
        periods = max(1, round(t / (self.step_s * self.speed_fraction)))
        yield from self._towards(q, periods)

    def _towards(self, q: Sequence[float], periods: int) -> Iterator[None]:
        if len(q) != JOINTS:
            raise ScriptError(f"{len(q)} joint positions, expected {JOINTS}")
        begin, span = self._target(), periods * self.step_s
        for axis in range(self._count):
            rate = (q[axis] - begin[axis]) / span
            forward = min(max(rate, -_FORWARD), _FORWARD)
            self._axes.set_setpoint(axis, self._t, begin[axis], rate=rate, velocity=forward, span=span)
        yield from self._wait(periods)

    def _speedj(self, qd: list[float], a: float, t: float = 0.0) -> Iterator[None]:
        """Joint speeds [rad/s], the leading joint at `a` [rad/s2]; kept until another command. Returns after t [s], or
        else when they are reached."""
        if len(qd) != JOINTS or a <= 0.0:
            raise ScriptError(f"speedj: {len(qd)} joint speeds, expected {JOINTS}; acceleration {a}")
        first = len(self._plant.axes)
        before = self._axes.reference[first : first + self._count].tolist()
        wanted = [x * self.speed_fraction for x in qd[: self._count]]
        ramp = max(
            1, math.ceil(max(abs(y - x) for x, y in zip(before, wanted, strict=True)) / (a * self.step_s))
        )
        for k in range(1, (max(1, round(t / self.step_s)) if t > 0.0 else ramp) + 1):
            u, now = min(1.0, k / ramp), self._target()
            for axis, (x, y) in enumerate(zip(before, wanted, strict=True)):
                v = x + u * (y - x)
                self._axes.set_setpoint(axis, self._t, now[axis], rate=v, velocity=v)
            yield

    def _stopj(self, a: float) -> Iterator[None]:
        yield from self._wait(1 + math.ceil(self._slow_down(self._t, a) / self.step_s))

    def _movej(
        self, q: list[float], a: float = 1.4, v: float = 1.05, t: float = 0.0, r: float = 0.0
    ) -> Iterator[None]:
        """A minimum-jerk move that exceeds neither `a` nor `v`, or takes t [s]."""
        begin = self._target()
        way = max(abs(x - y) for x, y in zip(q, begin, strict=True))
        seconds = t or max(1.875 * way / v, math.sqrt(5.774 * way / a), self.step_s)
        periods = max(1, math.ceil(seconds / (self.step_s * self.speed_fraction)))
        for k in range(1, periods + 1):
            u = k / periods
            s = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
            yield from self._towards([x + s * (y - x) for x, y in zip(begin, q, strict=True)], 1)

    def _set_load(
        self,
        m: float,
        cog: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0,) * 6,
        transition_time: float = 0.0,
    ) -> None:
        if m < 0.0 or len(cog) != 3 or len(inertia) != 6:
            raise ScriptError(f"payload {m}, {list(cog)}, {list(inertia)}")
        self.load = (float(m), [float(x) for x in cog], [float(x) for x in inertia])
