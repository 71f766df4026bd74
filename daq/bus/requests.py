"""Requests and their answers: a server with handlers by name, and a client that waits for each answer.

A channel says itself which endpoints it may use and what it is for: `heft.daq.bus.control`, `heft.daq.following`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import zmq
import zmq.asyncio

from heft.daq.bounded_json import bounded_json, bounded_text
from heft.daq.bus.channel import MOST_BYTES, Channel
from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Keyring, Role
from heft.daq.errors import BusError, HeftError, RemoteError, UnreadableAnswer

__all__ = ["Handler", "Reply", "Request", "RequestClient", "RequestServer"]

_log = logging.getLogger("heft.bus")
_OK, _REFUSED = b"ok", b"error"

#: The longest JSON object of a request or an answer [byte]; what is longer travels in buffers.
MOST_JSON = 1 << 16
#: Buffers of a request, and the longest text of an answer that says no.
MOST_BUFFERS = 16
MOST_TEXT = 2000
#: Requests of one client that are being answered at a time, and of all.
MOST_PENDING = 8
MOST_PENDING_OF_ALL = 256


@dataclass(frozen=True, slots=True)
class Request:
    """A command by name, with a JSON object and raw buffers."""

    name: str
    payload: Mapping[str, Any]
    buffers: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler answers, again a JSON object and raw buffers."""

    payload: Mapping[str, Any] = field(default_factory=dict)
    buffers: tuple[Any, ...] = ()


Handler = Callable[[Request], Awaitable[Reply | None]]


class RequestServer:
    """Answers requests while inside `async with`, each in a task of its own, begun in the order of arrival.

    What a handler raises goes to the client as text; an error that is not Heft's own is logged here too.

    channel   what the requests are about, in messages
    mode      permissions of an ipc endpoint's file, where they matter
    options   of the socket, by ZMQ's numbers
    role, keyring, most   as in `Channel`
    """

    def __init__(
        self,
        channel: str,
        endpoint: str | Endpoint,
        handlers: Mapping[str, Handler],
        *,
        mode: int | None = None,
        options: Mapping[int, int] | None = None,
        context: zmq.asyncio.Context | None = None,
        role: Role = Role.OBSERVE,
        keyring: Keyring | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint)
        self._handlers = dict(handlers)
        self._mode = mode
        self._channel = Channel(
            channel, zmq.ROUTER, options=options, context=context, role=role, keyring=keyring, most=most
        )
        self._pending: Counter[bytes] = Counter()  # requests by client
        self._server: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.endpoint = self._channel.bind(self.endpoint, mode=self._mode)
        self._server = asyncio.create_task(self._serve(), name=f"{self._channel.name} server")
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        try:
            self._server.cancel()
            (failure,) = await asyncio.gather(self._server, return_exceptions=True)
        finally:
            self._channel.close()
        if isinstance(failure, Exception) and exc[0] is None:
            raise failure

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as answers:
            while True:
                parts = await self._channel.receive()
                if len(parts) < 4:
                    text = "%s: a message of %d parts is no request; ignored"
                    _log.debug(text, self._channel.name, len(parts))
                    continue
                client, number, name, *_ = parts
                busy = self._pending[client] >= MOST_PENDING or self._pending.total() >= MOST_PENDING_OF_ALL
                self._pending[client] += 1
                job = self._answer(client, number, parts[2:], busy=busy)
                task = answers.create_task(job, name=f"{self._channel.name} {name[:40]!r}")
                if busy:
                    await asyncio.wait({task})  # its answer, and nothing more, before the next is looked at

    async def _answer(self, client: bytes, number: bytes, parts: Sequence[bytes], *, busy: bool) -> None:
        try:
            await self._try_answer(client, number, parts, busy=busy)
        finally:
            self._pending[client] -= 1
            if not self._pending[client]:
                del self._pending[client]

    async def _try_answer(self, client: bytes, number: bytes, parts: Sequence[bytes], *, busy: bool) -> None:
        try:
            if busy:
                raise BusError(
                    f"too many requests at a time, {MOST_PENDING} of one client or {MOST_PENDING_OF_ALL} of all; "
                    "wait for answers"
                )
            request = _decode_request(parts)
            handler = self._handlers.get(request.name)
            if handler is None:
                known = ", ".join(sorted(self._handlers))
                raise BusError(f"there is no command {request.name!r}; there are {known}")
            reply = await handler(request) or Reply()
            answer = [_OK, _to_json(reply.payload), *reply.buffers]
        except HeftError as exc:
            answer = [_REFUSED, _to_json({"kind": type(exc).__name__, "text": str(exc)})]
        except Exception as exc:
            _log.exception("%s: internal error", self._channel.name)
            text = f"internal error: {type(exc).__name__}: {exc}"
            answer = [_REFUSED, _to_json({"kind": type(exc).__name__, "text": text})]
        await self._channel.send([client, number, *answer])


