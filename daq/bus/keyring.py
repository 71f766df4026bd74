"""Keys of this user: his own pair, who may use his sessions and for what, and which sessions he trusts.

    $XDG_CONFIG_HOME/heft/keys/     without that variable: ~/.config/heft/keys/; mode 0700, its files 0600
        own.json                    the pair of this user on this host; its secret half never leaves it
        allowed.json                public keys by name, each with what it may do
        hosts.json                  public keys of sessions' hosts, by HOST or HOST:PORT

Keys are those of CURVE (Curve25519), 40 characters each (Z85). A folder or file that others can read or change is
refused.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import socket
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from heft.daq.bounded_json import bounded_json
from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import ConfigError

__all__ = ["KeyPair", "Keyring", "Peer", "Role", "require_keys"]

_OWN, _ALLOWED, _HOSTS = "own.json", "allowed.json", "hosts.json"
_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_HOST = re.compile(r"[A-Za-z0-9_.:%-]{1,255}")
_KEY = re.compile(r"[0-9A-Za-z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")


class Role(StrEnum):
    """What a peer may do."""

    OBSERVE = "observe"  # read telemetry, follow the recording
    STOP = "stop"  # ask for a stop
    CONTROL = "control"  # send setpoints while a motion is on


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A public key, and the secret one that belongs to it."""

    public: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody who is let in."""

    name: str
    public: str
    roles: frozenset[Role]


class Keyring:
    """The keys in a folder; ConfigError, with the remedy, for all that is wrong with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls) -> Self:
        """In the configuration folder of this user."""
        given = os.environ.get("XDG_CONFIG_HOME")
        if given and not Path(given).is_absolute():
            raise ConfigError(f"XDG_CONFIG_HOME={given}: not an absolute path; correct or unset it")
        return cls((Path(given) if given else Path.home() / ".config") / "heft" / "keys")

    def own(self) -> KeyPair:
        """The pair of this user."""
        facts = self._read(_OWN)
        if not facts:
            raise ConfigError(f"{self.folder}: there is no key of your own; make one with `heft keys new`")
        try:
            return KeyPair(checked_key(facts["public"]), checked_key(facts["secret"]))
        except KeyError as exc:
            raise ConfigError(
                f"{self.folder / _OWN}: {exc} is missing; make a new one: `heft keys new --replace`"
            ) from exc

    def new(self, *, replace: bool = False) -> KeyPair:
        """A new pair of one's own; one that is there is kept unless it is to be replaced."""
        import zmq

        if not replace and (self.folder / _OWN).exists():
            raise ConfigError(
                f"{self.folder / _OWN}: there is a key already; --replace makes a new one, and all who know the old "
                "one have to be told"
            )
        public, secret = (half.decode() for half in zmq.curve_keypair())
        self._write(_OWN, {"public": public, "secret": secret})
        return KeyPair(public, secret)

    def allow(self, name: str, public: str, roles: Iterable[Role]) -> Peer:
        """Let somebody in; one of that name is replaced."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is no name; give up to 40 letters, digits, - and _")
        peer = Peer(name, checked_key(public), frozenset(roles))
        others = {other.name: other for other in self.allowed()}
        taken = next((o.name for o in others.values() if o.public == peer.public and o.name != name), None)
        if taken is not None:
            raise ConfigError(f"{name}: this key is known as {taken}; revoke that first")
        self._write_allowed({**others, name: peer})
        return peer

    def revoke(self, name: str) -> Peer:
        """Let somebody in no more."""
        others = {other.name: other for other in self.allowed()}
        if name not in others:
            known = ", ".join(sorted(others)) or "nobody"
            raise ConfigError(f"{name}: nobody of this name is allowed; there is {known}")
        peer = others.pop(name)
        self._write_allowed(others)
        return peer

    def allowed(self) -> tuple[Peer, ...]:
        """All who are let in, by name."""
        peers = []
        for name, facts in sorted(self._read(_ALLOWED).items()):
            try:
                roles = frozenset(Role(role) for role in facts["may"])
                peers.append(Peer(name, checked_key(facts["key"]), roles))
            except (KeyError, TypeError, ValueError) as exc:
                raise ConfigError(
                    f"{self.folder / _ALLOWED}: {name}: cannot be read ({exc}); `heft keys revoke` and `allow` it again"
                ) from exc
        return tuple(peers)

    def trust(self, host: str, public: str) -> None:
        """The key by which the sessions of a host (or HOST:PORT) are known."""
        if not _HOST.fullmatch(host):
            raise ConfigError(f"{host!r} is no host; give HOST or HOST:PORT as in its endpoint")
        self._write(_HOSTS, {**self._read(_HOSTS), host: checked_key(public)})

    def trusted(self) -> Mapping[str, str]:
        """Public keys by host."""
        return {host: checked_key(key) for host, key in sorted(self._read(_HOSTS).items())}

    def key_of(self, endpoint: Endpoint) -> str:
        """The public key that the session at an endpoint has to have; on this host it is one's own."""
        known = self.trusted()
        for host in (f"{endpoint.address}:{endpoint.port}", endpoint.address):
            if host in known:
                return known[host]
        if endpoint.is_local or _is_of_this_host(endpoint.address):
            return self.own().public
        raise ConfigError(
            f"{endpoint}: the key of {endpoint.address} is not known; run `heft keys show` there, "
            f"and here `heft keys trust {endpoint.address} KEY`"
        )

    @property
    def version(self) -> tuple[int, int] | None:
        """Changes whenever somebody is allowed or revoked."""
        try:
            found = (self.folder / _ALLOWED).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _write_allowed(self, peers: Mapping[str, Peer]) -> None:
        self._write(
            _ALLOWED,
            {name: {"key": peer.public, "may": sorted(peer.roles)} for name, peer in peers.items()},
        )

    def _read(self, name: str) -> dict[str, Any]:
        """What a file says; nothing where there is none."""
        path = self.folder / name
        try:
            with open(path, "rb") as file:
                self._require_private(self.folder, os.stat(self.folder), "700")
                self._require_private(path, os.fstat(file.fileno()), "600")
                facts = bounded_json(file.read(_MOST_BYTES + 1), most=_MOST_BYTES)
        except FileNotFoundError:
            return {}
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
        except ValueError as exc:
            raise ConfigError(
                f"{path}: cannot be read ({exc}); remove it, and make what was in it anew"
            ) from exc
        if not isinstance(facts, dict):
            raise ConfigError(f"{path}: no JSON object; remove it, and make what was in it anew")
        return facts

    def _write(self, name: str, facts: Mapping[str, Any]) -> None:
        """Whole or not at all, and never readable by others."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._require_private(self.folder, os.stat(self.folder), "700")
            handle, draft = tempfile.mkstemp(dir=self.folder)  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(facts, file, indent=1)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, self.folder / name)
            except BaseException:
                os.unlink(draft)
                raise
        except OSError as exc:
            raise ConfigError(f"{self.folder / name}: cannot be written: {exc.strerror}") from exc

    @staticmethod
    def _require_private(path: Path, found: os.stat_result, mode: str) -> None:
        if found.st_uid != os.geteuid():
            raise ConfigError(
                f"{path}: belongs to user {found.st_uid}, and this is user {os.geteuid()}; make keys of your own"
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise ConfigError(
                f"{path}: mode {stat.S_IMODE(found.st_mode):04o}: others can reach the keys; chmod {mode} {path}, "
                "and make new ones if others have been there"
            )


def _is_of_this_host(address: str) -> bool:
    """Whether an address belongs to this host: it can be listened to here."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        try:
            ipaddress.ip_address(address)  # a name may mean another host tomorrow
            probe.bind((address, 0))
        except (OSError, ValueError):
            return False
    return True


def checked_key(text: Any) -> str:
    """A key as CURVE has it; ConfigError, which does not repeat it, for anything else."""
    if not isinstance(text, str) or not _KEY.fullmatch(text):
        raise ConfigError(
            "this is no key: a key has 40 characters, as `heft keys show` prints it (in quotes, in a shell)"
        )
    return text


def require_keys(channel: str, endpoint: Endpoint, keyring: Keyring | None = None) -> Keyring | None:
    """The keys for an endpoint, None where none are asked for; ConfigError where they are and there are none."""
    if not endpoint.secured:
        return None
    keyring = keyring or Keyring.of_user()
    try:
        keyring.own()
    except ConfigError as exc:
        raise ConfigError(f"{channel} may not use {endpoint} without keys: {exc}") from exc
    return keyring
