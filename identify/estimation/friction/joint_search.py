"""The search for the friction of one joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.estimation.friction.choice import JointFriction
from heft.identify.estimation.friction.friction_rows import FrictionRows
from heft.identify.estimation.friction.held_out import HeldOut
from heft.identify.estimation.friction.shapes import RowFilter, shape
from heft.identify.robot.regressor.drives import TEMPERATURE_TERMS

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
LEAST_WARMING = 1.0  # [K] between the coldest and the warmest row
OCTAVES = range(-3, 7)  # of a velocity about the robot's own
FASTEST = 0.5  # of the joint's top speed: above, tanh is a straight line
APART = 2.0  # Stribeck velocity over smoothing velocity, at least

Key = tuple[str, float, float]  # term, smoothing velocity, Stribeck velocity; 0 where the column has none


class JointSearch:
    """The search for one joint: `own` friction by the robot's file, with drive columns of these parameter names."""

    def __init__(
        self, own: JointFriction, number: int, names: Sequence[str], rows: FrictionRows, row_filter: RowFilter
    ) -> None:
        self._own, self._filter, self._joints = own, row_filter, rows.keep.shape[1]
        self._used = rows.keep[:, number] & row_filter.valid
        self._block = rows.block[self._used]
        own_offsets = rows.recording[:, : rows.recording.shape[1] if "offset" in own.terms else 0]
        self._names = [name.removeprefix(f"{own.joint}.") for name in names]
        self._names += [f"recording{k + 1}.offset" for k in range(own_offsets.shape[1])]
        self._drive = np.hstack([rows.drives[number], own_offsets])
        self._target = rows.rest[:, number]
        self._velocity = rows.velocity[:, number]
        self._load = None if rows.load is None else rows.load[:, number]
        self._warmth = None if rows.warmth is None else rows.warmth[:, number]
        self._shapes: dict[Key, Array] = {}

    def chosen(self) -> JointFriction:
        """The friction that predicts best, the robot's own where nothing is better."""
        enough = FEWEST_ROWS * (len(self._names) + len(FURTHER))
        if (
            self._used.sum() < enough
            or len(np.unique(self._block)) < FEWEST_BLOCKS
            or not self._is_promising()
        ):
            return self._own
        friction = self._own
        for _ in range(STEPS):
            better = self._better(friction)
            if better is None:
                break
            friction = better
        return friction if friction is self._own else self._judged(friction)

    def _is_promising(self) -> bool:
        """Whether any of a few candidates explains half of its price, by all blocks together: most joints end here."""
        few = [self._own, *self._changes(self._own, OCTAVES[1::2])]
        columns, index = self._columns(few)
        held = HeldOut.of(columns, self._block)
        errors = _by_size(index, held.fitted)
        return float(errors[0] - errors.min()) > 0.5 * self._price(float(errors[0]), len(few))

    def _better(self, friction: JointFriction) -> JointFriction | None:
        """The best change that is worth its penalty."""
        frictions = [friction, *self._changes(friction)]
        held, index, errors = self._errors(frictions)
        gain, std = _gain(errors[0] - errors)
        worth = gain - np.maximum(PENALTY * std, self._price(float(errors[0].sum()), len(frictions)))
        negative = self._negative(held, index[0], friction)
        for i in np.argsort(-worth):
            if i == 0 or worth[i] <= 0:
                return None
            if self._negative(held, index[i], frictions[i]) <= negative:
                return self._refined(frictions[i], friction)
        return None

    def _errors(self, frictions: Sequence[JointFriction]) -> tuple[HeldOut, list[tuple[int, ...]], Array]:
        """Held-out squared errors of each block, shape (len(frictions), B), and the columns they are from."""
        columns, index = self._columns(frictions)
        held = HeldOut.of(columns, self._block)
        return held, index, _by_size(index, held.errors)

    def _price(self, error: float, candidates: int) -> float:
        """The gain that the best of all candidates of an arm may have by chance (extended BIC), and a floor.

        With N rows and P candidates, N / e times the gain of e = squared error must exceed log N + 2 log P.
        """
        rows = len(self._block)
        floor = NO_ERROR**2 * float((self._target[self._used] ** 2).sum())
        return max(error / rows * float(np.log(rows) + 2 * np.log(candidates * self._joints)), floor)

    def _changes(self, friction: JointFriction, octaves: Sequence[int] = OCTAVES) -> list[JointFriction]:
        """Every friction that is one change away."""
        fastest = FASTEST * self._top
        changes = []
        for octave in octaves:
            speed = self._own.smoothing_velocity * 2.0**octave
            limit = fastest if "stribeck" not in friction.terms else friction.stribeck_velocity / APART
            if speed <= limit and speed != friction.smoothing_velocity:
                changes.append(replace(friction, smoothing_velocity=speed))
        for octave in octaves:
            speed = self._own.stribeck_velocity * 2.0**octave
            is_own = "stribeck" in friction.terms and speed == friction.stribeck_velocity
            if APART * friction.smoothing_velocity <= speed <= fastest and not is_own:
                changes.append(replace(_with(friction, "stribeck"), stribeck_velocity=speed))
        further = ["coulomb_asymmetry", *([] if self._load is None else ["load_friction"])]
        if self._warmth is not None and np.ptp(self._warmth[self._used]) > LEAST_WARMING:
            further += TEMPERATURE_TERMS
        changes += [_with(friction, term) for term in further if term not in friction.terms]
        return changes

    def _columns(self, frictions: Sequence[JointFriction]) -> tuple[Array, list[tuple[int, ...]]]:
        """All columns that any of the frictions has, the target last, and the columns of each."""
        keys = [[_key(term, friction) for term in (*self._names, *friction.added)] for friction in frictions]
        made = {key: number for number, key in enumerate(dict.fromkeys(key for one in keys for key in one))}
        self._filter_shapes([key for key in made if key[0] in SHAPES])  # before columns that are made of them
        columns = [self._column(key)[self._used] for key in made]
        index = [tuple(made[key] for key in one) for one in keys]
        return np.column_stack([*columns, self._target[self._used]]), index

    def _column(self, key: Key) -> Array:
        """One column at all rows: the rows' own, and the change from it where a velocity is another."""
        term, smoothing, _ = key
        if term in TEMPERATURE_TERMS and term not in self._names:  # slow: it passes the filter as it is
            assert self._warmth is not None
            beside = ("coulomb", smoothing, 0.0) if term == "coulomb_temperature" else ("viscous", 0.0, 0.0)
            return self._warmth * self._column(beside)
        if term not in self._names:
            return self._shapes[key]
        own = self._drive[:, self._names.index(term)]
        if key == (at := _key(term, self._own)):
            return own
        return np.asarray(own + self._shapes[key] - self._shapes[at])

    def _filter_shapes(self, keys: Sequence[Key]) -> None:
        """Compute the columns of shapes that are not there yet, and those of the robot's own velocities beside them."""
        terms = dict.fromkeys(key[0] for key in keys)
        wanted = dict.fromkeys([*keys, *(_key(term, self._own) for term in terms)])
        missing = [key for key in wanted if key not in self._shapes]
        if not missing:
            return
        tanh = {speed: np.tanh(self._fine / speed) for speed in {smoothing for _, smoothing, _ in missing}}
        fine = np.stack(
            [
                shape(term, self._fine, tanh[smoothing], stribeck, self._fine_load)
                for term, smoothing, stribeck in missing
            ]
        )
        self._shapes.update(zip(missing, self._filter.rows(fine), strict=True))

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

    def _refined(self, best: JointFriction, before: JointFriction) -> JointFriction:
        """The friction with its new velocity between those that were tried: halving steps, then a parabola.

        A Stribeck velocity is the robot's own unless another is worth its penalty.
        """
        name = _changed_velocity(best, before)
        if name is None:
            return best
        at = float(np.log2(getattr(best, name)))
        for width in (0.5, 0.25):
            steps = (-width, 0.0, width)
            errors = self._errors([_at(best, name, 2.0 ** (at + step)) for step in steps])[2].sum(axis=1)
            at += steps[int(np.argmin(errors))]
        low, middle, high = errors.tolist()
        if middle < min(low, high):
            at += 0.5 * width * (low - high) / (low - 2 * middle + high)
        refined = _at(best, name, float(f"{2.0**at:.3g}"))
        own = _at(best, name, getattr(self._own, name))
        return refined if name == "smoothing_velocity" or self._is_worth(own, refined) else own

    def _is_worth(self, friction: JointFriction, other: JointFriction) -> bool:
        """Whether another friction is better than one by more than its penalty."""
        errors = self._errors([friction, other])[2]
        gain, std = _gain(errors[0] - errors[1])
        return float(gain) > max(PENALTY * float(std), self._price(float(errors[0].sum()), 1))

    def _judged(self, friction: JointFriction) -> JointFriction:
        """The friction with what it is worth against the robot's own."""
        before, after = self._errors([self._own, friction])[2]
        gain, std = _gain(before - after)
        whole = float(before.sum())
        moved = tuple(
            name
            for name in ("smoothing_velocity", "stribeck_velocity")
            if getattr(friction, name) != getattr(self._own, name)
            and (name == "smoothing_velocity" or "stribeck" in self._own.terms)
        )
        return replace(friction, moved=moved, gain=float(gain) / whole, gain_std=float(std) / whole)


