"""What Pinocchio makes of a model file."""

from __future__ import annotations

from pathlib import Path

import pinocchio as pin

from heft.identify.errors import ModelError
from heft.identify.robot.model_text import ModelText, format_of

__all__ = ["build_model", "floats"]


def build_model(path: Path, model: ModelText, free: bool = False) -> pin.Model:
    """Of the file at `path`, which has the text of `model`: looked through first. `ModelError` where either fails.

    With `free` the root link of a URDF moves freely; an MJCF file says that itself.
    """
    model.root()
    try:
        if format_of(path) == "urdf" and free:
            return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        if format_of(path) == "urdf":
            return pin.buildModelFromUrdf(str(path))
        return pin.buildModelFromMJCF(str(path))
    except (ValueError, RuntimeError, LookupError, MemoryError) as exc:
        raise ModelError(f"{path.name}: Pinocchio cannot read it: {exc}{_without_limit(model)}") from exc


def _without_limit(model: ModelText) -> str:
    """What a URDF's parser tells on standard error alone: joints that turn or slide so far, and do not say how far."""
    joints = [] if model.format != "urdf" else model.root().findall("joint")
    named = [
        str(joint.get("name"))
        for joint in joints
        if joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None
    ]
    if not named:
        return ""
    return (
        f" ({', '.join(named)}: no <limit>; give it one, with effort and velocity, or make it `continuous`)"
    )


def floats(model: pin.Model) -> bool:
    """Whether the first joint of a model is that of a root that moves freely."""
    return model.njoints > 1 and bool(model.joints[1].nv == 6)
