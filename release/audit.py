"""Are there known holes in the locked dependencies? Exit code 0: none, 1: some, 4: it could not be found out.

    python release/audit.py

Asks the advisory database of the package index with `pip-audit`, for what `requirements.lock` names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "requirements.lock"


def audit(lock: Path = LOCK, command: tuple[str, ...] = ("uv", "tool", "run", "--quiet", "pip-audit")) -> int:
    """Print what is known about each package that has a hole."""
    arguments = [*command, "--requirement", str(lock), "--no-deps", "--disable-pip", "--format", "json"]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as exc:
        told = done.stderr.strip().splitlines()[-1:] if isinstance(exc, ValueError | KeyError) else [str(exc)]
        sys.stderr.write(
            f"audit: not done: {''.join(told) or 'no answer'}; try again where the package index answers\n"
        )
        return 4
    holes = [(one["name"], one["version"], hole) for one in found for hole in one.get("vulns", [])]
    for name, version, hole in holes:
        fixed = ", ".join(hole.get("fix_versions", [])) or "none yet"
        print(f"{name} {version}: {hole['id']}; mended in: {fixed}")
    skipped = sum("skip_reason" in one for one in found)
    print(f"audit: {len(found)} packages, {len(holes)} known holes, {skipped} could not be looked up")
    return 1 if holes else 4 if skipped else 0


if __name__ == "__main__":
    sys.exit(audit())
