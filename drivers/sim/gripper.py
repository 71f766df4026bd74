"""A simulated two-finger gripper that picks up and drops objects of given inertia."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.driver import Context, Gripper
from heft.drivers.errors import CommandError
from heft.drivers.options import NonNegative, Positive, RateHz
from heft.drivers.plant.objects import ObjectOptions
from heft.drivers.plant.sensor import Sensor
from heft.drivers.sim.device import DeviceOptions, SimDevice
from heft.drivers.stream import Column, Stream

__all__ = ["GripperOptions", "ObjectOptions", "SimGripper"]


class GripperOptions(DeviceOptions):
    """Two fingers that close at constant speed until they touch."""

    rate_hz: RateHz = 100.0
    #: Largest opening [m], and speed of the fingers' distance [m/s].
    stroke: Positive = 0.085
    speed: Positive = 0.1
    #: Motor current while moving and while holding [A], and its noise [A rms].
    moving_current: NonNegative = 0.15
    holding_current: NonNegative = 0.4
    current_noise: NonNegative = 0.01
    #: Whether its states say that something is held; those of many do not, and a controller reports it by MQTT.
    detects: bool = True
    #: What there is to pick up, by name.
    objects: Annotated[dict[str, ObjectOptions], Field(default_factory=dict)]


class SimGripper(SimDevice, Gripper):
    """Yields `NAME.state`: opening [m], current [A], object detected (0 or 1; only where it `detects`).

    An object is held from the moment the fingers touch it to the moment they begin to open.
    """

    Options = GripperOptions
    MODEL = "simulated gripper"

    def __init__(self, name: str, options: GripperOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._gripper = options
        self._moves: list[tuple[float, float, float]] = [
            (0.0, options.stroke, options.stroke)
        ]  # start [s], from, to [m]
        self._holding: list[tuple[float, bool]] = [(0.0, False)]
        width = 3 if options.detects else 2
        sensor = Sensor.draw(
            self._rng("bias"),
            noise=np.array([0.0, options.current_noise, 0.0])[:width],
            bias=np.zeros(width),
            drift=np.zeros(width),
            resolution=np.array([1e-5, 1e-3, 1.0])[:width],
        )
        stream = Stream(
            name=f"{name}.state",
            columns=(
                Column("fingers", "opening", "m", 1e-5, raw_unit="count"),
                Column("fingers", "current", "A", 1e-3, raw_unit="mA"),
                Column("object", "detected", "1"),
            )[:width],
            rate_hz=options.rate_hz,
            dtype="<i4",
            tick_hz=options.tick_hz,
            tick_bits=options.tick_bits,
        )
        self._add_sensor(stream, sensor, 0.0)

    async def grip(self, target: str = "") -> None:
        objects = self._gripper.objects
        if target and target not in objects:
            known = ", ".join(objects) or "none"
            raise CommandError(self.name, f"there is no object {target!r} to grip; known: {known}")
        t = self.world.now()
        thing = objects.get(target)
        touch = self._move(t, 0.0 if thing is None else thing.width)
        if thing is not None:
            self.world.schedule(touch, lambda: self.world.pick(target, thing.body))
            self._holding.append((touch, True))
        await self.clock.sleep_until(self.world.nanoseconds(touch))

    async def release(self) -> None:
        t = self.world.now()
        self.world.schedule(t, self.world.drop)
        self._holding.append((t, False))
        await self.clock.sleep_until(self.world.nanoseconds(self._move(t, self._gripper.stroke)))

    def _move(self, t: float, goal: float) -> float:
        """Send the fingers to an opening [m]; returns when they arrive [s]."""
        opening = float(self._opening(np.array([t]))[0])
        self._moves.append((t, opening, goal))
        return t + abs(goal - opening) / self._gripper.speed

    def _opening(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        start, begin, goal = np.array(self._moves)[self._latest(self._moves, t)].T
        way = np.minimum(np.maximum(t - start, 0.0) * self._gripper.speed, np.abs(goal - begin))
        return begin + np.sign(goal - begin) * way

    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        options = self._gripper
        opening = self._opening(t)
        goal = np.array(self._moves)[self._latest(self._moves, t), 2]
        held = np.array([h for _, h in self._holding])[self._latest(self._holding, t)]
        moving = np.abs(opening - goal) > 1e-9
        current = np.where(moving, options.moving_current, np.where(held, options.holding_current, 0.0))
        return [np.column_stack([opening, current, held] if options.detects else [opening, current])]

    @staticmethod
    def _latest(events: Sequence[tuple[float, ...]], t: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of the last event at or before each time, shape (N,)."""
        return np.maximum(np.searchsorted([e[0] for e in events], t + 1e-9, side="right") - 1, 0)
