"""What a broker asks for: a password and certificates, from where they are kept. None of it is ever told."""

from __future__ import annotations

import os
import ssl
import stat
from pathlib import Path

from heft.daq.config.broker import BrokerConfig
from heft.daq.errors import ConfigError

__all__ = ["password_of", "tls_of"]


def password_of(config: BrokerConfig, folder: Path) -> str | None:
    """The password, None where there is none; `folder` is that of the rig's file."""
    if config.password_env is not None:
        password = os.environ.get(config.password_env)
        if not password:
            raise ConfigError(
                f"mqtt.password_env: the environment variable {config.password_env} is not set; put the password there"
            )
        return password
    if config.password_file is None:
        return None
    path = _private(folder / config.password_file, "mqtt.password_file", "put the password there")
    try:
        return path.read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError, UnicodeDecodeError) as exc:
        raise ConfigError(
            f"{path}: mqtt.password_file cannot be read ({type(exc).__name__}); put the password there"
        ) from None


def tls_of(config: BrokerConfig, folder: Path) -> ssl.SSLContext | None:
    """How to speak to the broker, its certificate and name checked; None where it is spoken to openly."""
    tls = config.tls
    if tls is None:
        return None
    ca = None if tls.ca is None else folder / tls.ca
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as exc:
        raise ConfigError(f"{ca}: mqtt.tls.ca cannot be used: {exc}; give certificates in PEM") from None
    if tls.certificate is not None and tls.key is not None:
        certificate = folder / tls.certificate
        key = _private(folder / tls.key, "mqtt.tls.key", "put the key there")
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (OSError, ValueError) as exc:
            raise ConfigError(
                f"{certificate}: mqtt.tls.certificate cannot be used with {key}: {exc}; give a certificate and "
                "its key, both in PEM, the key without a password"
            ) from None
    return context


def _no_password() -> str:
    """Instead of a question in the terminal."""
    return ""


def _private(path: Path, key: str, remedy: str) -> Path:
    """A file that only its user can read."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as exc:
        raise ConfigError(f"{path}: {key} cannot be read: {exc.strerror}; {remedy}") from None
    if mode & 0o077:
        raise ConfigError(f"{path}: {key}: mode {mode:04o}: others can read it; chmod 600 {path}")
    return path
