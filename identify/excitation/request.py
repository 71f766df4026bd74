"""What a design is asked for, and the optimisation problem that it makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import SceneConfig
from heft.daq.trajectory.fourier import FourierSeries
from heft.daq.trajectory.limits import Limits
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.balance import Balance
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.fourier_basis import FourierBasis
from heft.identify.excitation.problem import FourierProblem
from heft.identify.excitation.sampled_regressor import SampledRegressor
from heft.identify.excitation.scene import Scene
from heft.identify.excitation.support import Support, support_of
from heft.identify.excitation.wrench_noise import wrench_noise
from heft.identify.robot import Robot
from heft.identify.robot.base import BaseParameters, Rest, base_parameters
from heft.identify.robot.regressor import BASE

__all__ = ["NOISE", "DesignRequest"]

NOISE = 0.01  # of the torque limit, where nothing says what the torques' noise is
WRIST = 3  # joints that move for a payload
LEAST_USE = 0.05  # [rad], [m]: a joint that can move less tells nothing
SMOOTH = 0.07  # of the velocity limit: Coulomb friction changes sign within it, while the optimiser looks


@dataclass(frozen=True, eq=False)
class DesignRequest:
    """A motion of `seconds` [s] that tells most about `target`, by `criterion`.

    limits    of the joints; with brakes, a stop from every sample has to end inside them
    target    `links`: the base parameters of the arm. `payload`: the ten of what the hand holds, by the last joints
    noise     standard deviation of every row that is measured: torques [N m] (n,), and wrenches of a free base; None: a
              share of the torque limits, and of the weight beyond a sensor
    given     information of earlier sessions about the same parameters, in their own units (c, c); None: none
    rate_hz   at which torques and wrenches are measured
    earlier   motions of earlier sessions: searches begin at those of the same length and number of harmonics, too
    posture   [rad] (n,): where joints that do not move stand; None: chosen
    measured  of a free base, what is measured (`Robot.sources`); None: all wrench sensors of its file
    """

    config: RobotConfig
    scene: SceneConfig
    limits: Limits
    seconds: float = 20.0
    harmonics: int = 5
    criterion: str = "d"
    target: str = "links"
    noise: Array | None = None
    given: Array | None = None
    rate_hz: float = 1000.0
    posture: Array | None = None
    seed: int = 0
    starts: int = 12
    budget_s: float = 50.0
    measured: tuple[str, ...] | None = None
    earlier: tuple[FourierSeries, ...] = ()

    @cached_property
    def whole(self) -> Robot:
        """The robot with its joints' torques, whether they are measured or not."""
        return Robot.from_config(self.config)

    @cached_property
    def robot(self) -> Robot:
        """The robot as identification sees it: with rows for what is measured."""
        if not self.whole.tree.free:
            return self.whole
        return self.whole.measuring(tuple(self.whole.sensors) if self.measured is None else self.measured)

    @cached_property
    def support(self) -> Support | None:
        """What carries a free base; None where it is fixed."""
        return support_of(self.whole) if self.whole.tree.free else None

    @cached_property
    def held(self) -> tuple[int, ...]:
        """Joints that have to stay where `stance` has them, so that feet rest."""
        return () if self.support is None else self.support.held

    @cached_property
    def stance(self) -> Array:
        """[rad] (n,): where joints are held: as `posture` has them, else as the model file draws them."""
        if self.posture is not None:
            return np.asarray(self.posture, dtype=np.float64)
        return np.clip(0.0, self.limits.lower, self.limits.upper)

    @cached_property
    def balance(self) -> Balance | None:
        """What a robot that stands keeps; None where it need not."""
        if self.support is None or not self.support.feet or self.whole.prior is None:
            return None
        soles = self.support.soles(self.config, self.whole, self.stance)
        return Balance(self.whole.measuring((BASE,)), soles, self.config.excitation.balance_margin)

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters that are told of: of a free base those that show while its root rests."""
        if self.support is None:
            return base_parameters(self.robot)
        return base_parameters(self.robot, Rest(tuple((k, float(self.stance[k])) for k in self.held)))

    @cached_property
    def surroundings(self) -> Scene:
        """The arm among its obstacles."""
        return Scene(self.config, self.robot, self.scene)

    @cached_property
    def bounds(self) -> Limits:
        """The limits, with the narrower ranges of the robot's file."""
        lower, upper = self.limits.lower.copy(), self.limits.upper.copy()
        for name, (low, high) in self.config.excitation.ranges.items():
            k = self.limits.axes.index(name)
            if not max(lower[k], low) < min(upper[k], high):
                raise ProblemError(
                    f"excitation.ranges.{name}: {low:g} to {high:g} leaves nothing of its limits {lower[k]:g} to "
                    f"{upper[k]:g}; give a range inside them"
                )
            lower[k], upper[k] = max(lower[k], low), min(upper[k], high)
        brakes = self.limits.brakes if self.config.excitation.keep_stop else ()
        return replace(self.limits, lower=lower, upper=upper, brakes=brakes)

    @property
    def moving(self) -> tuple[int, ...]:
        """Joints that move."""
        n = len(self.limits.axes)
        first = 0 if self.target == "links" else max(0, n - WRIST)
        return tuple(k for k in range(first, n) if k not in self.held)

    @cached_property
    def least_use(self) -> Array | None:
        """How far joints that move have to go at least [rad, m] (n,); None where nobody asks for anything."""
        asked = self.config.excitation.least_use
        least = np.array([asked.get(name, 0.0) for name in self.limits.axes])
        least[[k for k in range(len(least)) if k not in self.moving]] = 0.0
        return least if least.any() else None

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Parameters that are to be told, indices: base parameters, or the ten of the last link of a known arm."""
        if self.target == "links":
            return self.base.independent
        last = len(self.robot.joints) - 1
        return tuple(range(10 * last, 10 * last + 10))

    @cached_property
    def row_noise(self) -> Array:
        """Standard deviation of every row that is measured [N m, N]."""
        if self.noise is not None:
            return np.asarray(self.noise, dtype=np.float64)
        noise = NOISE * np.array([joint.torque for joint in self.config.joints.values()])
        if self.support is not None:
            noise = np.concatenate([noise, wrench_noise(self.robot, {})])[self.robot.measured_rows]
        return np.asarray(noise)

    def rows_of(self, motion: tuple[Array, Array, Array]) -> Array:
        """The regressor's measured rows along a motion (T, n), shape (T, rows, p); a free root rests upright."""
        rows = self.robot.regressor.dense(*motion)
        return rows if self.support is None else rows[:, self.robot.measured_rows]

    @cached_property
    def torque_bound(self) -> Array | None:
        """[N m] (n,): the torque limits, less one standard deviation of the links' weight; None without a prior.

        Infinite for joints that are held between feet and root: how two legs share the load is up to the drives.
        """
        if self.robot.prior is None:
            return None
        limit = np.array([joint.torque for joint in self.config.joints.values()])
        limit[list(self.held)] = np.inf
        return limit / (1.0 + 2.0 * self.robot.spread.inertia)

    @property
    def basis(self) -> FourierBasis:
        """The series among which is chosen."""
        return FourierBasis(self.harmonics, self.seconds)

    @cached_property
    def scale(self) -> Array:
        """What deviations are compared with, (c,): the prior's values, at least 1 % of the largest of its kind."""
        if self.robot.prior is None:
            return np.ones(len(self.columns))
        if self.target == "links":
            values = np.abs(self.base.matrix @ self.robot.prior)
        else:
            values = np.abs(self.robot.prior[list(self.columns)])
        return np.maximum(values, 0.01 * max(float(values.max()), 1e-6))

    def problem(self, centre: Array) -> FourierProblem:
        """The problem about a posture [rad] (n,)."""
        columns = self.columns
        per_sample = np.zeros((len(columns),) * 2)
        if self.given is not None:
            per_sample = self.given / (self.rate_hz * self.seconds)
        return FourierProblem(
            SampledRegressor(
                self.robot,
                columns,
                SMOOTH * self.limits.velocity,
                None if self.support is None else self.whole,
            ),
            self.basis,
            self.bounds,
            self.moving,
            centre,
            CRITERIA[self.criterion],
            self.row_noise,
            per_sample,
            self.scale,
            torque=self.torque_bound,
            scene=self.surroundings if self.config.excitation.collisions else None,
            balance=self.balance,
            least_use=self.least_use,
            held=self.held,
            peaks_only=self.support is not None,
        )

    def check(self) -> None:
        """`ProblemError` where no motion can be made, whatever its coefficients: the joint, its limit, the bound."""
        if self.support is not None:
            self._check_support(self.support)
        if not 0.1 <= self.seconds <= 3600.0:
            raise ProblemError(f"--seconds {self.seconds:g}: a design lasts 0.1 to 3600 s; give another")
        for k, value in enumerate([] if self.posture is None else self.posture.tolist()):
            low, high = float(self.bounds.lower[k]), float(self.bounds.upper[k])
            if not low <= value <= high:
                raise ProblemError(
                    f"--posture: {self.limits.axes[k]} at {value:g} rad, its range is {low:g} to {high:g} rad; "
                    "give a posture inside it"
                )
        for k in self.moving:
            name, limits = self.limits.axes[k], self.bounds
            ways = {
                "position": float(limits.upper[k] - limits.lower[k]),
                "velocity": float(limits.velocity[k]) * self.seconds / 4,
                "acceleration": float(limits.acceleration[k]) * self.seconds**2 / 16,
            }
            which = min(ways, key=ways.__getitem__)
            if ways[which] < LEAST_USE:
                raise ProblemError(
                    f"{name}: its {which} limit lets it move by {ways[which]:.3g} rad in {self.seconds:g} s, at least "
                    f"{LEAST_USE:g} rad are needed to tell anything; widen this limit, or give it more seconds"
                )
            ways["velocity"] *= 2.0  # there and back without a rest
            which = min(ways, key=ways.__getitem__)
            if self.least_use is not None and ways[which] < self.least_use[k]:
                raise ProblemError(
                    f"{name}: its {which} limit lets it move by at most {ways[which]:.3g} rad in {self.seconds:g} s, "
                    f"excitation.least_use asks for {self.least_use[k]:g} rad; ask for less, or give it more seconds"
                )

    def _check_support(self, support: Support) -> None:
        """`ProblemError` where a free base asks for what is not possible."""
        name = self.whole.name
        if self.target == "payload":
            raise ProblemError(
                f"--for payload: {name}'s base moves freely, and motions for a payload are designed for arms whose "
                "base stands still; design for links"
            )
        if not any(source != "joints" for source in self.robot.sources or ()):
            raise ProblemError(
                f"{name}: its base moves freely, and no wrench is measured; a motion is designed for the sensors under "
                f"`wrench_sensors` of its file ({', '.join(self.whole.sensors)}): add their devices to the rig"
            )
        if support.feet and self.balance is None:
            raise ProblemError(
                f"{name}: it stands on {', '.join(support.feet)}, and without masses in its file nobody knows when it "
                "tips; give them, or hang it on a crane"
            )
        if self.balance is not None:
            still = np.zeros((1, len(self.limits.axes)))
            room = float(self.balance.room(self.stance[None], still, still)[0])
            if room < self.balance.margin_m:
                raise ProblemError(
                    f"{name}: standing as it begins, its centre of pressure is {room:.3f} m inside its soles, at least "
                    f"{self.balance.margin_m:g} m are kept (excitation.balance_margin); give a --posture that stands "
                    "better"
                )
