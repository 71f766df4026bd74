"""What really happened in a simulated session, beside its recording; only evaluation reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heft.daq.errors import RecordError

__all__ = ["write_truth"]


def write_truth(truth: Mapping[str, Any] | None, recording: Path) -> Path | None:
    """Write NAME.truth.json for NAME.mcap; None where the rig is not a simulated one."""
    if truth is None:
        return None
    path = recording.with_suffix(".truth.json")
    try:
        path.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    except OSError as exc:
        path.unlink(missing_ok=True)
        raise RecordError(f"{path}: cannot be written: {exc.strerror}; free some space") from exc
    return path
