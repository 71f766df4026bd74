"""An identified model as a URDF or MJCF file, read back and compared."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np

from heft.daq.whole_file import whole_file
from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ExportError, HeftError
from heft.identify.result.export import mjcf, urdf
from heft.identify.result.export.sidecar import Omissions, omissions
from heft.identify.result.identified_model import IdentifiedModel
from heft.identify.robot import Robot
from heft.identify.robot.model_bodies import Body, read_bodies, share
from heft.identify.robot.model_text import Format, ModelText
from heft.identify.robot.regressor import Regressor

__all__ = ["Export", "export_model", "objections"]

TOLERANCE = 1e-9  # of the largest torque
SAMPLES = 64


@dataclass(frozen=True)
class Export:
    """A model file that was written.

    sidecar      the JSON file beside it, with what the format leaves out (`omissions`)
    difference   largest of the rigid-body torques, read back against identified, over the largest torque [-]
    """

    path: Path
    format: Format
    sidecar: Path
    omissions: Omissions
    difference: float


def objections(identified: IdentifiedModel) -> tuple[str, ...]:
    """Why a model should not be simulated or controlled with; nothing where it may."""
    reasons = []
    at_full = identified.consistency("full")
    if not at_full.ok:
        reasons.append(
            f"{at_full.culprit} is not consistent at level full (margin {at_full.margin:.2g}, must be above 0): "
            "simulators refuse such a body or run away with it; identify with --method sdp --level full"
        )
    negative = [
        identified.layout.names[i]
        for i in identified.layout.non_negative
        if identified.parameters.values[i] < 0
    ]
    if negative:
        reasons.append(
            f"negative {', '.join(negative)}: friction would drive the joint; identify with --method sdp"
        )
    verdict = identified.verdict
    if verdict is not None and verdict.grade == "unfit":
        worst = [one for one in verdict.reasons if one.severity == "unfit"]
        reasons += [
            one.text for one in worst if at_full.ok or one.id not in ("inconsistent", "inertia-matrix")
        ]
    return tuple(reasons)


def export_model(
    identified: IdentifiedModel,
    path: Path | str,
    format: Format,
    *,
    into: Path | None = None,
    force: bool = False,
    overwrite: bool = True,
) -> Export:
    """Write the identified model into a copy of the robot's file; read it back and compare torques.

    Where the robot was not read from a file of this format, a plain one is written: links, joints and frames.

    into       a file of the same robot to copy instead
    force      also where there are `objections`
    overwrite  a file that is there already, and its sidecar
    """
    path, robot = Path(path), identified.robot
    if not force and (reasons := objections(identified)):
        raise ExportError("; ".join(reasons))
    model = (
        robot.model
        if into is None
        else ModelText.read(into, () if robot.model is None else robot.model.locked)
    )
    if into is not None and model is not None and model.format != format:
        raise ExportError(
            f"{into}: a file of {model.format.upper()} cannot become {format.upper()}; give another"
        )
    writer: ModuleType = urdf if format == "urdf" else mjcf
    joints = {joint.name: joint.terms for joint in identified.parameters.joints if joint.name in robot.joints}
    if model is None or model.format != format:
        model = None
        text = writer.plain(robot, identified.parameters.values, joints)
    else:
        text = writer.fill(model, _bodies(identified, model), joints)
    sidecar, rest = path.with_name(path.name + ".json"), omissions(identified, format, writer.HELD)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not overwrite and sidecar.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(sidecar))
        with whole_file(path, suffix=".urdf" if format == "urdf" else ".xml", replace=overwrite) as draft:
            draft.write_bytes(_commented(text, identified).encode("utf-8"))
            difference = _checked(
                identified, draft, format, () if model is None else model.locked, writer.HELD
            )
        rest.write(sidecar, identified, path, difference)
    except OSError as exc:
        raise ExportError(
            f"{exc.filename or path}: cannot be written: {exc.strerror or exc}; choose another place"
        ) from exc
    return Export(path, format, sidecar, rest, difference)


def _commented(text: str, identified: IdentifiedModel) -> str:
    """The file with the verdict as a comment before its first element."""
    if identified.verdict is None:
        return text
    said = f"Heft, verdict {identified.verdict.grade}: {identified.verdict.headline}"
    while "--" in said:
        said = said.replace("--", "- -")
    newline = "\r\n" if "\r\n" in text else "\n"
    declared = re.match(r"\s*<\?xml[^>]*\?>[ \t]*(\r?\n)?", text)
    start = declared.end() if declared else 0
    return f"{text[:start]}<!-- {said} -->{newline}{text[start:]}"


def _bodies(identified: IdentifiedModel, model: ModelText) -> dict[str, Array]:
    """Ten numbers of every body that weighs something, in its own frame."""
    robot = identified.robot
    bodies = read_bodies(model, robot.tree.free)
    places = dict(zip(robot.links[len(robot.links) - len(robot.parts) :], robot.parts, strict=True))
    by_body: dict[str, Array] = {}
    for link in identified.parameters.links:
        own = [body for body in bodies if _owner(bodies, body, places) == link.name]
        if not own:
            raise ExportError(
                f"{model.name}: no body {link.name}; it has {', '.join(sorted({body.link for body in bodies}))}: "
                "give the file that the robot was made from"
            )
        ten = link.ten
        if link.name in places:  # bodies are placed in the link that it is a part of
            to_link = places[link.name].place
            ten = transform(ten, to_link[:3, :3], to_link[:3, 3])
        shares = share(own, ten)
        by_body |= {b.name: shares[b.name] for b in own if b.name == link.name or np.any(shares[b.name])}
    return by_body


def _owner(bodies: Sequence[Body], body: Body, parts: Collection[str]) -> str:
    """The link that a body is identified with: a part of its link, where it is fixed to that part."""
    named = {one.name: one for one in bodies}
    here: Body | None = body
    while here is not None and here.link == body.link:
        if here.name in parts:
            return here.name
        here = None if here.parent is None else named.get(here.parent)
    return body.link


def _checked(
    identified: IdentifiedModel, path: Path, format: Format, locked: tuple[str, ...], held: dict[str, str]
) -> float:
    """Read the file back. The largest difference of rigid-body torques over the largest torque, at random states.

    Joints are matched by name: a tree's branches are read from a URDF in the order of their names.
    """
    robot, read = identified.robot, Robot.from_urdf if format == "urdf" else Robot.from_mjcf
    base: Literal["free"] | None = "free" if robot.tree.free else None
    try:
        again = read(path, locked=locked, gravity=robot.gravity.tolist(), base=base)
    except HeftError as exc:
        raise ExportError(f"the model cannot be read back: {exc}") from exc
    if sorted(again.joints) != sorted(robot.joints) or again.prior is None:
        raise ExportError(
            f"read back, the joints are {', '.join(again.joints)} instead of {', '.join(robot.joints)}; "
            "give the file that the robot was made from"
        )
    n, rng = len(robot.joints), np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1.5, 1.5, (3, SAMPLES, n))
    root = rng.uniform(-10.0, 10.0, (SAMPLES, 9)) if robot.tree.free else None
    place = [robot.joints.index(joint) for joint in again.joints]
    rows = place + list(range(n, n + 6 * robot.tree.free))
    links, prior = 10 * len(robot.links), again.prior[: 10 * len(again.links)]
    ours = _rigid(robot).torque(q, dq, ddq, identified.parameters.values[:links], root)[:, rows]
    theirs = _rigid(again).torque(q[:, place], dq[:, place], ddq[:, place], prior, root)
    difference = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-300))
    if not difference <= TOLERANCE:
        raise ExportError(
            f"read back, rigid-body torques differ by {difference:.2g} of the largest, at most {TOLERANCE:g} is "
            "allowed: the file has other lengths or axes than the robot; give the file that it was made from"
        )
    read_back = dict(zip(again.parameter_names, again.prior, strict=True))
    for joint in identified.parameters.joints:
        for term, value in joint.terms.items():
            name = f"{joint.name}.{term}"
            if joint.name in robot.joints and term in held and read_back[name] != value:
                raise ExportError(
                    f"read back, {name} is {float(read_back[name])!r} instead of {float(value)!r}"
                )
    return difference


def _rigid(robot: Robot) -> Regressor:
    """Rigid bodies alone, without drives: torques, and the wrench on a root that moves freely."""
    n = len(robot.joints)
    drives = replace(robot.drives, joint_terms=((),) * n, coupling=np.eye(n))
    return replace(robot, drives=drives, prior=None, sources=None, sensors={}).regressor
