"""Options of drivers, emulators and the simulated rig, as the rig's file gives them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["NonNegative", "Options", "Positive", "RateHz"]

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
RateHz = Annotated[float, Field(gt=0, le=100_000)]  # of samples or servo cycles: none is faster


class Options(BaseModel):
    """A frozen model in which unknown keys are errors, and numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
