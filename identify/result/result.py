"""The answer of an identification, which can judge itself and other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from identify.alignment.delay import Delay
from identify.arrays import Array
from identify.consistency import Consistency, Level, consistency_of_links
from identify.cutoff.tradeoff import Tradeoff
from identify.dataset import Dataset, Processing, filtered_rows
from identify.intervals.interval import Interval
from identify.parameters import Layout
from identify.result.base_values import BaseValues
from identify.result.parameters import Parameters
from identify.result.prediction import Prediction
from identify.result.provenance import Provenance
from identify.result.relative_error import RelativeError
from identify.robot import Robot

if TYPE_CHECKING:
    from identify.reduction import Information

__all__ = ["Result"]


@dataclass(frozen=True)
class Result:
    """Identified parameters of a robot.

    robot              the model they belong to
    method, level      how they were found, and the level of consistency that was asked for
    parameters         by link and joint
    base               what the data determine, with standard deviations
    rank               base parameters that the data determine, of len(base.names)
    condition_number   of the base columns, unweighted
    fit                error on the data they were found from
    validation         error on data they were not found from, or None
    weights            on the squared residuals of each joint, shape (n,)
    processing         filter and derivatives: other data are treated alike
    tradeoff           what other cut-offs would have cost; None where the data were too short to look
    delays             taken out before the fit, by stream: other data are treated alike
    intervals          95 % intervals of masses, centres of mass, principal moments and joint terms, by name; with the
                       prior where the data leave them open
    prior              parameters known beforehand (p,), or None
    feasible           whether plain least squares was consistent by itself, where the method looked
    facts              numbers that the method has to say
    warnings           what to know before the parameters are used, with numbers and remedies
    """

    robot: Robot
    method: str
    level: Level
    parameters: Parameters
    base: BaseValues
    rank: int
    condition_number: float
    fit: RelativeError
    weights: Array
    processing: Processing
    provenance: Provenance
    tradeoff: Tradeoff | None = None
    delays: Mapping[str, Delay] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    prior: Array | None = None
    validation: RelativeError | None = None
    feasible: bool | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def certainty(self) -> str:
        """How sure the result is, in one sentence."""
        from identify.result.certainty import certainty

        return certainty(self)

    @property
    def total_mass(self) -> float:
        """Of all links [kg]."""
        return self.parameters.total_mass

    @property
    def essential(self) -> tuple[str, ...]:
        """Base parameters that the data know well (002, section III)."""
        return self.base.essential

    def consistency(self, level: Level | None = None) -> Consistency:
        """Of the links, at the level that was asked for or at another."""
        links = {link.name: link.ten for link in self.parameters.links}
        return consistency_of_links(links, level or self.level, self.robot.boxes, self._sizes)

    @cached_property
    def _sizes(self) -> dict[str, float]:
        from identify.problem import link_sizes

        return dict(link_sizes(self.parameters.layout, self.prior, self.robot.boxes))

    @property
    def consistent(self) -> bool:
        """At the level that was asked for."""
        return self.consistency().ok

    def predict(self, data: Dataset) -> Prediction:
        """Torques of the model for the motion of `data`, beside the measured ones, both with the result's filter."""
        blocks = list(filtered_rows(self.robot, data, self.processing, delay_s=self.delay_of(data)))
        return Prediction(
            time=np.concatenate([block.time for block in blocks]),
            predicted=np.concatenate([block.predict(self.parameters.values) for block in blocks]),
            std=np.concatenate([self.base.torque_std(block) for block in blocks]),
            measured=np.concatenate([block.torque for block in blocks]),
            moving=np.concatenate([block.keep for block in blocks]),
        )

    def relative_error(self, other: Dataset | Sequence[Dataset]) -> RelativeError:
        """Error on other data, processed with the result's own filter."""
        several = [other] if isinstance(other, Dataset) else list(other)
        information = self._reduced(several[0])
        for one in several[1:]:
            information = information.merge(self._reduced(one))
        return RelativeError.of(information, self.parameters.values, self.robot.tree.prismatic)

    def delay_of(self, data: Dataset) -> float:
        """How old the torques of `data` are against positions [s]: as found for that stream, 0 for another."""
        return self.delays[data.torque_stream].value_s if data.torque_stream in self.delays else 0.0

    def _reduced(self, data: Dataset) -> Information:
        from identify.reduction import reduce

        return reduce(self.robot, data, self.processing, delay_s=self.delay_of(data))

    def save(self, path: Path | str) -> Path:
        """Write JSON; `identify.load` reads it."""
        from identify.result.document import write

        return write(self, Path(path))

    def export_urdf(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the model as URDF; see `identify.export.export_model`."""
        from identify.export import export_model

        return export_model(self, path, "urdf", force=force).path

    def export_mjcf(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the model as MJCF; see `identify.export.export_model`."""
        from identify.export import export_model

        return export_model(self, path, "mjcf", force=force).path

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        from identify.result.document import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """Inverse of `to_dict`."""
        from identify.result.document import from_dict

        return from_dict(data)

    @property
    def layout(self) -> Layout:
        """Names and places of the parameters."""
        return self.parameters.layout