class RequestClient:
    """Sends requests, one at a time; for a long one beside others open a second client."""

    def __init__(
        self,
        channel: str,
        endpoint: str | Endpoint,
        *,
        timeout_s: float = 5.0,
        context: zmq.asyncio.Context | None = None,
        role: Role = Role.OBSERVE,
        keyring: Keyring | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint)
        self._timeout_s = timeout_s
        # IMMEDIATE: a request never waits in a queue for a server that is not there, to be carried out later.
        self._channel = Channel(
            channel,
            zmq.DEALER,
            options={zmq.IMMEDIATE: 1, zmq.RCVHWM: MOST_PENDING},
            context=context,
            role=role,
            keyring=keyring,
        )
        self._numbers = itertools.count()
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._channel.connect(self.endpoint)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._channel.close()

    async def request(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        buffers: Sequence[Any] = (),
        *,
        timeout_s: float | None = None,
    ) -> Reply:
        """The server's answer. RemoteError: it refused, in its words; BusError: none in `timeout_s`, or garbage."""
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        async with self._turn:
            number = next(self._numbers).to_bytes(8, "little")
            sent = False
            try:
                async with asyncio.timeout(timeout_s):
                    await self._channel.send([number, name.encode(), _to_json(payload or {}), *buffers])
                    sent = True
                    while (parts := await self._channel.receive())[0] != number:
                        pass  # the late answer to a request that was given up
            except TimeoutError:
                what = "did not answer" if sent else "cannot be reached"
                may = "; the command may still be carried out" if sent else ""
                raise BusError(
                    f"{name}: the session at {self.endpoint} {what} within {timeout_s:g} s{may}; "
                    "check that it runs"
                ) from None
        return _decode_answer(name, parts)


def _decode_request(parts: Sequence[bytes]) -> Request:
    try:
        payload = bounded_json(parts[1], most=MOST_JSON)
        name = bounded_text(parts[0][:100].decode(), 100)
    except ValueError as exc:
        raise BusError(f"a request cannot be read: {exc}") from exc
    if len(parts) > 2 + MOST_BUFFERS:
        raise BusError(f"{name}: {len(parts) - 2} buffers, at most {MOST_BUFFERS} are taken")
    if not isinstance(payload, dict):
        raise BusError(f"{name}: the payload is {type(payload).__name__}, expected a JSON object")
    return Request(name, payload, tuple(parts[2:]))


def _decode_answer(name: str, parts: Sequence[bytes]) -> Reply:
    try:
        _, status, answer, *rest = parts
        value = bounded_json(answer, most=MOST_JSON)
        if not isinstance(value, dict):
            raise ValueError(f"{type(value).__name__}, no JSON object")
        if status == _OK:
            return Reply(value, tuple(rest))
        kind, text = bounded_text(str(value["kind"]), 100), bounded_text(str(value["text"]), MOST_TEXT)
    except (KeyError, ValueError) as exc:
        raise UnreadableAnswer(
            f"{name}: the answer cannot be read ({bounded_text(str(exc), 200)}); "
            "is it another program, or another version?"
        ) from exc
    raise RemoteError(name, kind, text)


def _to_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
