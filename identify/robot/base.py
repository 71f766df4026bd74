"""Base parameters: the combinations of a robot's parameters that its torques depend on.

Found numerically (Gautier 1991, as 002 section III and 003 section 4 use it), from the robot's structure and not
from data: regressors at seeded random states, stacked to W. Columns are taken in order, links from the base
outwards and drives after them; a column that the earlier ones span is left out, and its parameter joins theirs:

    W x = W_b (x_b + K x_d),   x_b independent, x_d dependent,   base parameters = x_b + K x_d = matrix x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import LINK_TERMS
from heft.identify.errors import ParameterError
from heft.identify.robot import Robot
from heft.identify.robot.regressor import Regressor

__all__ = ["BaseParameters", "Rest", "base_parameters", "link_combinations"]

ABSENT = 1e-9  # length of a column, relative to the longest, that counts as zero
DEPENDENT = 3e-5  # what may be left of a column of length 1 that others span: angles in files are rounded
_SCAN = ("xx", "xy", "xz", "yy", "yz", "zz", "mx", "my", "mz", "m")  # 003, Eq. 13


@dataclass(frozen=True)
class Rest:
    """What rests in a motion: a free root, upright, and `joints`, each by its number and position [rad, m]."""

    joints: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """n_base combinations of p parameters.

    names        readable, as `link2.xx - link2.zz + 0.55 link3.my`
    matrix       base parameters = matrix @ parameters, shape (n_base, p)
    independent  the parameter that each combination is named after, indices, shape (n_base,)
    groups       004: `identifiable` on their own, only `combined`, and `unidentifiable`: parameter names
    """

    names: tuple[str, ...]
    parameters: tuple[str, ...]
    matrix: Array
    independent: tuple[int, ...]
    groups: Mapping[str, tuple[str, ...]]

    @property
    def rank(self) -> int:
        """n_base."""
        return len(self.names)

    def condition_number(self, R: Array) -> float:
        """Ratio of the largest to the smallest singular value of the base columns of R, (k, p)."""
        if R.ndim != 2 or R.shape[1] != len(self.parameters):
            raise ParameterError(f"a factor of shape {R.shape} for {len(self.parameters)} parameters")
        values = np.linalg.svd(R[:, list(self.independent)], compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > 0 else float("inf")


@lru_cache(maxsize=16)
def base_parameters(robot: Robot, rest: Rest | None = None) -> BaseParameters:
    """The base parameters of a robot; with `rest`, of motions in which these parts of it rest."""
    names = robot.parameter_names
    W = _structure(robot, rest)
    length = np.linalg.norm(W, axis=0)
    absent = length <= ABSENT * length.max()
    W = W / np.where(absent, 1.0, length)
    order = _scan_order(robot)
    independent = _independent([k for k in order if not absent[k]], W)
    dependent = [k for k in order if k not in set(independent)]
    K = np.linalg.lstsq(W[:, independent], W[:, dependent], rcond=None)[0]
    K = K * length[dependent] / length[independent][:, None]
    K[:, absent[dependent]] = 0.0
    K[np.abs(K) < 1e-10] = 0.0
    K = np.round(K, 12)
    matrix = np.zeros((len(independent), len(names)))
    matrix[:, independent] = np.eye(len(independent))
    matrix[:, dependent] = K
    return BaseParameters(
        names=tuple(_combination(row, lead, names) for row, lead in zip(matrix, independent, strict=True)),
        parameters=names,
        matrix=frozen(matrix),
        independent=tuple(independent),
        groups=_groups(names, matrix),
    )


def link_combinations(robot: Robot) -> tuple[int, tuple[str, ...]]:
    """How many combinations of link parameters what is measured determines whatever the sensors' biases are, and the
    link parameters that it tells nothing of: those that it does not depend on, or only as a bias would.
    """
    names, W = robot.parameter_names, _structure(robot)
    length = np.linalg.norm(W, axis=0)
    absent = length <= ABSENT * length.max()
    W = W / np.where(absent, 1.0, length)
    first = len(Regressor(robot.links, robot.tree, robot.drives).names)  # biases of sensors come last
    biases, _ = np.linalg.qr(W[:, first:])
    W = W - biases @ (biases.T @ W)
    links = [k for k in _scan_order(robot) if k < 10 * len(robot.links)]
    seen = [k for k in links if not absent[k] and np.linalg.norm(W[:, k]) > DEPENDENT]
    return len(_independent(seen, W)), tuple(names[k] for k in sorted(set(links) - set(seen)))


def _structure(robot: Robot, rest: Rest | None = None) -> Array:
    """Regressors at random states (with `rest`, of what moves), as many rows as there are parameters, (p, p)."""
    rng = np.random.default_rng(0)
    n, p = len(robot.joints), len(robot.parameter_names)
    rows = robot.measured_rows
    samples = 4 * p // max(int(rows.sum()), 1) + 40
    reach = np.where(robot.tree.prismatic, 1.0, np.pi)
    q = rng.uniform(-1, 1, (samples, n)) * reach
    # Velocities of all sizes, so that friction shapes differ: from far below the smoothing velocity to fast.
    slow, fast = 0.1 * robot.drives.smoothing_velocity, np.full(n, 5.0)
    dq = np.exp(rng.uniform(np.log(slow), np.log(fast), (samples, n))) * rng.choice([-1.0, 1.0], (samples, n))
    ddq = rng.uniform(-20, 20, (samples, n))
    warmth = rng.uniform(-20, 20, (samples, n)) if robot.drives.uses_temperature else None
    base = rng.uniform(-20, 20, (samples, 9)) * ([0.25] * 3 + [1] * 6) if robot.tree.free else None
    since: Array | None = rng.uniform(-1, 1, samples)
    if rest is not None:
        base = since = None  # drifts are a matter of a recording, not of a posture or motion
        for joint, position in rest.joints:
            q[:, joint], dq[:, joint], ddq[:, joint] = position, 0.0, 0.0
    W = robot.regressor.dense(q, dq, ddq, warmth, base, since)[:, rows].reshape(-1, p)
    return np.linalg.qr(W).R


def _scan_order(robot: Robot) -> list[int]:
    """Indices of the parameters: links with inertia first and mass last (003, Eq. 13), then drives."""
    place = [LINK_TERMS.index(term) for term in _SCAN]
    bodies = list(range(len(robot.links)))
    if robot.tree.free:  # the root, which the others hang on
        bodies.insert(0, bodies.pop(len(robot.joints)))
    links = [10 * i + k for i in bodies for k in place]
    return links + list(range(len(links), len(robot.parameter_names)))


def _independent(order: list[int], W: Array) -> list[int]:
    """Those of the unit columns `order` that earlier ones do not span (Gram-Schmidt, twice over)."""
    basis = np.zeros((len(W), 0))
    independent = []
    for k in order:
        rest = W[:, k] - basis @ (basis.T @ W[:, k])
        rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > DEPENDENT:
            independent.append(k)
            basis = np.column_stack([basis, rest / left])
    return independent


def _groups(names: tuple[str, ...], matrix: Array) -> Mapping[str, tuple[str, ...]]:
    """The three groups of 004: alone in its combination and in no other; in combinations; in none."""
    members = (matrix != 0).sum(axis=1)
    groups: dict[str, list[str]] = {"identifiable": [], "combined": [], "unidentifiable": []}
    for k, name in enumerate(names):
        rows = np.flatnonzero(matrix[:, k])
        if len(rows) == 0:
            group = "unidentifiable"
        elif len(rows) == 1 and members[rows[0]] == 1:
            group = "identifiable"
        else:
            group = "combined"
        groups[group].append(name)
    return MappingProxyType({group: tuple(members) for group, members in groups.items()})


def _combination(row: Array, lead: int, names: tuple[str, ...]) -> str:
    """A readable sum, the independent parameter first."""
    text = names[lead]
    for k in np.flatnonzero(row):
        if k != lead:
            size = abs(row[k])
            text += f" {'-' if row[k] < 0 else '+'} {'' if size == 1 else f'{size:.6g} '}{names[k]}"
    return text
