"""The lock of a device: one process at a time speaks to it, whoever's process it is.

    /run/lock/heft-can-socketcan-can0-5f1c....lock      without that folder: among the temporary files

A file for each address, locked by the kernel (flock) while its device is used: it is free as soon as the process is
gone, however that ended. It tells who holds it. Another host on the same wire does not see it.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from heft.drivers.errors import ConnectError

__all__ = ["locked"]

#: The same for every user, or it would keep nobody out.
_FOLDERS = (Path("/run/lock"), Path("/var/lock"), Path("/tmp"))


@contextmanager
def locked(addresses: Mapping[str, Sequence[str]], name: str) -> Iterator[None]:
    """While inside, the devices' addresses are this process's own; `name` is what others are told.

    `addresses` is by device: transport, then where. ConnectError with the holder where another has one.
    """
    with ExitStack() as stack:
        taken: set[tuple[str, ...]] = set()
        for device, address in addresses.items():
            if tuple(address) not in taken:  # several devices may share a bus
                stack.enter_context(_address(device, address, name))
                taken.add(tuple(address))
        yield


@contextmanager
def _address(device: str, address: Sequence[str], name: str) -> Iterator[None]:
    path = _folder() / _file_name(address)
    descriptor = _lock(path, device, address)
    try:
        holder = json.dumps({"name": name, "pid": os.getpid(), "user": getpass.getuser()})
        with suppress(OSError):  # another user's file, of which only the lock is ours
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # still locked: whoever has opened it looks again
        os.close(descriptor)


def _lock(path: Path, device: str, address: Sequence[str]) -> int:
    """A descriptor of the file at `path` that holds its lock."""
    while True:
        descriptor = _open(path, device)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.stat(path, follow_symlinks=False)
            if (found.st_dev, found.st_ino) == _identity(descriptor):
                return descriptor
        except BlockingIOError:
            who = _holder(descriptor)
            os.close(descriptor)
            raise ConnectError(
                device,
                f"{' '.join(address)} is in use by {who}; stop that first (`heft stop`), or wait for its end",
            ) from None
        except FileNotFoundError:
            pass  # its holder has just gone
        os.close(descriptor)


def _open(path: Path, device: str) -> int:
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            return os.open(path, os.O_RDWR | flags)
        except FileNotFoundError:
            with suppress(FileExistsError):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
                os.fchmod(descriptor, 0o666)  # whatever the umask: every user may lock it
                return descriptor
        except OSError as exc:
            raise ConnectError(
                device, f"{path}: cannot be locked: {exc.strerror}; remove it if no session uses the device"
            ) from exc


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _holder(descriptor: int) -> str:
    try:
        facts = json.loads(os.pread(descriptor, 4096, 0))
        return f"{str(facts['name'])[:100]} (process {int(facts['pid'])}, user {str(facts['user'])[:50]})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _folder() -> Path:
    return next((folder for folder in _FOLDERS if os.access(folder, os.W_OK | os.X_OK)), _FOLDERS[-1])


def _file_name(address: Sequence[str]) -> str:
    text = " ".join(address)
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:60].lower()
    return f"heft-{readable}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.lock"
