"""The private place where the sockets of running sessions are, and where another terminal finds them.

    $XDG_RUNTIME_DIR/heft/         without that variable: /run/user/UID/heft/, or heft-UID/ among the temporary files
        4711-k3v9x2ab/             one per process and session; mode 0700 like all above it
            lock                   locked while its process lives; the kernel frees it when the process dies
            session.json           name, process and endpoints, while the session can be stopped
            telemetry, control, stop, telemetry.following

Only this user (and root) can enter it. A folder whose lock is free was left by a process that was killed: whoever looks
removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heft.daq.bus.endpoint import Endpoint, Endpoints
from heft.daq.bus.keyring import require_keys
from heft.daq.errors import ConfigError
from heft.daq.temporary import alive

__all__ = [
    "RunningSession",
    "announced",
    "private_endpoints",
    "running_sessions",
    "runtime_folder",
    "stale_folders",
]

_LOCK, _ENTRY = "lock", "session.json"
_VARIABLE = "XDG_RUNTIME_DIR"
#: A socket's path has 107 bytes at most, and the longest here ends so.
_LONGEST = 107 - len("/4194304-abcdefgh/telemetry.following")


@dataclass(frozen=True, slots=True)
class RunningSession:
    """A session, or a rig that stands by, that can be reached now; `folder` is its own."""

    name: str
    pid: int
    folder: Path
    endpoints: Endpoints

    @property
    def ended(self) -> bool:
        """Whether it can no longer be reached: it has ended, or its process was killed."""
        return not (self.folder / _ENTRY).exists() or _is_free(self.folder)


def runtime_folder() -> Path:
    """The folder of all running sessions of this user, made where it is missing.

    ConfigError where it belongs to another user, or where others could enter it.
    """
    parent, name = _parent()
    folder = parent / name
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as exc:
        raise ConfigError(
            f"{folder}: cannot be made: {exc.strerror}; set {_VARIABLE} to a folder of your own, or unset it"
        ) from exc
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        raise ConfigError(f"{folder}: is not a folder; move it away")
    if found.st_uid != os.geteuid():
        raise ConfigError(
            f"{folder}: belongs to user {found.st_uid}, and this is user {os.geteuid()}; "
            f"set {_VARIABLE} to a folder of your own"
        )
    if mode & 0o077:
        raise ConfigError(
            f"{folder}: mode {mode:04o}: others could reach the sockets that move the arm; chmod 700 {folder}"
        )
    if len(os.fsencode(folder)) > _LONGEST:
        raise ConfigError(
            f"{folder}: {len(os.fsencode(folder))} bytes long, at most {_LONGEST} leave room for the names of sockets; "
            f"set {_VARIABLE} to a shorter path"
        )
    return folder


@contextmanager
def private_endpoints(
    *,
    telemetry: str | Endpoint | None = None,
    outside: Mapping[str, str | None] = MappingProxyType({}),
) -> Iterator[Endpoints]:
    """Endpoints in a new folder of the runtime folder, removed on exit; telemetry elsewhere where it is given.

    `outside` are `stop` and `control` once more, for peers with keys. ConfigError where one of them leaves this host
    and there are no keys.
    """
    others = {channel: Endpoint.parse(text) for channel, text in outside.items() if text is not None}
    for channel, endpoint in {"telemetry": telemetry, **others}.items():
        if endpoint is not None:
            require_keys(channel, Endpoint.parse(endpoint))
    place = runtime_folder()
    _remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=place))
    try:
        with (folder / f"{_LOCK}.new").open("xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(lock.name, folder / _LOCK)  # nobody sees it free
            yield Endpoints.under(folder, telemetry=telemetry, outside=others)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def announced(name: str, endpoints: Endpoints) -> Iterator[None]:
    """While inside, `running_sessions` tells of a session of this name at these endpoints."""
    if endpoints.folder is None:
        yield
        return
    entry = endpoints.folder / _ENTRY
    draft = entry.with_suffix(".new")
    channels = {channel: str(getattr(endpoints, channel)) for channel in ("telemetry", "control", "stop")}
    draft.write_text(json.dumps({"name": name, "pid": os.getpid(), **channels}), encoding="utf-8")
    draft.rename(entry)  # nobody reads half of it
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def running_sessions() -> tuple[RunningSession, ...]:
    """All that can be reached now, by name and process; what killed processes have left is removed."""
    folder = runtime_folder()
    _remove_stale()
    entries = [_read(entry) for entry in folder.glob(f"*/{_ENTRY}")]
    return tuple(sorted((e for e in entries if e is not None), key=lambda e: (e.name, e.pid)))


def _parent() -> tuple[Path, str]:
    """Where the runtime folder is, and its name there."""
    given = os.environ.get(_VARIABLE)
    if given:
        if not Path(given).is_absolute():
            raise ConfigError(f"{_VARIABLE}={given}: not an absolute path; correct or unset it")
        return Path(given), "heft"
    of_user = Path(f"/run/user/{os.geteuid()}")
    if of_user.is_dir():
        return of_user, "heft"
    return Path(tempfile.gettempdir()), f"heft-{os.geteuid()}"


def stale_folders() -> tuple[Path, ...]:
    """Folders of sessions that were killed; those that a process is just making are not among them."""
    found = []
    for folder in sorted(runtime_folder().iterdir()):
        pid = folder.name.partition("-")[0]
        if (folder / _LOCK).exists():
            stale = _is_free(folder)
        else:  # killed before it could lock it
            stale = folder.is_dir() and pid.isdecimal() and not alive(int(pid))
        if stale:
            found.append(folder)
    return tuple(found)


def _remove_stale() -> None:
    for folder in stale_folders():
        shutil.rmtree(folder, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    """Whether the process of this folder has gone. A shared lock: two who look do not take each other for it."""
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:  # removed meanwhile
        return True
    return True


def _read(entry: Path) -> RunningSession | None:
    """None where it has just gone."""
    try:
        facts: dict[str, Any] = json.loads(entry.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    telemetry, control, stop = (Endpoint.parse(facts[key]) for key in ("telemetry", "control", "stop"))
    endpoints = Endpoints(telemetry, control, stop, folder=entry.parent)
    return RunningSession(facts["name"], facts["pid"], entry.parent, endpoints)
