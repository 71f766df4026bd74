"""A pick-up as plain JSON values: `identify/payload/payload.schema.json` says what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from heft.daq.config.objects import ObjectConfig
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import transform
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.controllers import controller_texts, franka_load, ros_inertia
from heft.identify.payload.output.payload_frames import PayloadFrames, in_frames
from heft.identify.payload.output.recognition import Recognition, recognise
from heft.identify.payload.pickups.pickup import Pickup

__all__ = ["SCHEMA", "VERSION", "Reporter", "WeighedBy"]

SCHEMA = "heft.payload"
VERSION = 1
WeighedBy = Literal["wrist sensor", "joint torques", "wrenches", "joint torques and wrenches"]


class Reporter:
    """Describes pick-ups in the flange's frame.

    place   rotation and position [m] of the scale's frame in the flange's
    by      the scale
    origin  [s] of the host's clock, where their times count from
    frame   that `place` leads to; the last link's, where a robot has no flange
    """

    def __init__(
        self,
        place: tuple[Array, Array],
        *,
        by: WeighedBy,
        origin: float,
        library: Sequence[ObjectConfig] = (),
        frame: str = "flange",
    ) -> None:
        self._place, self._by, self._frame = place, by, frame
        self._origin, self._library = origin, library

    def document(self, pickup: Pickup, hand: Hand | None = None) -> dict[str, Any]:
        """Everything that is known of a pick-up; `hand` is the bare hand that holds it, where it is known."""
        facts: dict[str, Any] = {
            "schema": SCHEMA,
            "version": VERSION,
            "number": pickup.number,
            "state": "carried" if pickup.end is None else str(pickup.end),
            "source": pickup.source,
            "target": pickup.target,
            **self._times(pickup),
            "repeated_events": pickup.repeated,
            "notes": list(pickup.notes),
        }
        if pickup.latest is None:
            return facts
        frames = in_frames(pickup.latest.estimate, *self._place)
        facts |= frames.flange.to_dict() | {"frame": self._frame}
        facts["time"] = pickup.latest.time - self._origin
        facts["principal"] = _principal(frames)
        facts["weighed_by"] = self._by
        if self._by == "wrist sensor":
            facts["sensor_frame"] = _plain(frames.sensor)
        facts["controllers"] = _controllers(
            frames.flange, None if hand is None else transform(hand.ten, *self._place)
        )
        facts["notes"] += [*facts.pop("warnings"), *_undetermined(frames.flange), *frames.principal.warnings]
        if self._library:
            facts["recognition"] = _recognition(recognise(frames.flange, self._library))
        if pickup.by_joints is not None:
            facts["joint_torque"] = _plain(pickup.by_joints)
        return facts

    def _times(self, pickup: Pickup) -> dict[str, Any]:
        names = ("t_signal", "t_pick", "t_first", "t_end")
        times = {name: getattr(pickup, name) for name in names}
        return {
            **{name: None if t is None else t - self._origin for name, t in times.items()},
            **{f"{name}_ns": None if t is None else round(t * 1e9) for name, t in times.items()},
        }


def _plain(estimate: PayloadEstimate) -> dict[str, Any]:
    facts = estimate.to_dict()
    return {name: facts[name] for name in ("frame", "mass", "com", "inertia", "std", "prior_dominated")}


def _principal(frames: PayloadFrames) -> dict[str, Any]:
    principal = frames.principal
    return {
        "moments": principal.moments.tolist(),
        "axes": principal.axes.tolist(),
        "measured": list(principal.measured),
        "axes_defined": list(principal.axes_defined),
    }


def _undetermined(flange: PayloadEstimate) -> list[str]:
    if "com" not in flange.prior_dominated:
        return []
    return [
        "centre of mass: the motion does not tell all of it; turn the wrist before a controller is given it"
    ]


def _controllers(flange: PayloadEstimate, hand: Array | None) -> dict[str, Any]:
    """As controllers ask for it; hand and object together where they mean both, None where the hand is not known."""
    told = controller_texts(flange, hand)
    texts = {key: facts["text"] for key, facts in told.items() if key != "franka"}
    means = {key: facts["means"] for key, facts in told.items()}
    return {**texts, "franka": asdict(franka_load(flange)), "ros": ros_inertia(flange), "means": means}


def _recognition(answer: Recognition) -> dict[str, Any]:
    grasp = answer.grasp
    return {
        "verdict": answer.verdict,
        "name": answer.name,
        "candidates": [asdict(candidate) for candidate in answer.candidates[:3]],
        "strange": answer.strange,
        "compared": list(answer.compared),
        "grasp": None
        if grasp is None
        else {
            "ok": grasp.ok,
            "offset": grasp.offset.tolist(),
            "angle": grasp.angle,
            "reason": grasp.reason,
        },
    }
