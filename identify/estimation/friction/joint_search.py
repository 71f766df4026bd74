"""The search for the friction of one joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.estimation.friction.choice import JointFriction
from heft.identify.estimation.friction.friction_rows import FrictionRows
from heft.identify.estimation.friction.held_out import HeldOut
from heft.identify.estimation.friction.shapes import RowFilter, shape

__all__ = ["JointSearch"]

PENALTY = 2.0  # standard errors of the gain
NO_ERROR = (
    1e-3  # of the torque: less is how filters smooth the corners of friction, and no arm is known so well
)
FEWEST_BLOCKS = 8  # in which the joint moves
FEWEST_ROWS = 20  # of a joint, per column
STEPS = 6  # changes of one joint
FURTHER = ("coulomb_asymmetry", "stribeck", "load_friction")
SHAPES = ("coulomb", *FURTHER)  # terms whose column depends on the smoothing velocity
OCTAVES = range(-3, 7)  # of a velocity about the robot's own
FASTEST = 0.5  # of the joint's top speed: above, tanh is a straight line
APART = 2.0  # Stribeck velocity over smoothing velocity, at least


class JointSearch:
    """The search for one joint: `own` friction by the robot's file, with drive columns of these parameter names."""

    def __init__(
        self, own: JointFriction, number: int, names: Sequence[str], rows: FrictionRows, row_filter: RowFilter
    ) -> None:
        self._own, self._filter, self._joints = own, row_filter, rows.keep.shape[1]
        self._used = rows.keep[:, number] & row_filter.valid
        self._block = rows.block[self._used]
        self._names = [name.removeprefix(f"{own.joint}.") for name in names]
        self._drive = rows.drives[number]
        self._target = rows.rest[:, number]
        self._velocity = rows.velocity[:, number]
        self._load = None if rows.load is None else rows.load[:, number]
        self._shapes: dict[tuple[str, float, float], Array] = {}
        self._tanh: dict[float, Array] = {}

    def chosen(self) -> JointFriction:
        """The friction that predicts best, the robot's own where nothing is better."""
        enough = FEWEST_ROWS * (len(self._names) + len(FURTHER))
        if self._used.sum() < enough or len(np.unique(self._block)) < FEWEST_BLOCKS:
            return self._own
        friction = self._own
        for _ in range(STEPS):
            better = self._better(friction)
            if better is None:
                break
            friction = better
        return friction if friction is self._own else self._judged(friction)

    def _better(self, friction: JointFriction) -> JointFriction | None:
        """The best change that is worth its penalty."""
        frictions = [friction, *self._changes(friction)]
        columns, index = self._columns(frictions)
        held = HeldOut.of(columns, self._block)
        errors = np.empty((len(frictions), held.blocks))
        for size in {len(one) for one in index}:
            same = [i for i, one in enumerate(index) if len(one) == size]
            errors[same] = held.errors([index[i] for i in same])
        gain, std = _gain(errors[0] - errors)
        worth = gain - np.maximum(PENALTY * std, self._price(errors[0], len(frictions)))
        negative = self._negative(held, index[0], friction)
        for i in np.argsort(-worth):
            if i == 0 or worth[i] <= 0:
                return None
            if self._negative(held, index[i], frictions[i]) <= negative:
                return self._refined(frictions[i], friction, frictions, errors.sum(axis=1))
        return None

    def _price(self, errors: Array, candidates: int) -> float:
        """The gain that the best of all candidates of an arm may have by chance (extended BIC), and a floor.

        With N rows and P candidates, N / e times the gain of e = squared error must exceed log N + 2 log P.
        """
        rows, error = len(self._block), float(errors.sum())
        floor = NO_ERROR**2 * float((self._target[self._used] ** 2).sum())
        return max(error / rows * (np.log(rows) + 2 * np.log(candidates * self._joints)), floor)

    def _changes(self, friction: JointFriction) -> list[JointFriction]:
        """Every friction that is one change away."""
        fastest = FASTEST * self._top
        changes = []
        for octave in OCTAVES:
            speed = self._own.smoothing_velocity * 2.0**octave
            limit = fastest if "stribeck" not in friction.terms else friction.stribeck_velocity / APART
            if speed <= limit and speed != friction.smoothing_velocity:
                changes.append(replace(friction, smoothing_velocity=speed))
        for octave in OCTAVES:
            speed = self._own.stribeck_velocity * 2.0**octave
            is_own = "stribeck" in friction.terms and speed == friction.stribeck_velocity
            if APART * friction.smoothing_velocity <= speed <= fastest and not is_own:
                changes.append(replace(_with(friction, "stribeck"), stribeck_velocity=speed))
        for term in ("coulomb_asymmetry", "load_friction"):
            if term not in friction.terms and not (term == "load_friction" and self._load is None):
                changes.append(_with(friction, term))
        return changes

    def _columns(self, frictions: Sequence[JointFriction]) -> tuple[Array, list[tuple[int, ...]]]:
        """All columns that any of the frictions has, the target last, and the columns of each."""
        made: dict[tuple[str, float, float], int] = {}
        columns: list[Array] = []
        index = []
        for friction in frictions:
            picked = []
            for term in (*self._names, *friction.added):
                key = _key(term, friction)
                if key not in made:
                    made[key] = len(columns)
                    columns.append(self._column(term, friction)[self._used])
                picked.append(made[key])
            index.append(tuple(picked))
        return np.column_stack([*columns, self._target[self._used]]), index

    def _column(self, term: str, friction: JointFriction) -> Array:
        """One column at all rows: the rows' own, and the change from it where a velocity is another."""
        if term not in self._names:
            return self._shape(term, friction)
        own = self._drive[:, self._names.index(term)]
        if term not in SHAPES or _key(term, friction) == _key(term, self._own):
            return own
        return np.asarray(own + self._shape(term, friction) - self._shape(term, self._own))

    def _shape(self, term: str, friction: JointFriction) -> Array:
        key = _key(term, friction)
        if key not in self._shapes:
            _, smoothing, stribeck = key
            if smoothing not in self._tanh:
                self._tanh[smoothing] = np.tanh(self._fine / smoothing)
            load = self._fine_load if term == "load_friction" else None
            fine = shape(term, self._fine, self._tanh[smoothing], stribeck, load)
            self._shapes[key] = self._filter.rows(fine)
        return self._shapes[key]

    @cached_property
    def _fine(self) -> Array:
        return self._filter.fine(self._velocity)

    @cached_property
    def _fine_load(self) -> Array | None:
        return None if self._load is None else self._filter.fine(self._load)

    @cached_property
    def _top(self) -> float:
        """Top speed [rad/s, m/s]."""
        return float(np.abs(self._velocity[self._used]).max())

    def _negative(self, held: HeldOut, index: Sequence[int], friction: JointFriction) -> int:
        """How many coefficients have a sign that nature does not allow."""
        terms = [name.rpartition(".")[2] for name in (*self._names, *friction.added)]
        signed = np.array([JOINT_TERMS[term].non_negative for term in terms])
        return int((held.coefficients(index)[signed] < 0).sum())

    def _refined(
        self, best: JointFriction, before: JointFriction, frictions: Sequence[JointFriction], errors: Array
    ) -> JointFriction:
        """The friction with its new velocity between those that were tried, by a parabola over its logarithm."""
        for name in ("smoothing_velocity", "stribeck_velocity"):
            if getattr(best, name) == getattr(before, name):
                continue
            at = np.log2(getattr(best, name))
            tried = {
                round(float(np.log2(getattr(one, name)) - at), 6): float(error)
                for one, error in zip(frictions, errors, strict=True)
                if _at(one, name, getattr(best, name)) == best
            }
            if -1.0 in tried and 1.0 in tried:
                low, middle, high = tried[-1.0], tried[0.0], tried[1.0]
                bend = low - 2 * middle + high
                step = 0.5 * (low - high) / bend if bend > 0 else 0.0
                speed = float(f"{2.0 ** (at + np.clip(step, -0.5, 0.5)):.3g}")
                return _at(best, name, speed)
        return best

    def _judged(self, friction: JointFriction) -> JointFriction:
        """The friction with what it is worth against the robot's own."""
        columns, index = self._columns([self._own, friction])
        held = HeldOut.of(columns, self._block)
        before, after = held.errors([index[0]])[0], held.errors([index[1]])[0]
        gain, std = _gain(before - after)
        whole = float(before.sum())
        moved = tuple(
            name
            for name in ("smoothing_velocity", "stribeck_velocity")
            if getattr(friction, name) != getattr(self._own, name)
        )
        return replace(friction, moved=moved, gain=float(gain) / whole, gain_std=float(std) / whole)


def _at(friction: JointFriction, name: str, speed: float) -> JointFriction:
    """The friction with another velocity."""
    if name == "smoothing_velocity":
        return replace(friction, smoothing_velocity=speed)
    return replace(friction, stribeck_velocity=speed)


def _with(friction: JointFriction, term: str) -> JointFriction:
    """The friction with one more term."""
    if term in friction.terms:
        return friction
    return replace(friction, terms=(*friction.terms, term), added=(*friction.added, term))


def _key(term: str, friction: JointFriction) -> tuple[str, float, float]:
    """What a column depends on."""
    smoothing = friction.smoothing_velocity if term in SHAPES else 0.0
    return term, smoothing, friction.stribeck_velocity if term == "stribeck" else 0.0


def _gain(saved: Array) -> tuple[Array, Array]:
    """Sum over blocks of what is saved in each (..., B), and its standard error, both (...)."""
    blocks = saved.shape[-1]
    return saved.sum(axis=-1), np.sqrt(blocks) * saved.std(axis=-1, ddof=1)
