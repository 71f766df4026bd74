"""The low-pass's cut-off: chosen from the data's spectra, with what other ones would cost."""

from __future__ import annotations

from identify.cutoff.choice import choose
from identify.cutoff.tradeoff import Candidate, Spectrum, Tradeoff

__all__ = ["Candidate", "Spectrum", "Tradeoff", "choose"]
