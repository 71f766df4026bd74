"""Options of drivers, emulators and the simulated rig, as the rig's file gives them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["NonNegative", "Options", "Positive"]

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class Options(BaseModel):
    """A frozen model in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")
