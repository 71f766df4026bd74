"""Where the shipped configuration files are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CONFIGS", "default_session"]

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


def default_session() -> Path:
    """The session that `heft run` runs when none is given."""
    return CONFIGS / "sessions" / "wam7_excitation.yaml"
