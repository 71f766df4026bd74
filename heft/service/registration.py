"""Where a running service is found on its host: beside the sockets of sessions, in the private runtime folder.

$XDG_RUNTIME_DIR/heft/4711-k3v9x2ab/service.json     name, process, rig, address, and the endpoint for requests
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heft.daq.bus.endpoint import Endpoint, Endpoints
from heft.daq.bus.runtime import running_sessions, runtime_folder

__all__ = ["RunningService", "announced_service", "running_services", "service_endpoint", "service_of"]

_ENTRY = "service.json"


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that can be asked now; `url` is that of its page, which asks for the token."""

    name: str
    pid: int
    rig: Path
    url: str
    endpoint: Endpoint


def service_endpoint(endpoints: Endpoints) -> Endpoint:
    """Where a service answers requests."""
    assert endpoints.folder is not None
    return Endpoint.parse(f"ipc://{endpoints.folder / 'service'}")


@contextmanager
def announced_service(name: str, rig: Path, url: str, endpoints: Endpoints) -> Iterator[None]:
    """While inside, `running_services` tells of it."""
    assert endpoints.folder is not None
    entry = endpoints.folder / _ENTRY
    facts = {
        "name": name,
        "pid": os.getpid(),
        "rig": str(rig.resolve()),
        "url": url,
        "endpoint": str(service_endpoint(endpoints)),
    }
    draft = entry.with_suffix(".new")
    draft.write_text(json.dumps(facts), encoding="utf-8")
    draft.chmod(0o600)
    draft.rename(entry)
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def running_services() -> tuple[RunningService, ...]:
    """All of this user on this host; what killed ones have left is removed on the way."""
    running_sessions()  # removes what is stale
    found = []
    for entry in sorted(runtime_folder().glob(f"*/{_ENTRY}")):
        try:
            facts = json.loads(entry.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        endpoint = Endpoint.parse(facts["endpoint"])
        found.append(RunningService(facts["name"], facts["pid"], Path(facts["rig"]), facts["url"], endpoint))
    return tuple(found)


def service_of(rig: Path) -> RunningService | None:
    """The one that owns this rig, by its file."""
    return next((one for one in running_services() if one.rig == rig.resolve()), None)
