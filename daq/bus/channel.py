"""One ZMQ socket with an owner: opened in order, waited on with care, closed without lingering."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket as unix
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.guard import CLOSED_S, Guard
from heft.daq.bus.keyring import Keyring, Role, require_keys
from heft.daq.bus.refusal import RefusalWatch
from heft.daq.errors import BusError

__all__ = ["Channel"]

_log = logging.getLogger("heft.bus")

#: Messages taken in one go before other tasks get their turn.
_BURST = 128
#: The longest part of a message, where nothing else is said [byte]: a Block of a second at 4 kHz has two.
MOST_BYTES = 1 << 24


class Channel:
    """A socket of kind `kind`, for one task on each side of it.

    name      what the channel is for, in messages
    mode      permissions of an ipc endpoint's file, where they matter
    guard_s   how long a wait may last before the socket is looked at again whatever was signalled [s]: ZMQ's
              descriptor tells of changes only, and a wake-up can be missed (pyzmq issue 2173)
    context   the ZMQ context to live in; its own otherwise, ended with it. A port has always its own
    role      what a peer must be allowed to do, where keys are asked for (`Endpoint.secured`)
    keyring   the keys for that; None: this user's
    most      the longest part of a message that is taken [byte]; who sends a longer one is disconnected
    """

    def __init__(
        self,
        name: str,
        kind: int,
        *,
        guard_s: float = 0.25,
        options: Mapping[int, int] | None = None,
        context: zmq.asyncio.Context | None = None,
        role: Role = Role.OBSERVE,
        keyring: Keyring | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        self.name = name
        self._kind = kind
        self._role, self._keyring, self._most = role, keyring, most
        self._guard_ms = max(1, round(guard_s * 1e3))
        self._options = options or {}
        self._given_context = context
        self._context: zmq.asyncio.Context | None = None
        self._socket: zmq.asyncio.Socket | None = None
        self._plain: zmq.Socket[bytes] | None = None
        self._pollers: dict[int, zmq.asyncio.Poller] = {}
        self._file: Path | None = None
        self._in_a_row = 0
        self._guard: Guard | None = None
        self._watch: RefusalWatch | None = None
        self._port: str | None = None  # that the guard watches
        self._closed_s: float | None = None  # since when it is closed

    def bind(self, endpoint: Endpoint, *, mode: int | None = None) -> Endpoint:
        """Open here; the endpoint as it is now (a free port has become a number)."""
        keyring = require_keys(self.name, endpoint, self._keyring)
        plain = self._open(endpoint, keyring, serving=True)
        try:
            if self._guard is not None:
                self._guard.protect(plain)
            self._refuse_if_taken(endpoint)
            plain.bind(endpoint.wire)
            self._file = endpoint.path
            if mode is not None and endpoint.path is not None:
                os.chmod(endpoint.path, mode)
        except BusError:
            self.close()
            raise
        except (zmq.ZMQError, OSError) as exc:
            self.close()
            raise BusError(f"{self.name} cannot bind {endpoint}: {_reason(exc, endpoint)}") from exc
        if endpoint.port is not None:
            self._port = plain.getsockopt_string(zmq.LAST_ENDPOINT)
        if endpoint.port != 0:
            return endpoint
        return replace(endpoint, port=Endpoint.parse(plain.getsockopt_string(zmq.LAST_ENDPOINT)).port)

    def connect(self, endpoint: Endpoint) -> None:
        """Open towards an endpoint; whether anyone is there shows only later."""
        endpoint.require_target(self.name)
        keyring = require_keys(self.name, endpoint, self._keyring)
        own = None if keyring is None else keyring.own()
        theirs = None if keyring is None else keyring.key_of(endpoint)
        plain = self._open(endpoint)
        try:
            if own is not None and theirs is not None:
                plain.setsockopt_string(zmq.CURVE_SERVERKEY, theirs)
                plain.setsockopt_string(zmq.CURVE_PUBLICKEY, own.public)
                plain.setsockopt_string(zmq.CURVE_SECRETKEY, own.secret)
            if endpoint.scheme == "tcp":
                self._watch_refusal(plain, endpoint, None if own is None else own.public)
            plain.connect(endpoint.wire)
        except zmq.ZMQError as exc:
            self.close()
            raise BusError(
                f"{self.name} cannot connect to {endpoint}: {exc.strerror}; check the address"
            ) from exc

    def subscribe(self, topic: str) -> None:
        """Ask a publisher for the topics that begin like this."""
        self._require_open().setsockopt_string(zmq.SUBSCRIBE, topic)

    def set_option(self, option: int, value: int) -> None:
        """Change a socket option while it is open."""
        self._require_open().setsockopt(option, value)

    def close(self) -> None:
        """Close at once: what has not left is dropped. May be called twice."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = self._plain = None
            self._pollers.clear()
        if self._file is not None:
            self._file.unlink(missing_ok=True)  # ZMQ leaves it
            self._file = None
        if self._context is not None:
            self._context.term()
            self._context = None
        if self._guard is not None:
            self._guard.join()
            self._guard = None

    def send_now(self, parts: Sequence[Any], *, copy: bool = True) -> None:
        """Hand a message to ZMQ without waiting; zmq.Again where the kind of socket would have to wait."""
        socket = self._require_open()
        if self._guard is not None:
            self._mind_the_crowd(socket, self._guard)
        socket.send_multipart(parts, zmq.NOBLOCK, copy=copy)

    async def send(self, parts: Sequence[Any]) -> None:
        """Hand a message to ZMQ, waiting for room or for a peer."""
        while True:
            try:
                return self.send_now(parts)
            except zmq.Again:
                await self._wait(zmq.POLLOUT)

    async def receive(self) -> list[bytes]:
        """The next message; being cancelled loses none."""
        parts: list[bytes] = await self._receive(copy=True)
        return parts

    async def receive_from(self) -> tuple[str, list[bytes]]:
        """The next message, and the name of the peer that sent it; no name where keys are not asked for."""
        frames: list[zmq.Frame] = await self._receive(copy=False)
        try:
            name = str(frames[0].get("User-Id"))
        except zmq.ZMQError:
            name = ""
        return name, [bytes(frame.buffer) for frame in frames]

    async def _receive(self, *, copy: bool) -> list[Any]:
        while True:
            try:
                parts: list[Any] = self._require_open().recv_multipart(zmq.NOBLOCK, copy=copy)
            except zmq.Again:
                self._in_a_row = 0
                await self._wait(zmq.POLLIN)
                continue
            self._in_a_row += 1
            if self._in_a_row >= _BURST:  # a flood must not starve signals, timers and other tasks
                self._in_a_row = 0
                await asyncio.sleep(0)
            return parts

    async def _wait(self, event: int) -> None:
        await self._pollers[event].poll(self._guard_ms)
        if self._watch is not None:
            self._watch.check()
        if self._guard is not None:
            self._mind_the_crowd(self._require_open(), self._guard)

    def _mind_the_crowd(self, socket: zmq.Socket[bytes], guard: Guard) -> None:
        """Close the port for a while where too many are connected: files and processor are not theirs."""
        if self._port is None:
            return
        if self._closed_s is None:
            if guard.crowded:
                _log.warning(
                    "%s: too many connections; %s is closed for %g s", self.name, self._port, CLOSED_S
                )
                with contextlib.suppress(zmq.ZMQError):
                    socket.unbind(self._port)
                self._closed_s = time.monotonic()
        elif time.monotonic() - self._closed_s > CLOSED_S:
            with contextlib.suppress(zmq.ZMQError):  # not free yet: the next look may find it so
                socket.bind(self._port)
                self._closed_s = None

    def _watch_refusal(self, plain: zmq.Socket[bytes], endpoint: Endpoint, public: str | None) -> None:
        context = self._context or self._given_context
        assert context is not None
        self._watch = RefusalWatch(context, plain, endpoint, self._role, public)
        for poller in self._pollers.values():
            poller.register(self._watch.socket, zmq.POLLIN)

    def _open(
        self, endpoint: Endpoint, keyring: Keyring | None = None, *, serving: bool = False
    ) -> zmq.Socket[bytes]:
        if self._socket is not None:
            raise BusError(f"{self.name} is already open")
        if self._given_context is None and endpoint.scheme == "inproc":
            raise BusError(
                f"{self.name} cannot use {endpoint}: inproc needs a context that both ends are given"
            )
        if self._given_context is None or (serving and endpoint.scheme == "tcp"):
            self._context = zmq.asyncio.Context()
        context = self._context or self._given_context
        assert context is not None
        if serving and endpoint.scheme == "tcp":
            self._guard = Guard(context, keyring, self._role, self.name)
        self._socket = context.socket(self._kind)
        self._plain = zmq.Socket.shadow(self._socket.underlying)
        for event in (zmq.POLLIN, zmq.POLLOUT):
            self._pollers[event] = zmq.asyncio.Poller()
            self._pollers[event].register(self._socket, event)
        for option, value in {
            zmq.LINGER: 0,
            zmq.IPV6: int(":" in endpoint.address),
            zmq.MAXMSGSIZE: self._most,
            **self._options,
        }.items():
            self._plain.setsockopt(option, value)
        return self._plain

    def _require_open(self) -> zmq.Socket[bytes]:
        if self._plain is None:
            raise BusError(f"{self.name} is not open; use it inside `async with`")
        return self._plain

    def _refuse_if_taken(self, endpoint: Endpoint) -> None:
        """ZMQ takes an ipc path away from whoever listens on it, without a word."""
        if endpoint.path is None or not endpoint.path.exists():
            return
        with contextlib.closing(unix.socket(unix.AF_UNIX, unix.SOCK_STREAM)) as probe:
            try:
                probe.connect(str(endpoint.path))
            except OSError:
                return  # left behind by a process that is gone
        raise BusError(
            f"{self.name} cannot bind {endpoint}: another session listens there; give another path"
        )


def _reason(exc: OSError | zmq.ZMQError, endpoint: Endpoint) -> str:
    if exc.errno == errno.EADDRINUSE:
        return "it is in use; end the other session or choose another port"
    if exc.errno in (errno.EADDRNOTAVAIL, errno.ENODEV):
        return f"{endpoint.address} is not an address of this host; give one of its own, or *"
    if exc.errno == errno.ENOENT and endpoint.path is not None:
        return f"there is no folder {endpoint.path.parent}; create it"
    if exc.errno == errno.EACCES:
        return "permission denied; choose a folder of your own or a port above 1023"
    return exc.strerror or str(exc)
