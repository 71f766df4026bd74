"""Columns that belong together: one quantity of several joints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.guessing.names import MEASURED, MOTOR, NameHints, hints_of, plain_joint
from heft.daq.importing.table import ABSURD, Column, Table

__all__ = ["Family", "blocks", "changing", "copies", "families_of", "largest", "matched", "roughness"]

_COPY = 0.999  # correlation of a command with what follows it

QUALIFIERS = (
    MEASURED | MOTOR | {"raw", "filtered", "link", "joint", "axis"}
)  # of a quantity, not of a joint's name
SIDES = frozenset(("left", "right", "l", "r", "lh", "rh", "leader", "follower", "master", "slave"))
DEAD = 1e-9  # of its own size: a column that moves less carries no signal


@dataclass(frozen=True, eq=False)
class Family:
    """Columns of one table in the order of the file, what their common name says, and their first values (N, m).

    label  of each column: the joint that the file says it is of, or ""
    """

    name: str
    columns: tuple[Column, ...]
    labels: tuple[str, ...]
    hints: NameHints
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Which columns change at all, shape (m,)."""
        return changing(self.values)

    @property
    def side(self) -> frozenset[str]:
        """Words that say of which of two arms it is."""
        return frozenset(self.hints.words) & SIDES

    @property
    def known(self) -> bool:
        """Whether there is any number in it."""
        return bool(np.isfinite(self.values).any())


def changing(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns (N, m) change at all, shape (m,)."""
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray((high > low) & (high - low > DEAD * np.maximum(np.abs(high), np.abs(low))))


def largest(values: NDArray[np.float64]) -> float:
    """The largest of some numbers, whatever its sign; 0 without any."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def families_of(table: Table, joints: Sequence[str] = (), named: bool = True) -> list[Family]:
    """All columns of a table, each in one family; `joints` are the robot's, to be found in names.

    Without names (`named`) every column is its own: `blocks` of equal width are up to the caller.
    """
    groups: dict[str, list[tuple[Column, str, str]]] = {}  # by key: column, label, common name
    indexed = _indexed([c.name for c in table.columns if c.place is None]) if named else {}
    parted = _all_parted([c for c in table.columns if c.place is None], indexed) if named else {}
    for column in table.columns:
        if column.place is not None and named:
            quantity = hints_of(column.label).quantity if column.label else ""
            key = f"{column.array} {quantity}".strip()
            label = _without_quantity(column.label) if quantity else column.label
            groups.setdefault(key, []).append((column, label, f"{column.array} {quantity}"))
            continue
        joint = _joint_in(column.name, joints)
        if joint is not None:
            common = re.sub(re.escape(joint[1]), "", column.name, count=1, flags=re.IGNORECASE)
            groups.setdefault(f"joint:{common}", []).append((column, joint[0], common))
        elif column.name in parted:
            label, key = parted[column.name]
            groups.setdefault(f"part:{key}", []).append((column, label, key))
        elif column.name in indexed:
            common, _ = indexed[column.name]
            groups.setdefault(f"index:{common}", []).append((column, "", common.replace("#", "")))
        else:
            groups.setdefault(f"one:{column.name}", []).append((column, "", column.name))
    families = []
    for some in groups.values():
        columns = tuple(column for column, _, _ in some)
        if len(some) == 1 and not joints:  # a label of its own says nothing
            some = [(some[0][0], "", some[0][0].name)]
        if all(column.name in indexed for column in columns) and len(columns) > 1 and not some[0][1]:
            order = np.argsort([indexed[column.name][1] for column in columns], kind="stable")
            some = [some[k] for k in order]
            columns = tuple(column for column, _, _ in some)
        common = some[0][2] if len(some) > 1 or some[0][1] else columns[0].name
        whole = columns[0].place is not None and named
        if whole and len(some) == 1:
            common = columns[0].array
        hints = hints_of(common.strip(" ._-/:"), columns[0].unit)
        values = np.stack([np.asarray(table.head.column(column), np.float64) for column in columns], axis=1)
        values = np.where(np.abs(values) < ABSURD, values, np.nan)
        if hints.words == ("i",) and len(some) > 1:  # a lone one counts rows
            hints = replace(hints, quantity="current")
        name = columns[0].array if whole else common.strip(" ._-/:") or columns[0].name
        families.append(Family(name, columns, tuple(label for _, label, _ in some), hints, values))
    return families


def _joint_in(name: str, joints: Sequence[str]) -> tuple[str, str] | None:
    """The robot's joint that a name contains, and the part of the name that says so."""
    for joint in sorted(joints, key=len, reverse=True):
        for form in dict.fromkeys((joint, re.sub(r"(?i)[_-]?joint[_-]?", "", joint))):
            if len(form) > 2 and not form.isdigit():
                match = re.search(rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])", name, re.IGNORECASE)
                if match:
                    return joint, match[0]
    return None


