"""Who can reach a page: this host alone, or others that have a token, over TLS."""

from __future__ import annotations

import argparse
import ipaddress
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

from heft.daq.bus.endpoint import Endpoints
from heft.daq.config.rig import RigConfig
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.service.registration import service_endpoint
from heft.service.web_process import Showing, WebProcess, shown_path

__all__ = ["Reach", "is_loopback"]

LEAST_TOKEN = 16  # characters
_RIG = re.compile(r"^rig:\s*(\S+)", re.MULTILINE)


def is_loopback(host: str) -> bool:
    """Whether only this host can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Reach:
    """Where a page listens, and what it asks of those who connect."""

    host: str = "127.0.0.1"
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, host: str, token: Path | None, certificate: Path | None, key: Path | None) -> Reach:
        """ConfigError where others than this host could connect without a token, or without TLS."""
        text = "" if token is None else _read_token(token)
        if not is_loopback(host):
            missing = [
                name
                for name, given in (("--token FILE", text), ("--certificate PEM", certificate))
                if not given
            ]
            if missing:
                raise ConfigError(
                    f"--host {host}: others than this host could connect: needs {' and '.join(missing)}; "
                    "without, listen at 127.0.0.1"
                )
        if certificate is not None:
            try:
                ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
            except (OSError, ssl.SSLError) as exc:
                raise ConfigError(
                    f"--certificate {certificate}: cannot be used: {exc}; give PEM files"
                ) from exc
        return cls(host, text, certificate, key)

    def page(
        self, arguments: argparse.Namespace, rig: RigConfig, endpoints: Endpoints, data: Path
    ) -> WebProcess:
        """The process of a service's page."""
        return WebProcess(
            Showing(
                title=rig.name,
                telemetry=str(endpoints.telemetry.reachable),
                stop=str(endpoints.stop),
                control=str(endpoints.control),
                service=str(service_endpoint(endpoints)),
                data=shown_path(data),
                host=self.host,
                port=arguments.port,
                token=self.token,
                certificate=shown_path(self.certificate),
                key=shown_path(self.key),
                sessions=tuple(str(path) for path in _sessions(arguments.sessions, rig.path)),
                remote_arming=arguments.arm_from_network,
                foxglove=arguments.foxglove,
            )
        )


def _sessions(folder: Path | None, rig: Path) -> list[Path]:
    """Session files of this rig, which a page offers."""
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"--sessions {folder}: no such folder; give one with session files")
    places = [folder] if folder is not None else [Path("configs/sessions"), CONFIGS / "sessions"]
    found: dict[str, Path] = {}
    for place in places:
        for path in sorted(place.glob("*.yaml")):
            named = _RIG.search(path.read_text(encoding="utf-8", errors="replace"))
            if named and (path.parent / named[1].strip("'\"")).resolve() == rig.resolve():
                found.setdefault(path.name, path.resolve())
    return list(found.values())


def _read_token(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"--token {path}: cannot be read: {exc}; give a file with one line") from exc
    if len(text) < LEAST_TOKEN or not text.isascii() or any(c.isspace() for c in text):
        raise ConfigError(
            f"--token {path}: {len(text)} characters; at least {LEAST_TOKEN} without spaces: `openssl rand -hex 16`"
        )
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"--token {path}: others may read it; chmod 600 {path}")
    return text
