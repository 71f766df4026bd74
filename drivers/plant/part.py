"""Some of the motors of a plant, for drives that move only these: an arm of several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.plant.faults import Fault
from heft.drivers.plant.history import History, State
from heft.drivers.plant.inertia import Inertia
from heft.drivers.plant.mover import Mover, PositionLaw
from heft.drivers.plant.plant import DeviceTruth, Plant

__all__ = ["PartialLaw", "PlantPart"]


class PartialLaw:
    """A law for all motors, asked for some: of the others it knows how they move, not where they are sent.

    law       for all n motors
    motors    places of those that it is asked for, shape (m,)
    present   position and velocity of all motors, shape (n,) each
    """

    def __init__(
        self,
        law: PositionLaw,
        motors: NDArray[np.intp],
        present: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]],
    ) -> None:
        self._law, self._motors, self._present = law, motors, present

    def reset(self) -> None:
        self._law.reset()

    def torque(
        self, q: NDArray[np.float64], v: NDArray[np.float64], reference: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        position, velocity = self._present()
        wanted = np.stack([position, velocity, np.zeros_like(velocity)])
        wanted[:, self._motors] = reference.reshape(3, -1)
        return self._law.torque(position, velocity, wanted.ravel())[self._motors]


class PlantPart(Plant):
    """A Plant of m of the n motors of another one, whose time, seeds, faults and truth are its own."""

    def __init__(self, whole: Plant, motors: Sequence[int]) -> None:
        self._whole, self._motors = whole, np.array(motors, dtype=np.intp)
        self.clock, self.seed, self.start_ns, self.devices = (
            whole.clock,
            whole.seed,
            whole.start_ns,
            whole.devices,
        )

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(self._whole.axes[k] for k in self._motors)

    @property
    def torque_per_ampere(self) -> NDArray[np.float64]:
        return self._whole.torque_per_ampere[self._motors]

    # -- what is measured and moved -----------------------------------------------------------------------------------

    def motor(self, t: NDArray[np.float64]) -> State:
        state = self._whole.motor(t)
        return State(state.q[:, self._motors], state.v[:, self._motors])

    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        q, v = self._whole.present()
        return q[self._motors], v[self._motors]

    def mean_torque(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        return self._whole.mean_torque(t, window_s)[:, self._motors]

    def reference(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        wanted = self._whole.reference(t).reshape(len(t), 3, -1)
        return wanted[:, :, self._motors].reshape(len(t), -1)

    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._whole.joint_positions(t)[:, self._motors]

    def wrench(
        self, t: NDArray[np.float64], window_s: float, frame: str | None = None
    ) -> NDArray[np.float64]:
        return self._whole.wrench(t, window_s, frame)

    def attach(self, mover: Mover, motors: NDArray[np.intp] | None = None) -> None:
        self._whole.attach(mover, self._motors if motors is None else self._motors[motors])

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        every = np.full(len(self._whole.axes), float(bandwidth_hz.mean()))
        every[self._motors] = bandwidth_hz
        return PartialLaw(self._whole.position_law(every, period_s), self._motors, self._whole.present)

    def pick(self, name: str, inertia: Inertia) -> None:
        self._whole.pick(name, inertia)

    def drop(self) -> None:
        self._whole.drop()

    # -- time, seeds, faults, truth -----------------------------------------------------------------------------------

    def advance(self, t_ns: int) -> None:
        self._whole.advance(t_ns)

    def schedule(self, t: float, event: Callable[[], None]) -> None:
        self._whole.schedule(t, event)

    def rng(self, device: str, purpose: str) -> np.random.Generator:
        return self._whole.rng(device, purpose)

    def inject(self, fault: Fault) -> None:
        self._whole.inject(fault)

    def faults(self, device: str) -> tuple[Fault, ...]:
        return self._whole.faults(device)

    def declare(self, device: str, truth: DeviceTruth) -> None:
        self._whole.declare(device, truth)

    def _tick(self, t: float, period: float) -> None:
        raise NotImplementedError("the whole plant moves, never a part of it")

    def _new_history(self, period_s: float) -> History:
        raise NotImplementedError("the whole plant remembers, never a part of it")