def _indexed(names: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """By name: the name with its index as #, and the index. Of several numbers the one that counts the most columns."""
    options: dict[str, dict[str, int]] = {}
    for name in names:
        bare = re.sub(r"[\[(]\s*[^\])\d][^\])]*[\])]\s*$", "", name)
        unit = name[len(bare) :]
        for match in re.finditer(r"\d+", bare):
            key = bare[: match.start()] + "#" + bare[match.end() :] + unit
            options.setdefault(key, {})[name] = int(match[0])
    found: dict[str, tuple[str, int]] = {}
    for key, members in sorted(options.items(), key=lambda item: -len(item[1])):
        indices = sorted(members.values())
        if len(indices) > 1 and indices == list(range(indices[0], indices[0] + len(indices))):
            for name, index in members.items():
                found.setdefault(name, (key, index))
    return found


def _all_parted(columns: Sequence[Column], indexed: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """By name, label and the rest of names that have a joint and a quantity in them.

    Names that a number tells apart are left to `_indexed`, unless they go with others that have none: wrist_1, elbow.
    """
    found = {column.name: parts for column in columns if (parts := _parted(column)) is not None}
    mixed = {key for name, (_, key) in found.items() if name not in indexed}
    return {name: parts for name, parts in found.items() if parts[1] in mixed}


def _parted(column: Column) -> tuple[str, str] | None:
    """`shoulder_pan.position [rad]` as label and what is left; None where the name has no part that is a quantity."""
    parts = re.split(r"([._/: ]+)", re.sub(r"\s*[\[(][^\])]*[\])]\s*$", "", column.name))
    words = parts[::2]
    known = [k for k, word in enumerate(words) if hints_of(word).quantity]
    if len(known) != 1 or len(words) < 2 or hints_of(column.name).role != "measured":
        return None
    label = "_".join(
        word for k, word in enumerate(words) if k not in known and hints_of(f"{word} q").unit != word
    )
    unit = hints_of(column.name, column.unit).unit
    return (label, f"{words[known[0]]} [{unit}]" if unit else words[known[0]]) if label else None


def _without_quantity(label: str) -> str:
    """`shoulder_pan.pos` is of shoulder_pan."""
    parts = re.split(r"[._/ ]", label)
    kept = [part for part in parts if not hints_of(part).quantity]
    return "_".join(kept) or label


def matched(labels: Sequence[str], joints: Sequence[str]) -> list[int | None]:
    """For each label the place of the robot's joint that it means; None: of none, or of several."""
    plain = [plain_joint(joint) for joint in joints]
    places: list[int | None] = []
    for label in labels:
        exact = [k for k, joint in enumerate(joints) if joint == label]
        alike = exact or [k for k, joint in enumerate(plain) if joint == plain_joint(label) and label]
        places.append(alike[0] if len(alike) == 1 else None)
    return places


def blocks(singles: list[Family], n: int) -> list[Family]:
    """Columns without names, as blocks of n."""
    count = len(singles)
    if n == 0 or count < n:
        return singles
    blocks = []
    for start in range(0, count - n + 1, n):
        some = singles[start : start + n]
        columns = tuple(one.columns[0] for one in some)
        name = columns[0].name if n == 1 else f"{columns[0].name} ... {columns[-1].name}"
        values = np.concatenate([one.values for one in some], axis=1)
        blocks.append(Family(name, columns, ("",) * n, hints_of(""), values))
    return blocks


def roughness(family: Family) -> float:
    """Second differences over the range: small for what has inertia."""
    values = family.values[np.isfinite(family.values).all(axis=1)][: 1 << 14]
    if len(values) < 8:
        return np.inf
    span = np.ptp(values, axis=0)
    moved = span > 0
    if not moved.any():
        return np.inf
    return float(np.median(np.sqrt(np.mean(np.diff(values[:, moved], 2, axis=0) ** 2, axis=0)) / span[moved]))


def copies(one: Family, other: Family) -> bool:
    """Whether a family follows another: a command beside what was measured."""
    n = min(len(one), len(other))
    scores = []
    for k in range(n):
        a, b = one.values[:, k], other.values[:, k]
        both = np.isfinite(a) & np.isfinite(b)
        if both.sum() > 8 and np.ptp(a[both]) > 0 and np.ptp(b[both]) > 0:
            scores.append(float(np.corrcoef(a[both], b[both])[0, 1]))
    return bool(scores) and float(np.median(scores)) > _COPY
