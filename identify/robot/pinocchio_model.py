"""What Pinocchio makes of a model file."""

from __future__ import annotations

from pathlib import Path

import pinocchio as pin

from heft.identify.errors import ModelError
from heft.identify.robot.model_text import ModelText, format_of

__all__ = ["build_model"]


def build_model(path: Path, model: ModelText) -> pin.Model:
    """Of the file at `path`, which has the text of `model`: looked through first. `ModelError` where either fails."""
    model.root()
    try:
        if format_of(path) == "urdf":
            return pin.buildModelFromUrdf(str(path))
        return pin.buildModelFromMJCF(str(path))
    except (ValueError, RuntimeError, LookupError, MemoryError) as exc:
        raise ModelError(f"{path.name}: Pinocchio cannot read it: {exc}") from exc
