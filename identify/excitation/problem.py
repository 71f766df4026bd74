"""The design of an excitation as an optimisation problem over Fourier coefficients.

A joint's position is centre + half range (B z), with z its free coefficients (`FourierBasis`): limits of position,
velocity and acceleration are linear in z, and 1 is about the size of all of it. Torque, stops and distances are
constraints at samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heft.daq.trajectory.fourier import FourierSeries
from heft.daq.trajectory.limits import Limits
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.balance import Balance
from heft.identify.excitation.criterion import Criterion, evaluate
from heft.identify.excitation.fourier_basis import FourierBasis
from heft.identify.excitation.optimiser import Evaluation
from heft.identify.excitation.sample_constraints import (
    APART,
    SampleConstraints,
    collision_constraints,
    stop_constraints,
    torque_constraints,
    use_constraints,
)
from heft.identify.excitation.sampled_regressor import MotionGradient, RegressorSample, SampledRegressor
from heft.identify.excitation.scene import Scene

__all__ = ["FourierProblem"]

#: Of the highest harmonic's period: points at which the criterion and torques are looked at, and at which limits are.
POINTS, LIMIT_POINTS = 16, 40
#: Between two of LIMIT_POINTS a sinusoid exceeds both by 1 - cos(pi / 40) = 0.31 % of its amplitude.
ROOM = 0.996
#: On a grid this many times finer than that of the optimiser's criterion a design is checked.
FINER = 10


@dataclass(frozen=True, eq=False)
class FourierProblem:
    """What is asked: the best series of `basis` inside the limits.

    limits      of all n joints
    moving      joints that move; the others stay at `centre`
    centre      [rad] (n,), about which coefficients are counted
    torque      bounds [N m] (n,), or None where torques are not known
    noise       standard deviation of each measured row: the joints' torques [N m], six numbers of every wrench
    given       information that is there already, (c, c)
    scale       what deviations are compared with, (c,)
    p           exponent of the criterion's rounding
    extra_m     [m] added to the scene's clearance, for what is between samples
    torque_room share of the torque bounds that may be used, for what is between samples
    balance     of a robot that stands, or None
    least_use   how far each joint goes at least [rad, m] (n,), or None
    held        joints that stand still, also at an end of their range
    peaks_only  of a constraint's samples only those count where it is largest: with many joints there are thousands
    density     of the criterion's grid, times the usual
    use_room    times `least_use` is gone, so that a motion may be made a little smaller
    stop_room   share of half the range by which stops end inside it, for what is between samples
    """

    regressor: SampledRegressor
    basis: FourierBasis
    limits: Limits
    moving: tuple[int, ...]
    centre: Array
    criterion: Criterion
    noise: Array
    given: Array
    scale: Array
    torque: Array | None = None
    scene: Scene | None = None
    balance: Balance | None = None
    least_use: Array | None = None
    held: tuple[int, ...] = ()
    peaks_only: bool = False
    p: float = 4.0
    extra_m: float = 0.005
    torque_room: float = 0.99
    stop_room: float = 0.004
    use_room: float = 1.02
    density: int = 1

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.moving) * self.basis.size

    @cached_property
    def half(self) -> Array:
        """[rad] (moving,): half the range."""
        wide = 0.5 * (self.limits.upper - self.limits.lower)
        return wide[list(self.moving)]

    @property
    def points(self) -> int:
        """Of the grid on which the criterion is evaluated."""
        return self.density * max(POINTS * self.basis.harmonics, 60)

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array]:
        return self.basis.at(self.basis.grid(self.points))

    @cached_property
    def matrix(self) -> Array:
        """A of the linear limits, rows scaled so that the bound is 1."""
        lower, upper = self.limits.lower, self.limits.upper
        position, velocity, acceleration = self.basis.at(self.basis.grid(LIMIT_POINTS * self.basis.harmonics))
        blocks = []
        for k, joint in enumerate(self.moving):
            place = slice(k * self.basis.size, (k + 1) * self.basis.size)
            for B, above, below in (
                (position, upper[joint] - self.centre[joint], self.centre[joint] - lower[joint]),
                (velocity, self.limits.velocity[joint], self.limits.velocity[joint]),
                (acceleration, self.limits.acceleration[joint], self.limits.acceleration[joint]),
            ):
                for sign, bound in ((1.0, above), (-1.0, below)):
                    block = np.zeros((len(B), self.size))
                    block[:, place] = sign * B * (self.half[k] / (ROOM * bound))
                    blocks.append(block)
        return np.vstack(blocks)

    @cached_property
    def bound(self) -> Array:
        """b: ones."""
        return np.ones(len(self.matrix))

    @cached_property
    def lengths(self) -> Array:
        """Of the rows of `matrix`."""
        return np.asarray(np.linalg.norm(self.matrix, axis=1))

    def share_of_limits(self, x: Array) -> Array:
        """The largest share of its linear limits that each moving joint uses, (moving,)."""
        m = self.basis.size
        per = len(self.matrix) // len(self.moving)
        return np.array(
            [
                (self.matrix[k * per : (k + 1) * per, k * m : (k + 1) * m] @ x[k * m : (k + 1) * m]).max()
                for k in range(len(self.moving))
            ]
        )

    def coefficients(self, x: Array) -> Array:
        """z of all joints [rad] (n, 2 L - 1), about zero."""
        z = np.zeros((len(self.centre), self.basis.size))
        z[:, 0] = self.centre
        z[list(self.moving)] += x.reshape(len(self.moving), -1) * self.half[:, None]
        return z

    def series(self, x: Array) -> FourierSeries:
        """The series that x stands for."""
        return self.basis.series(self.coefficients(x))

    def motion(self, x: Array) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration on the grid, each (T, n)."""
        z = self.coefficients(x)
        position, velocity, acceleration = (B @ z.T for B in self._grid)
        return position, velocity, acceleration

    def evaluate(self, x: Array) -> Evaluation:
        """The criterion and the constraints at x, with their derivatives."""
        q, dq, ddq = self.motion(x)
        sample = self.regressor.sample(q, dq, ddq)
        weights = self._weights
        W = sample.dense * np.tile(weights, len(q))[:, None]
        F = W.T @ W / len(q) + self.given
        value, by_F = evaluate(self.criterion, F, self.p, self.scale)
        G = (2.0 / len(q)) * (W @ by_F) * np.tile(weights, len(q))[:, None]
        gradient = self._to_coefficients(sample.pull_back(G))
        found = SampleConstraints.joined([self._constraints(sample, q, dq, ddq), self.uses(q)], q.shape[1])
        return Evaluation(value, gradient, found.value, self._constraint_slopes(found))

    def value(self, x: Array) -> float:
        """The criterion alone."""
        q, dq, ddq = self.motion(x)
        W = self.regressor.sample(q, dq, ddq, slopes=False).dense * np.tile(self._weights, len(q))[:, None]
        return evaluate(self.criterion, W.T @ W / len(q) + self.given, self.p, self.scale)[0]

    def violations(self, x: Array) -> SampleConstraints:
        """The constraints at samples that are close to their bounds or beyond."""
        return self.constraints_of(*self.motion(x))

    def constraints_of(self, q: Array, dq: Array, ddq: Array) -> SampleConstraints:
        """The same of any motion (T, n)."""
        return self._constraints(self.regressor.sample(q, dq, ddq, slopes=False), q, dq, ddq)

    def uses(self, q: Array) -> SampleConstraints:
        """That joints go as far as they have to along a whole motion (T, n); a start may be smaller."""
        if self.least_use is None:
            return SampleConstraints.none(q.shape[1])
        return use_constraints(q, self.use_room * self.least_use, self.limits.axes)

    @cached_property
    def _weights(self) -> Array:
        return 1.0 / self.noise if self.criterion.weighted else np.ones(len(self.noise))

    def _constraints(self, sample: RegressorSample, q: Array, dq: Array, ddq: Array) -> SampleConstraints:
        parts = []
        if self.torque is not None and sample.torque is not None:
            parts.append(torque_constraints(sample, self.torque_room * self.torque, self.limits.axes))
        if self.limits.brakes:
            stops = stop_constraints(self.limits, q, dq, self.stop_room)
            held = np.isin(stops.series % APART, self.held)
            parts.append(stops.only(np.flatnonzero(~held)) if held.any() else stops)
        if self.scene is not None:
            parts.append(collision_constraints(self.scene, q, self.extra_m))
        if self.balance is not None:
            parts.append(self.balance.constraints(q, dq, ddq, self.extra_m, slopes=sample.moved is not None))
        found = SampleConstraints.joined(parts, q.shape[1])
        return found.peaks() if self.peaks_only else found

    def _to_coefficients(self, gradient: MotionGradient) -> Array:
        moving = list(self.moving)
        total = np.zeros((len(moving), self.basis.size))
        for by_motion, B in zip(gradient, self._grid, strict=True):
            total += by_motion[:, moving].T @ B
        return (total * self.half[:, None]).ravel()

    def _constraint_slopes(self, found: SampleConstraints) -> Array:
        moving = list(self.moving)
        total = np.zeros((len(found.value), len(moving), self.basis.size))
        for kind, B in enumerate(self._grid):
            total += found.slopes[kind][:, moving, None] * B[found.sample][:, None, :]
        return (total * self.half[None, :, None]).reshape(len(found.value), self.size)
