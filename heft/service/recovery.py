"""What a service that was killed has left in its data folder, made whole when it starts again."""

from __future__ import annotations

from pathlib import Path

from heft.leftovers import leftovers
from heft.service.catalogue import imported_recording, imports_of

__all__ = ["recover_all"]


def recover_all(folder: Path) -> list[str]:
    """Write recordings that were cut off once more as whole files, remove work that was left; a line for each."""
    lines = []
    for one in leftovers([folder]):
        failure = one.clean()
        lines.append(f"{one.what}: {one.path}: {failure or one.remedy}")
    for path in imports_of(folder).glob("*"):
        if path.is_file() and (path.name.startswith(".") or not imported_recording(path).exists()):
            path.unlink()
            lines.append(f"import that was cut off: {path}: removed; give the file again")
    return lines
