"""One table of a file, looked at for time, positions, velocities and torques of a robot's joints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.guessing.agreement import Agreement, agreement, integrates
from heft.daq.importing.guessing.families import (
    Family,
    blocks,
    changing,
    copies,
    families_of,
    largest,
    matched,
    roughness,
)
from heft.daq.importing.guessing.gears import position_gear, torque_constant, torque_gear
from heft.daq.importing.guessing.guessed import Guess, RobotFacts, column_name
from heft.daq.importing.guessing.joint_units import angle_unit, velocity_unit
from heft.daq.importing.guessing.names import COMMAND, DERIVED, MODEL
from heft.daq.importing.guessing.time_base import guess_time, stated_rate
from heft.daq.importing.table import Column, Table
from heft.daq.importing.turns import TurnCounter, starts_anew
from heft.daq.importing.units import known_unit, to_si

__all__ = ["JointTable"]

MOST_UNKNOWN = 32  # families without a name that are tried pair by pair


class JointTable:
    """One table, looked at for time, positions, velocities and torques of the joints."""

    def __init__(
        self, table: Table, robot: RobotFacts, comments: Sequence[str], named: bool, prefix: bool
    ) -> None:
        self.table, self.robot, self.prefix = table, robot, prefix
        self.found = Guess()
        self.times = [] if table.stamped else guess_time(table)
        self.rate = stated_rate(table, comments)
        self.reasons: dict[str, str] = {}
        taken = {column.name for one in self.times for column in one.columns}
        self.t = self._seconds()
        self.families = self._families(named, taken)
        self.width = self._width()
        self.position: Family | None = None
        self.position = self._named("position")
        self.velocity = self._named("velocity", beside=self.position)
        self.torque = self._named("torque", beside=self.position) or self._named("current", self.position)
        self._by_agreement()

    def _families(self, named: bool, taken: set[str]) -> list[Family]:
        """Columns that belong together, without those that are `taken`; by their places where names tell nothing."""
        every = families_of(self.table, self.robot.joints, named)
        every = [one for one in every if not {c.name for c in one.columns} <= taken]
        if not named:
            return self._blocks(every)
        several = [one for one in every if len(one) > 1]
        told = any(one.hints.quantity or any(one.labels) for one in every)
        if told or len(several) != 1 or len(several[0]) < 2 * max(1, len(self.robot.joints)):
            return every
        # One array, or columns x1, x2, ..., of everything.
        beside = {column.name for one in every if one is not several[0] for column in one.columns}
        return self._families(False, taken | beside)

    def _blocks(self, singles: list[Family]) -> list[Family]:
        """Columns without names as blocks of the robot's joints; else so that one block integrates to another."""
        singles = [one for one in singles if one.known]
        count = len(singles)
        sizes = [count // parts for parts in (3, 2, 4) if count % parts == 0 and count >= parts]
        if self.robot.joints:
            sizes = [len(self.robot.joints)]
        tried = [blocks(singles, n) for n in sizes]
        for some in tried:
            pairs = itertools.permutations(some[:MOST_UNKNOWN], 2)
            if len(tried) == 1 or any(integrates(self._agreement(one, other)) for one, other in pairs):
                return some
        return tried[0] if tried else blocks(singles, count)

    @property
    def score(self) -> tuple[float, ...]:
        """How much of an arm this table is."""
        return (
            float(self.position is not None) + float(self.torque is not None),
            float(self.velocity is not None),
            float(
                0
                if self.position is None
                else sum(p is not None for p in self._places(self.position)) or len(self.position)
            ),
            float(len(self.table.head)),
        )

    def guess(self) -> Guess:
        """The map of this table."""
        self._guess_time()
        joints = self._joints()
        if joints:
            self.found.map["joints"] = joints
        elif self.robot.joints:
            self.found.notes.append(
                f"the robot has {len(self.robot.joints)} joints, the file has {self._sizes()}"
            )
        elif self.families:
            self.found.notes.append(f"numbers of columns: {self._sizes()}")
        self._signal_units()
        return self.found

    def _sizes(self) -> str:
        """Names of the first families and how many columns each has."""
        return ", ".join(f"{one.name} ({len(one)})" for one in self.families[:6])

    # -- which family is what -----------------------------------------------------------------------------------------

    def _width(self) -> int:
        """Number of joints: the robot's, or that of the most families."""
        if self.robot.joints:
            return len(self.robot.joints)
        widths = [len(one) for one in self.families if len(one) > 1 and one.hints.quantity]
        widths = widths or [len(one) for one in self.families if len(one) > 1]
        return max(set(widths), key=lambda w: (widths.count(w), w)) if widths else 1

    def _fits(self, family: Family) -> bool:
        """Whether it can be of the robot's joints: so many columns, or columns of its joints by name."""
        if not self.robot.joints:
            return len(family) == self.width
        named = [place for place in self._places(family) if place is not None]
        return len(family) >= self.width or (len(named) > 0 and len(set(named)) == len(named))

    def _places(self, family: Family) -> list[int | None]:
        """Of its columns, the places of the robot's joints that they are of by name; without, as positions are."""
        labels = family.labels
        if not any(labels):
            texts = [  # the last ones: of a CSV by `ros2 topic echo --csv` they stand before the numbers
                [str(one) for one in value.reshape(-1)[-len(family) :].tolist()]
                for value in self.table.constants.values()
                if value.dtype.kind in "US" and value.size >= len(family)
            ]
            labels = tuple(texts[0]) if texts else labels
        first = self.position
        if not any(labels) and first is not None and any(first.labels) and len(first) == len(family):
            labels = first.labels
        return matched(labels, self.robot.joints) if any(labels) else [None] * len(family)

    def _named(self, quantity: str, beside: Family | None = None) -> Family | None:
        """The measured family of this quantity's name, of the same arm as `beside`, that with most signal first."""
        own = [one for one in self.families if one.hints.quantity == quantity and self._fits(one)]
        measured = [one for one in own if self._is_measured(one)]
        alive = [one for one in measured if one.live.any()]
        if not measured:
            return None
        best = max(
            alive or measured,
            key=lambda one: (
                beside is not None and one.side == beside.side,
                int(one.live.sum()),
                not one.hints.motor,
                one.hints.emphatic,
                -len(one.hints.words),
            ),
        )
        why = f"named {best.name!r}"
        others = [one.name for one in own if one is not best]
        if others:
            why += f", rather than {', '.join(others[:3])}"
        self.reasons[best.name] = why
        return best

    def _is_measured(self, family: Family) -> bool:
        """By its name; what ends in r is a reference where the same name without it is there, else a right arm's."""
        if family.hints.role == "measured":
            return True
        bare = tuple(word for word in family.hints.words if not word.isdigit())
        names = {one.hints.words for one in self.families}
        return bare[-1:] == ("r",) and not set(bare) & (COMMAND | MODEL | DERIVED) and bare[:-1] not in names

    def _by_agreement(self) -> None:
        """Fill in what names do not tell: what integrates to what."""
        known = {id(one) for one in (self.position, self.velocity, self.torque)}
        unknown = [
            one
            for one in self.families
            if id(one) not in known and not one.hints.quantity and one.live.any() and self._fits(one)
        ][:MOST_UNKNOWN]
        if self.position is None or self.velocity is None:
            pairs = [
                (found.share, one, other)
                for one in ([self.position] if self.position else unknown)
                for other in ([self.velocity] if self.velocity else unknown)
                if one is not other and integrates(found := self._agreement(one, other))
            ]
            rates = {id(other) for _, _, other in pairs}  # what integrates to something is no position
            pairs = [pair for pair in pairs if id(pair[1]) not in rates] or pairs
            if pairs:
                share, self.position, self.velocity = max(pairs, key=lambda pair: pair[0])
                why = f"its increments are the integral of {self.velocity.name!r} ({100 * share:.0f} % of the joints)"
                self.reasons.setdefault(self.position.name, why)
                self.reasons.setdefault(self.velocity.name, f"integrates to {self.position.name!r}")
        rest = [one for one in unknown if one is not self.position and one is not self.velocity]
        if self.position is None and rest:
            self.position = min(rest, key=roughness)
            self.reasons[self.position.name] = "the smoothest of the columns without a known name"
            rest.remove(self.position)
        if self.torque is None and self.position is not None:
            rest = [
                one for one in rest if not any(copies(one, p) for p in (self.position, self.velocity) if p)
            ]
            if self.velocity is not None:  # accelerations
                rest = [one for one in rest if not integrates(self._agreement(self.velocity, one))]
            if rest:
                self.torque = rest[0]
                self.reasons[self.torque.name] = (
                    "no known name; neither position nor velocity nor a copy of them: taken for torque"
                )

    def _agreement(self, position: Family, velocity: Family) -> Agreement:
        n = min(len(position), len(velocity))
        values = position.values[:, :n]
        for turn in (2 * np.pi, 360.0):
            values = TurnCounter(np.where(starts_anew(values, turn), turn, 0.0))(values)
        return agreement(self.t, values, velocity.values[:, :n])

    # -- time ---------------------------------------------------------------------------------------------------------

    def _seconds(self) -> NDArray[np.float64]:
        """Times of the head's rows [s], as far as they are known yet; numbers of rows where they are not."""
        head = self.table.head
        if head.stamped_ns is not None or head.received_ns is not None:
            ns = head.stamped_ns if head.stamped_ns is not None else head.received_ns
            assert ns is not None
            return np.asarray((ns - ns[0]) * 1e-9)
        if self.times:
            return self.times[0].seconds(head)
        return np.arange(len(head)) / (self.rate[0] if self.rate else 1.0)

    def _guess_time(self) -> None:
        found = self.found
        if self.table.stamped:
            stamped = self.table.head.stamped_ns is not None
            column = "header.stamp" if stamped else "received"
            found.map["time"] = {"column": column, "unit": "ns"}
            reason = (
                "the stamps of the messages' headers" if stamped else "when the bag received each message"
            )
            found.tell([column_name(self.table, column, self.prefix)], "time", "ns", reason)
            return
        if self.times:
            first = next((one for one in self.times if not one.host), self.times[0])
            time: dict[str, Any] = {"column": first.column.name, "unit": first.unit}
            if first.nanoseconds is not None:
                time["nanoseconds"] = first.nanoseconds.name
            found.tell([column.name for column in first.columns], "time", first.unit, first.reason)
            second = next(
                (one for one in self.times if one.host and one is not first and one.nanoseconds is None), None
            )
            if second is not None:
                time |= {"host": second.column.name, "host_unit": second.unit}
                found.tell(
                    [second.column.name], "host time", second.unit, f"{second.reason}; the host's, by name"
                )
            found.map["time"] = time
            for other in self.times:
                if other is not first and other is not second:
                    those = [column.name for column in other.columns]
                    found.tell(those, "ignored", "", "a second column of times")
            return
        if self.rate is not None:
            found.map["rate_hz"] = self.rate[0]
            found.tell(["(rows)"], "time", "", f"no column of times; {self.rate[0]:g} Hz by {self.rate[1]}")
            return
        if self.position is not None and self.velocity is not None:
            ratio = self._agreement(self.position, self.velocity).ratio
            if np.isfinite(ratio) and ratio > 0:
                rate = _round_rate(ratio)
                found.map["rate_hz"] = rate
                self.t = self.t / rate
                names = f"{self.velocity.name!r} integrates to {self.position.name!r}"
                why = f"no column of times; at {ratio:.4g} Hz {names}"
                found.tell(["(rows)"], "time", "", why)

    # -- joints and units ---------------------------------------------------------------------------------------------

    def _joints(self) -> list[str]:
        """The joints in the order of the columns of positions."""
        family = self.position
        if family is None:
            return []
        places = self._places(family)
        if self.robot.joints:
            named = [place for place in places if place is not None]
            if named and len(set(named)) == len(named):
                return [self.robot.joints[place] for place in named]
            return list(self.robot.joints)
        labels = family.labels
        if any(labels) and len(set(labels)) == len(labels):
            return list(labels)
        return [f"joint{k + 1}" for k in range(len(family))]

    def _columns(self, family: Family) -> tuple[list[str], tuple[Column, ...], str]:
        """The columns of the joints in their order, as a map names them; and a word on how they were chosen."""
        places = self._places(family)
        columns, why = family.columns, ""
        named = [k for k, place in enumerate(places) if place is not None]
        if self.robot.joints and named:
            wanted = [self.robot.joints.index(joint) for joint in self._joints()]
            by_joint = {places[k]: columns[k] for k in named}
            columns = tuple(by_joint[place] for place in wanted if place in by_joint)
            why = "; joints by name"
        elif len(columns) > self.width:
            columns, why = columns[: self.width], f"; the first {self.width} of {len(columns)} columns"
        names = [column.name for column in columns]
        if (
            family.columns[0].place is not None
            and columns == family.columns
            and columns == self.table.find(family.name)
        ):
            names = [family.name]
        return [column_name(self.table, name, self.prefix) for name in names], columns, why

    def _signal_units(self) -> None:
        found = self.found
        if self.position is not None:
            names, columns, why = self._columns(self.position)
            values = np.stack([np.asarray(self.table.head.column(c), np.float64) for c in columns], axis=1)
            unit, because = angle_unit(values, self.position.hints, self._limits(), self._prismatic())
            gear, told = position_gear(self.table, self.position, values)
            found.map["position"] = {"columns": names, "unit": unit, **gear}
            turns = np.zeros(len(columns)) if gear else _turns(values, unit)
            if turns.any():
                found.map["position"]["wrapped"] = True
                first = columns[int(np.argmax(turns))].name
                told += f"; {first} starts anew after a turn: whole turns are added"
                values = TurnCounter(turns)(values)
            found.tell(
                names,
                "position",
                str(unit),
                f"{self.reasons.get(self.position.name, '')}{why}; {because}{told}",
            )
            if self.velocity is not None:
                self._velocity(unit, columns, values)
        if self.torque is not None:
            self._torque()
        temperature = self._named("temperature")
        if temperature is not None and temperature.known and len(temperature) >= self.width:
            names, _, why = self._columns(temperature)
            stated = temperature.hints.unit if known_unit("temperature", temperature.hints.unit) else "degC"
            found.map["temperature"] = {"columns": names, "unit": stated or "degC"}
            found.tell(names, "temperature", stated or "degC", f"{self.reasons[temperature.name]}{why}")

    def _velocity(self, unit: Any, columns: Sequence[Column], position: NDArray[np.float64]) -> None:
        assert self.velocity is not None
        names, own, why = self._columns(self.velocity)
        if len(own) != len(columns):
            return
        values = np.stack([np.asarray(self.table.head.column(c), np.float64) for c in own], axis=1)
        units = unit if isinstance(unit, list) else [unit] * len(columns)
        si = position * np.array([to_si("position", one)[0] for one in units])
        if isinstance(self.found.map["position"].get("gear"), list):
            si = si / np.array(self.found.map["position"]["gear"])
        chosen, because = velocity_unit(agreement(self.t, si, values), self.velocity.hints, self._prismatic())
        self.found.map["velocity"] = {"columns": names, "unit": chosen}
        reason = f"{self.reasons.get(self.velocity.name, '')}{why}; {because}"
        self.found.tell(names, "velocity", str(chosen), reason)

    def _torque(self) -> None:
        assert self.torque is not None
        names, columns, why = self._columns(self.torque)
        hints = self.torque.hints
        values = np.stack([np.asarray(self.table.head.column(c), np.float64) for c in columns], axis=1)
        if hints.unit and known_unit("torque", hints.unit):
            unit, because = hints.unit, f"named in {hints.unit}"
        elif hints.quantity == "current":
            large = largest(values) > 200
            unit, because = ("mA", "a current, too large for A") if large else ("A", "a current")
        else:
            unit, because = "N m", "taken to be in N m"
        entry: dict[str, Any] = {"columns": names, "unit": unit}
        turned = "gear" in self.found.map.get("position", {})
        gear, told = torque_gear(self.table, self.torque, self.families, values, turned=turned)
        constant = torque_constant(self.table, len(columns)) if unit in ("A", "mA") else None
        if constant is not None:
            entry["constant"] = constant[1]
            told += f"; constants: {constant[0]}"
        elif unit == "%":
            told += "; of rated torques, to be given as `constant` [N m]"
        elif unit in ("A", "mA"):  # the robot's file has both, or neither is known
            gear, told = {}, "; N m/A by the robot's file, or `constant` and `gear`"
        entry |= gear
        dead = int((~changing(values)).sum())
        if dead:
            told += f"; no signal in {dead} of {len(columns)} columns"
        self.found.map["torque"] = entry
        self.found.tell(
            names, "torque", unit, f"{self.reasons.get(self.torque.name, '')}{why}; {because}{told}"
        )

    def _prismatic(self) -> list[bool]:
        """Of the joints in the order of the columns."""
        known = dict(zip(self.robot.joints, self.robot.prismatic, strict=False))
        return [known.get(joint, False) for joint in self._joints()]

    def _limits(self) -> NDArray[np.float64]:
        """Of the joints in the order of the columns (n, 2)."""
        known = dict(zip(self.robot.joints, self.robot.position, strict=False))
        unbounded = np.array([-np.inf, np.inf])
        return np.array([known.get(joint, unbounded) for joint in self._joints()]).reshape(-1, 2)


def _turns(values: NDArray[np.float64], unit: str | list[str]) -> NDArray[np.float64]:
    """Of columns (N, n) that start anew after a whole turn, how much that is in their unit; 0 of others (n,)."""
    units = unit if isinstance(unit, list) else [unit] * values.shape[1]
    si = [to_si("position", one) for one in units]
    turns = np.array([2 * np.pi / factor if kind == "rad" else np.inf for factor, _, kind in si])
    return np.where(starts_anew(values, turns), turns, 0.0)


def _round_rate(rate: float) -> float:
    """A rate as people choose them, where it is within 2 % of one."""
    scale = 10 ** np.floor(np.log10(rate))
    for step in (1, 1.25, 2, 2.5, 4, 5, 8, 10):
        if abs(rate / (scale * step) - 1) < 0.02:
            return float(scale * step)
    return float(rate)