def _by_size(index: Sequence[tuple[int, ...]], of: Callable[[Sequence[tuple[int, ...]]], Array]) -> Array:
    """What `of` says of each choice of columns, in their order, where it takes choices of equally many: (C, ...)."""
    sizes = np.array([len(one) for one in index])
    parts = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    found = np.concatenate([of([index[i] for i in part.tolist()]) for part in parts])
    return np.asarray(found[np.argsort(np.concatenate(parts))])


def _changed_velocity(friction: JointFriction, before: JointFriction) -> str | None:
    """The velocity that is another than before, or is new; None where a term without a velocity is."""
    if friction.smoothing_velocity != before.smoothing_velocity:
        return "smoothing_velocity"
    new = "stribeck" in friction.terms and "stribeck" not in before.terms
    return "stribeck_velocity" if new or friction.stribeck_velocity != before.stribeck_velocity else None


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


def _key(term: str, friction: JointFriction) -> Key:
    """What a term's column depends on."""
    smoothing = friction.smoothing_velocity if term in (*SHAPES, "coulomb_temperature") else 0.0
    return term, smoothing, friction.stribeck_velocity if term == "stribeck" else 0.0


def _gain(saved: Array) -> tuple[Array, Array]:
    """Sum over blocks of what is saved in each (..., B), and its standard error, both (...)."""
    blocks = saved.shape[-1]
    return saved.sum(axis=-1), np.sqrt(blocks) * saved.std(axis=-1, ddof=1)
