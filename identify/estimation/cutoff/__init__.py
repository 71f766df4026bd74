"""The low-pass's cut-off, chosen from spectra of the data, and the errors at other cut-offs."""

from __future__ import annotations

from heft.identify.estimation.cutoff.choice import choose
from heft.identify.estimation.cutoff.tradeoff import CutoffCandidate, Spectrum, Tradeoff

__all__ = ["CutoffCandidate", "Spectrum", "Tradeoff", "choose"]
