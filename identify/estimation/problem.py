"""The estimation problem: data, structure, prior and constraints.

The data are square-root information factors per joint (`information.reduction`): with weights w_j on the squared
torque residuals of joint j, the cost of standard parameters d, shape (p,), is

    cost(d) = sum_j w_j |Y_j d - tau_j|^2 = |R d - z|^2 + rho2

It depends on the base parameters K d alone (`heft.identify.robot.base`). `scales` are typical magnitudes of this
robot's parameters, for comparing numbers of different units; `metric` is a root of the prior's covariance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.consistency import (
    LEVELS,
    Box,
    Consistency,
    Level,
    consistency_of_links,
    half_diagonal,
)
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import PriorSpread, body_metric
from heft.identify.bodies.pseudo_inertia import second_moment_about_com
from heft.identify.errors import ParameterError, ProblemError
from heft.identify.estimation.carried import Carried, Shared
from heft.identify.estimation.constraints.declared import declared
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.estimation.constraints.own import ConstraintFunction, OwnConstraints, own_constraints
from heft.identify.estimation.prior import PriorLike, prior_of
from heft.identify.information.joint_weights import joint_weights
from heft.identify.information.reduction import Information
from heft.identify.robot import Robot
from heft.identify.robot.base import BaseParameters, base_parameters

__all__ = ["Bounds", "Problem", "Reweighter", "Weighting", "link_sizes"]

Weighting = Literal["joint", "none"]
UNKNOWN_SIZE = 0.15  # [m] half a link, where nothing says it
LEAST_SIZE = 0.05  # [m]
MOST_SIZE = 0.6  # [m] by inertia alone: files have wrong ones
UNKNOWN_SPREAD = 0.5  # without a prior: masses of one kilogram, each by as much
UNKNOWN_MASS = 1.0  # [kg]
UNKNOWN_DENSITY = (
    500.0  # [kg/m3] of its box, of a link that the file has no mass of while it has others': half water
)


class Reweighter(Protocol):
    """Reduces the data again, with a weight for each sample and joint (for robust estimators).

    `weigh` gets the indices of a block's samples, shape (B,), how long before the last one they were [s], shape (B,),
    and their residuals [N m] for `parameters`, shape (B, n), and answers with weights on the squares, shape (B, n). It
    is called for the blocks in order.
    """

    def __call__(self, weigh: Callable[[Array, Array, Array], Array], parameters: Array) -> Information: ...


@dataclass(frozen=True)
class Bounds:
    """Bounds on the parameters beyond consistency (003, Eq. 25 to 28).

    `mass` [kg] by link and `total_mass` [kg], each (lowest, highest); `com_in_box`: centres of mass inside
    the links' boxes, where they have one; `signs`: no negative friction and drive inertia.
    """

    mass: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    total_mass: tuple[float, float] | None = None
    com_in_box: bool = True
    signs: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", MappingProxyType(dict(self.mass)))
        both = {f"mass of {link}": pair for link, pair in self.mass.items()}
        if self.total_mass is not None:
            both["total mass"] = self.total_mass
        for what, (low, high) in both.items():
            if not 0 <= low <= high:
                raise ProblemError(f"{what}: bounds {low} to {high} kg must be 0 <= low <= high; swap them?")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "mass": {link: list(pair) for link, pair in self.mass.items()},
            "total_mass": None if self.total_mass is None else list(self.total_mass),
            "com_in_box": self.com_in_box,
            "signs": self.signs,
        }

    def __str__(self) -> str:
        parts = [f"mass of {link} {low:g} to {high:g} kg" for link, (low, high) in self.mass.items()]
        if self.total_mass is not None:
            parts.append("total mass {:g} to {:g} kg".format(*self.total_mass))
        parts += ["centres of mass inside the boxes"] if self.com_in_box else []
        parts += ["no negative friction"] if self.signs else []
        return ", ".join(parts)


def link_sizes(layout: Layout, extents: Mapping[str, Box], prior: Array | None) -> dict[str, float]:
    """Half the length of each link [m]: of the box that it fits in, or of an even bar with the prior's inertia if that
    is more. At least 5 cm.
    """
    sizes = {}
    for link in layout.links:
        sizes[link] = max(half_diagonal(extents[link]), LEAST_SIZE) if link in extents else UNKNOWN_SIZE
        ten = np.zeros(10) if prior is None else prior[layout.link(link)]
        if ten[0] > 0:
            longest = float(np.linalg.eigvalsh(second_moment_about_com(ten))[-1] / ten[0])
            bar = min(float(np.sqrt(3 * max(longest, 0.0))), MOST_SIZE)
            sizes[link] = max(bar, sizes[link] if link in extents else LEAST_SIZE)
    return sizes


@dataclass(frozen=True)
class _Posed:
    """What is asked, and all that follows from it; checks itself when it is made.

    `prior` are standard parameters, shape (p,), or None where nothing is known; the truth is within `spread` of
    them. `boxes` are the links' bounding boxes [m] in their own frames, as bounds; `extents` say how large links are,
    also where no bound is meant (default: the boxes). `weighting` is `joint` (weights by each joint's own residual),
    `none`, or the weights themselves, shape (n_joints,). `carried` is what a wrist sensor says about a part of a link.
    `declared` is what the robot's file knows exactly, `own` what the user demands beyond it.
    """

    information: Information
    base: BaseParameters
    layout: Layout
    level: Level = "full"
    prior: Array | None = None
    boxes: Mapping[str, Box] = field(default_factory=dict)
    extents: Mapping[str, Box] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    weighting: Weighting | Array = "joint"
    spread: PriorSpread = field(default_factory=PriorSpread)
    carried: Carried | None = None
    declared: Equalities | None = None
    own: OwnConstraints | None = None

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ParameterError(f"no level {self.level!r}; there are {', '.join(LEVELS)}")
        names, columns = tuple(self.information.names), self.base.matrix.shape[1]
        if names != self.layout.names or columns != len(self.layout):
            raise ParameterError("data and base parameters are of another robot; reduce the data with this")
        if self.prior is not None:
            object.__setattr__(self, "prior", frozen(self.layout.checked(self.prior)))
            if not np.all(np.isfinite(self.prior)):
                bad = self.layout.names[int(np.flatnonzero(~np.isfinite(self.prior))[0])]
                raise ProblemError(f"prior: {bad} is not a finite number; give it a value, or no prior")
        for link in (*self.boxes, *self.bounds.mass):
            self.layout.link(link)
        if self.level == "shape":
            missing = [link for link in self.layout.links if link not in self.boxes]
            if missing:
                raise ProblemError(
                    f"level shape asks for bounding boxes and {', '.join(missing)} has none; "
                    "write `box` under `links` in the robot's file, or use level full"
                )

    @classmethod
    def of(
        cls,
        robot: Robot,
        information: Information,
        *,
        level: Level = "full",
        prior: PriorLike = None,
        bounds: Bounds | None = None,
        weighting: Weighting | Array = "joint",
        constraints: ConstraintFunction | None = None,
    ) -> Self:
        """The problem of a robot and its reduced data; arguments as of `heft.identify.fit.fit`."""
        layout, known = Layout(robot.parameter_names), prior_of(robot, prior)
        return cls(
            information=information,
            base=base_parameters(robot),
            layout=layout,
            level=level,
            prior=known,
            boxes=robot.boxes,
            extents=robot.extents,
            bounds=Bounds(total_mass=robot.total_mass) if bounds is None else bounds,
            weighting=weighting,
            spread=robot.spread,
            declared=declared(robot, known),
            own=None if constraints is None else own_constraints(layout, constraints),
        )

    @property
    def joints(self) -> int:
        """Number of joints with data."""
        return len(self.information.rows)

    @cached_property
    def equalities(self) -> Equalities:
        """Linear equalities A d = b between the parameters: of the robot's file, then of the user. May be none."""
        known = self.declared or Equalities.none(len(self.layout))
        return known if self.own is None else known.and_also(self.own.equalities)

    @property
    def demands(self) -> tuple[str, ...]:
        """Names of all constraints beside bounds and consistency."""
        return (*self.equalities.distinct, *(() if self.own is None else self.own.constraints))

    @property
    def modelled(self) -> bool:
        """Whether the user demands what only cvxpy can state."""
        return self.own is not None and not self.own.linear

    def demanding(self, name: str) -> Self:
        """The same problem with one of its `demands` alone."""
        return replace(
            self,
            declared=(self.declared or Equalities.none(len(self.layout))).only(name),
            own=None if self.own is None else self.own.only(name),
        )

    @property
    def weighted_by_noise(self) -> bool:
        """Whether a weight is one over the residual's variance."""
        return isinstance(self.weighting, str) and self.weighting == "joint"

    @cached_property
    def vague(self) -> NDArray[np.int64]:
        """Places of parameters that may be anything: friction and offsets, and drive inertias that no prior tells."""
        return np.array(
            [
                i
                for terms in self.layout.joint_terms.values()
                for term, i in terms.items()
                if term != "drive_inertia" or not self.known[i] > 0
            ],
            dtype=np.int64,
        )

    @cached_property
    def known(self) -> Array:
        """The prior, or zeros."""
        return frozen(np.zeros(len(self.layout))) if self.prior is None else self.prior

    @cached_property
    def start(self) -> Array:
        """d0: the prior, or zeros, and with the hand as the wrist sensor has it."""
        if self.shared is None:
            return self.known
        start = self.known.copy()
        start[self.layout.link(self.shared.link)] = self.shared.centre
        return frozen(start)

    @cached_property
    def shared(self) -> Shared | None:
        """The link that the wrist sensor is on, between what it carries and the rest."""
        if self.carried is None:
            return None
        block = self.layout.link(self.carried.link)
        parts = self.parts(self.spread)
        return self.carried.shared(
            self.known[block], self.metric_of(self.spread)[block, block], self.scales[block], parts
        )

    def parts(self, spread: PriorSpread) -> tuple[Array, Array] | None:
        """Metrics of the rest of the wrist sensor's link and of what it carries, (10, 10) each.

        None where the robot's file does not tell one from the other.
        """
        if self.carried is None or self.carried.prior is None or self.prior is None:
            return None
        link, hand = self.carried.link, self.carried.prior
        rest, size = self.prior[self.layout.link(link)] - hand, self.sizes[link]
        if rest[0] <= 0 or hand[0] <= 0:
            return None
        wide = spread.widened(self.carried.widening)
        return body_metric(rest, spread.inertia, size), body_metric(hand, wide.inertia, size)

    @cached_property
    def masses(self) -> Mapping[str, float]:
        """How heavy each link is, roughly [kg]: of one without a mass in a file that has others, what fills its box."""
        masses = {}
        for link in self.layout.links:
            if link not in self.unknown:
                masses[link] = float(self.known[self.layout.link(link)][0])
            elif self.prior is None or link not in self.extents:
                masses[link] = UNKNOWN_MASS
            else:
                masses[link] = UNKNOWN_DENSITY * float(np.prod(np.ptp(self.extents[link], axis=0)))
        return masses

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Links of which no prior tells a mass."""
        return tuple(link for link in self.layout.links if not self.known[self.layout.link(link)][0] > 0)

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """Half the length of each link [m]."""
        return link_sizes(self.layout, {**self.boxes, **self.extents}, self.prior)

    @cached_property
    def scales(self) -> Array:
        """How large each parameter is, shape (p,): by mass and size, joint terms by their prior or the joint's torque.

        A drive of which nothing is known has at most the inertia of all links at the longest one's size.
        """
        scales = np.ones(len(self.layout))
        for link in self.layout.links:
            block = self.layout.link(link)
            mass, first = self.masses[link], self.known[block][1:4]
            reach = float(np.hypot(self.sizes[link], np.linalg.norm(first) / mass))
            scales[block] = mass * reach ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
        torques = self._torques()
        heavy = sum(self.masses.values()) * max(self.sizes.values()) ** 2
        for terms in self.layout.joint_terms.values():
            for term, i in terms.items():
                if term == "drive_inertia":
                    scales[i] = self.known[i] if self.known[i] > 0 else heavy
                else:
                    scales[i] = max(abs(self.known[i]), torques[i])
        return frozen(scales)

    def _torques(self) -> Array:
        """Root mean square of the torques that each parameter has a part in, the largest [N m], shape (p,).

        1 where there are none.
        """
        factors, rows = self.information.factors, self.information.rows
        squares = (factors[:, :, -1] ** 2).sum(axis=1) / np.maximum(rows, 1)
        part = np.any(factors[:, :, :-1] != 0, axis=1) & (rows > 0)[:, None]
        largest = np.where(part, squares[:, None], 0.0).max(axis=0)
        return np.where(largest > 0, np.sqrt(largest), 1.0)

    @cached_property
    def metric(self) -> Array:
        """S, shape (p, p): the truth is d0 + S x with x standard normal, as far as the prior knows.

        With what a wrist sensor says of its link; without it `metric_of`.
        """
        plain = self.metric_of(self.spread)
        if self.shared is None:
            return frozen(plain)
        block = self.layout.link(self.shared.link)
        plain[block, block] = self.shared.metric
        return frozen(plain)

    @cached_property
    def seen(self) -> Array:
        """S V1: the directions that torques depend on, shape (p, n_base) (see `least_squares`)."""
        return self.seen_by(self.metric)

    def seen_by(self, metric: Array) -> Array:
        """The same in another metric, shape (p, p)."""
        V, _ = np.linalg.qr((self.base.matrix @ metric).T)
        return frozen(metric @ V)

    @cached_property
    def joint_weights(self) -> tuple[Array, int]:
        """1 / sigma_j^2 of each joint's own residual, shape (n,), and the rounds that it took to find them."""
        return joint_weights(self.information, self.start, self.seen)

    def metric_of(self, spread: PriorSpread) -> Array:
        """The same for another spread, and without what a wrist sensor says: `body_metric` of each link."""
        metric = np.diag(spread.friction * self.scales)
        for link in self.layout.links:
            block, inertia = (
                self.layout.link(link),
                UNKNOWN_SPREAD if link in self.unknown else spread.inertia,
            )
            metric[block, block] = body_metric(
                self.known[block], inertia, self.sizes[link], self.masses[link]
            )
        for terms in self.layout.joint_terms.values():
            if "drive_inertia" in terms:
                i = terms["drive_inertia"]
                metric[i, i] = self.scales[i] * (spread.drive_inertia if self.known[i] > 0 else 1.0)
        return metric

    def links_of(self, parameters: Array) -> dict[str, Array]:
        """The ten numbers of each link."""
        return {link: parameters[self.layout.link(link)] for link in self.layout.links}

    def consistency(self, parameters: Array, level: Level | None = None) -> Consistency:
        """Consistency of parameters at the problem's level, or at another."""
        return consistency_of_links(self.links_of(parameters), level or self.level, self.boxes, self.sizes)

    @cached_property
    def prior_warnings(self) -> tuple[str, ...]:
        """What is wrong with the prior itself."""
        if self.prior is None:
            return (
                "no prior: where the data do not determine the links' parameters, they are as small as the "
                "level allows; give the prior masses, from a data sheet or CAD",
            )
        at_level = self.consistency(self.prior)
        if self.unknown:
            return (
                f"the robot's file has no mass of {', '.join(self.unknown)}: what data leave open of it is as small as "
                "the level allows, and may be as much as would fill its box; give its mass, from a data sheet or CAD",
            )
        if at_level.ok:
            return ()
        return (
            f"the prior is not consistent at level {self.level}: {at_level.culprit} has margin "
            f"{at_level.margin:.2g}, must be above 0; it is used as a target only, correct it",
        )

    def stacked(self, weights: Array, information: Information | None = None) -> tuple[Array, Array, float]:
        """R, z and rho2 of the cost with `weights` on the squared residuals, shape (n,)."""
        return (information or self.information).stacked(np.sqrt(weights))

    def cost(self, parameters: Array, weights: Array) -> float:
        """Sum of the weighted squared residuals."""
        return float(weights @ self.residual_squares(parameters))

    def residual_squares(self, parameters: Array, information: Information | None = None) -> Array:
        """|Y_j d - tau_j|^2 of each joint [N2 m2], shape (n,)."""
        factors = (information or self.information).factors
        return ((factors @ np.append(parameters, -1.0)) ** 2).sum(axis=1)


@dataclass(frozen=True)
class Problem(_Posed):
    """An estimation problem: what is asked, and two things that only estimators ask for.

    `reweight` reduces the data anew. `inflation` is the variance of what rows tell over that of independent ones:
    residuals that resemble their neighbours tell less. Nothing that is derived from the rest can depend on these two,
    because it is derived where they are not known.
    """

    reweight: Reweighter | None = None
    inflation: float = 1.0

    def updated(self, *, reweight: Reweighter | None, inflation: float = 1.0) -> Problem:
        """The same problem with another `reweight` and `inflation`; what has been derived is taken over."""
        same = replace(self, reweight=reweight, inflation=inflation)
        derived = {name for name, value in vars(_Posed).items() if isinstance(value, cached_property)}
        vars(same).update({name: value for name, value in vars(self).items() if name in derived})
        return same

    def widened(self, factor: float) -> Problem:
        """The same problem with `factor` times the prior's spread; joints' weights, which are the data's, stay."""
        if factor == 1.0:
            return self
        wider = replace(self, spread=self.spread.widened(factor))
        vars(wider)["joint_weights"] = self.joint_weights
        return wider
