"""Who is let in at a port of this host, and how many: decided in a thread that never delays what the port is for.

ZMQ asks (ZAP, RFC 27) before a peer's first message is read: a key that is not allowed gets its answer there, and
nothing that such a peer sends reaches the session. The thread has low priority, and so has ZMQ's own thread for the
port, which it starts: encryption and strangers come after acquisition.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import Counter

import zmq
import zmq.asyncio
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from heft.daq.bus.keyring import Keyring, Peer, Role
from heft.daq.errors import ConfigError

__all__ = ["CLOSED_S", "MOST_CONNECTIONS", "Guard"]

_log = logging.getLogger("heft.bus")

#: Connections at a time, strangers included: a quarter of the files that a process may usually open. Above, all are
#: cut, and the port is closed for so long [s]; peers come back by themselves.
MOST_CONNECTIONS = 256
CLOSED_S = 1.0
#: A connection that has not shown its key after so long is cut [ms].
HANDSHAKE_MS = 2000
#: Connections that one peer may begin in a second.
MOST_BEGUN = 20
#: How far the thread steps back behind acquisition.
NICENESS = 10
#: Refused keys are told of no more often [s].
_TELL_S = 10.0

_ZAP = "inproc://zeromq.zap.01"
_MONITOR = "inproc://heft.connections"
_BEGUN, _ENDED, _CLOSED = zmq.EVENT_ACCEPTED, zmq.EVENT_DISCONNECTED, zmq.EVENT_CLOSED
_ALLOWED, _REFUSED = b"200", b"400"


class Guard:
    """At one socket of a context: `protect` it before it is bound. It ends with the context.

    keyring   whose peers are let in; None: everyone is, and only connections are counted
    role      that they must have
    """

    def __init__(self, context: zmq.asyncio.Context, keyring: Keyring | None, role: Role, name: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(context.underlying)
        self._keyring, self._role, self._name = keyring, role, name
        self._own = None if keyring is None else keyring.own()
        self._peers: dict[str, Peer] = {}
        self._version: object = ()
        self._begun: Counter[str] = Counter()
        self._second = 0
        self._refused = 0
        self._told_s = -_TELL_S
        self.crowded = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{name} guard", daemon=True)
        self._thread.start()
        self._ready.wait()

    def protect(self, socket: zmq.Socket[bytes]) -> None:
        """Set the options of a socket that is to be bound."""
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        if self._own is not None:
            socket.setsockopt_string(zmq.ZAP_DOMAIN, str(self._role))
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt_string(zmq.CURVE_SECRETKEY, self._own.secret)
        socket.monitor(_MONITOR, _BEGUN | _ENDED | _CLOSED)

    def join(self) -> None:
        """Wait for its end, when the context has been ended."""
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        zap = self._context.socket(zmq.REP)  # the context's first: ZMQ's own thread steps back as well
        monitor = self._context.socket(zmq.PAIR)
        try:
            for socket in (zap, monitor):
                socket.setsockopt(zmq.LINGER, 0)
            zap.bind(_ZAP)
            monitor.connect(_MONITOR)
            self._ready.set()
            self._serve(zap, monitor)
        except zmq.ContextTerminated:
            pass
        finally:
            self._ready.set()
            zap.close()
            monitor.close()

    def _serve(self, zap: zmq.Socket[bytes], monitor: zmq.Socket[bytes]) -> None:
        poller = zmq.Poller()
        poller.register(zap, zmq.POLLIN)
        poller.register(monitor, zmq.POLLIN)
        connected: set[int] = set()
        while True:
            for socket, _ in poller.poll():
                if socket is zap:
                    zap.send_multipart(self._answer(zap.recv_multipart()))
                    continue
                event = recv_monitor_message(monitor)
                if event["event"] == _CLOSED:  # the port, and with it all connections
                    connected.clear()
                else:
                    change = connected.add if event["event"] == _BEGUN else connected.discard
                    change(event["value"])
                self.crowded = len(connected) > MOST_CONNECTIONS

    def _answer(self, parts: list[bytes]) -> list[bytes]:
        """A reply of ZAP: version, request, status, text, user, metadata."""
        version, request, _domain, address, _identity, mechanism, *credentials = parts
        name = None
        if mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            name = self._name_of(z85.encode(credentials[0]).decode())
        if name is None:
            self._tell_refused(address)
            return [version, request, _REFUSED, b"not allowed", b"", b""]
        return [version, request, _ALLOWED, b"", name.encode(), b""]

    def _name_of(self, public: str) -> str | None:
        """Who has this key, if he may use the channel now."""
        assert self._keyring is not None
        assert self._own is not None
        if public == self._own.public:  # this user, who has the private channels too
            return "own"
        version = self._keyring.version
        if version != self._version:
            try:
                self._peers = {peer.public: peer for peer in self._keyring.allowed()}
            except ConfigError as exc:
                self._peers = {}
                _log.warning("%s: nobody is let in: %s", self._name, exc)
            self._version = version
        peer = self._peers.get(public)
        if peer is None or self._role not in peer.roles:
            return None
        second = int(time.monotonic())
        if second != self._second:
            self._second = second
            self._begun.clear()
        self._begun[peer.name] += 1
        return peer.name if self._begun[peer.name] <= MOST_BEGUN else None

    def _tell_refused(self, address: bytes) -> None:
        self._refused += 1
        now_s = time.monotonic()
        if now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            where = address.decode(errors="replace")
            _log.warning(
                "%s: %d connections refused so far, the last from %s; `heft keys allow NAME KEY --may %s` lets one in",
                self._name,
                self._refused,
                where,
                self._role,
            )
