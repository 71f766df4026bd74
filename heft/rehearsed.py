"""Which plans have been rehearsed: kept for this user, by the plan's hash.

    $XDG_STATE_HOME/heft/rehearsals/HASH.json      without that variable: ~/.local/state/heft/rehearsals/

A plan is all that decides what moves: the session's file, its rig's and robot's, the robot's model, designed
trajectories, and the version of Heft. A change of any byte of them makes another plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heft import __version__
from heft.attachments import attachments_of
from heft.daq.bounded_json import bounded_json
from heft.daq.config.session import SessionConfig
from heft.daq.errors import ConfigError
from heft.daq.whole_file import write_whole
from heft.drivers.errors import HeftError
from heft.log_file import log_path
from heft.terminal.rehearsal import rehearsal_line

__all__ = ["PlanHash", "rehearsal_state", "store_rehearsal"]

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlanHash:
    """SHA-256 of a plan, and of each of its parts by name."""

    text: str
    parts: Mapping[str, str]

    @classmethod
    def of(cls, config: SessionConfig) -> PlanHash:
        """Of the files as they are now."""
        files = {name.removeprefix("configuration/"): data for name, data in attachments_of(config).items()}
        parts = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
        parts["heft"] = __version__
        return cls(hashlib.sha256(json.dumps(parts).encode()).hexdigest(), parts)


def store_rehearsal(config: SessionConfig, plan: PlanHash, facts: Mapping[str, Any]) -> Path:
    """Remember that this plan was rehearsed, with what was said; `ConfigError` where that cannot be written."""
    path = _folder() / f"{plan.text}.json"
    kept = {"session": str(config.path.resolve()), "parts": dict(plan.parts), "rehearsal": dict(facts)}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, json.dumps(kept, indent=1).encode())
    except (OSError, HeftError) as exc:
        raise ConfigError(
            f"{path}: the rehearsal cannot be remembered: {exc}; make the folder writable"
        ) from exc
    return path


def rehearsal_state(config: SessionConfig, *, needed: bool, unrehearsed: bool) -> dict[str, Any]:
    """How this plan was rehearsed: facts for the recording, with a line `says` for the operator.

    `ConfigError` where it `needed` to be and was not, unless the operator says that it shall be played `unrehearsed`.
    """
    plan = PlanHash.of(config)
    facts = _rehearsal_of(plan)
    if facts is not None:
        kept = {key: facts.get(key) for key in ("at", "seed", "condition_number", "truth", "hottest")}
        return {"state": "rehearsed", "plan": plan.text, "says": rehearsal_line(facts), **kept}
    if needed and not unrehearsed:
        raise ConfigError(_refusal(config, plan))
    says = (
        "this plan has NOT been rehearsed (--unrehearsed)" if needed else "this plan has not been rehearsed"
    )
    return {"state": "unrehearsed" if needed else "not needed", "plan": plan.text, "says": says}


def _rehearsal_of(plan: PlanHash) -> dict[str, Any] | None:
    """What was said of this plan when it was rehearsed; None where it was not."""
    kept = _kept(_folder() / f"{plan.text}.json")
    return None if kept is None or kept["parts"] != dict(plan.parts) else dict(kept["rehearsal"])


def _refusal(config: SessionConfig, plan: PlanHash) -> str:
    """Why this plan may not be played: it is new, or what of it has changed; and the remedy."""
    remedy = (
        f"heft run {config.path} --rehearse --dry-run plays it on the simulated twin of the rig, --unrehearsed goes "
        "without; nothing has moved"
    )
    earlier = _latest(config)
    if earlier is None:
        return f"{config.path}: this plan has not been rehearsed (hash {plan.text[:12]}); {remedy}"
    names = sorted({*earlier["parts"], *plan.parts})
    changed = [name for name in names if earlier["parts"].get(name) != plan.parts.get(name)]
    return (
        f"{config.path}: this plan (hash {plan.text[:12]}) is not the one that was rehearsed at "
        f"{earlier['rehearsal']['at']}: changed since: {', '.join(changed)}; {remedy}"
    )


def _latest(config: SessionConfig) -> dict[str, Any] | None:
    """The last rehearsal of another plan of the same session's file."""
    every = (_kept(path) for path in _folder().glob("*.json"))
    own = [kept for kept in every if kept is not None and kept["session"] == str(config.path.resolve())]
    return max(own, key=lambda kept: str(kept["rehearsal"]["at"]), default=None)


def _folder() -> Path:
    return log_path().with_name("rehearsals")


def _kept(path: Path) -> dict[str, Any] | None:
    """A file of this folder; None where it is not there, or is not what was written."""
    try:
        data = path.read_bytes()
        kept = bounded_json(data, most=MOST_BYTES)
    except (OSError, ValueError, HeftError):
        return None
    if not isinstance(kept, dict) or not isinstance(kept.get("parts"), dict):
        return None
    said = kept.get("rehearsal")
    return kept if isinstance(said, dict) and isinstance(said.get("at"), str) and "session" in kept else None
