"""Topics of ROS 2 over DDS, without ROS: a participant of Cyclone DDS on the event loop.

Messages go in and out as CDR bytes; what they mean is the codec's business. `cyclonedds` is imported when a line is
opened (the extra `ros2`: there are wheels up to Python 3.13). Participants of one process share what Cyclone calls a
domain, with its settings: the last one to leave deletes it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from heft.drivers.clock import Clock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.bridge import Bridge
from heft.drivers.transports.transport import Transport

__all__ = ["LOOPBACK", "DdsLine", "DdsMessage", "DdsTopic"]

#: Names of the interface that leads nowhere.
LOOPBACK = ("lo", "localhost", "127.0.0.1")

_DEPTH = 2000  # messages that are kept for a reader that has stalled
_TAKEN = 256  # at a time
_MOST_ON_ONE_HOST = 60  # participants that are looked for on this host, where there is no multicast
_BLOCKING_NS = 1_000_000  # that writing may block


class DdsTopic(NamedTuple):
    """A topic by the names that ROS has for it, and whether lost messages are sent again."""

    name: str
    type: str
    reliable: bool = True


class DdsMessage(NamedTuple):
    """One message: CDR bytes with their encapsulation header; none: its publisher has left.

    host_ns   when it was received [ns, host clock]
    source    which publisher it came from
    """

    topic: str
    data: bytes
    host_ns: int
    source: int


@dataclass(slots=True)
class _Domain:
    """A domain that this process has open."""

    settings: str | None
    entity: Any
    users: int = 0


_domains: dict[int, _Domain] = {}


class DdsLine(Transport[DdsMessage, bytes]):
    """Subscribes and publishes topics of one domain; `send` publishes on the first topic that is published.

    interface   name or address of the network interface; None: as CYCLONEDDS_URI says, or what Cyclone DDS chooses
    peers       hosts to look for where multicast does not reach them
    """

    def __init__(
        self,
        device: str,
        clock: Clock,
        *,
        domain: int,
        subscribed: Sequence[DdsTopic] = (),
        published: Sequence[DdsTopic] = (),
        interface: str | None = None,
        peers: Sequence[str] = (),
    ) -> None:
        super().__init__(device, clock)
        self.domain, self.interface, self.peers = domain, interface, tuple(peers)
        self._subscribed, self._published = tuple(subscribed), tuple(published)
        self._entities: list[Any] = []  # in the order in which they were made
        self._readers: dict[str, Any] = {}
        self._writers: dict[str, Any] = {}
        self._waitset: Any = None
        self._bridge: Bridge[DdsMessage] | None = None
        self._taken: deque[DdsMessage] = deque()
        self._has_domain = False

    @property
    def where(self) -> str:
        through = "" if self.interface is None else f" through {self.interface}"
        return f"ROS domain {self.domain}{through}"

    # -- messages -----------------------------------------------------------------------------------------------------

    async def send(self, item: bytes) -> int:
        return self.publish(self._published[0].name, item)

    def publish(self, topic: str, item: bytes) -> int:
        """Publish one message; the host time [ns] just before. What DDS itself finds malformed is lost on this line."""
        writer = self._writers.get(topic)
        if writer is None:
            raise self._unavailable()
        from cyclonedds._clayer import ddspy_write

        sent_ns = self.clock.now_ns()
        ddspy_write(writer._ref, item)
        return sent_ns

    def publishers(self, topic: str) -> int:
        """How many publish a subscribed topic, as far as they have been discovered."""
        reader = self._readers.get(topic)
        return 0 if reader is None else int(reader.get_subscription_matched_status().current_count)

    def subscribers(self, topic: str) -> int:
        """How many subscribe to a published topic."""
        writer = self._writers.get(topic)
        return 0 if writer is None else int(writer.get_publication_matched_status().current_count)

    def mismatched(self, topic: str) -> bool:
        """Whether somebody has the other end of this topic, with a quality of service that does not fit."""
        if topic in self._readers:
            return int(self._readers[topic].get_requested_incompatible_qos_status().total_count) > 0
        if topic in self._writers:
            return int(self._writers[topic].get_offered_incompatible_qos_status().total_count) > 0
        return False

    def _read(self, timeout_s: float) -> DdsMessage | None:
        """In a thread: the next message."""
        if not self._taken:
            if timeout_s > 0.0 and self._waitset.wait(round(timeout_s * 1e9)) == 0:
                return None
            self._take_all()
        return self._taken.popleft() if self._taken else None

    def _take_all(self) -> None:
        from cyclonedds._clayer import ddspy_take
        from cyclonedds.core import InstanceState, SampleState, ViewState

        everything = SampleState.Any | ViewState.Any | InstanceState.Any
        for topic, reader in self._readers.items():
            samples = ddspy_take(reader._ref, everything, _TAKEN)
            if isinstance(samples, int):
                raise DeviceLost(self.device, f"{self.where}: cannot read {topic}: DDS error {samples}")
            host_ns = self.clock.now_ns()
            for data, info in samples:
                content = data if info.valid_data else b""
                self._taken.append(DdsMessage(topic, content, host_ns, info.publication_handle))

    # -- life ---------------------------------------------------------------------------------------------------------

    async def _acquire(self) -> None:
        try:
            from cyclonedds.core import DDSException
        except ImportError as exc:
            raise ConnectError(
                self.device,
                "the package `cyclonedds` is missing; install it with `pip install 'heft[ros2]'` (there are wheels up "
                "to Python 3.13)",
            ) from exc
        try:
            self._make()
        except DDSException as exc:
            raise ConnectError(
                self.device,
                f"{self.where}: DDS cannot be opened ({exc}); check the name of the interface and CYCLONEDDS_URI",
            ) from exc
        self._bridge = Bridge(f"dds {self.device}", self._read, self._inbox.put, self._failed)

    def _make(self) -> None:
        """Participant, topics, readers, writers."""
        from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState, WaitSet
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.qos import Policy, Qos
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        from heft.drivers.transports.ros2_types import TYPES, dds_topic

        self._enter_domain()
        participant = DomainParticipant(self.domain)
        self._entities.append(participant)
        conditions = []
        for wanted in (*self._subscribed, *self._published):
            reliability = (
                Policy.Reliability.Reliable(_BLOCKING_NS)
                if wanted.reliable
                else Policy.Reliability.BestEffort
            )
            # ROS speaks the first version of CDR; Cyclone would prefer the second.
            representation = Policy.DataRepresentation(
                use_cdrv0_representation=True, use_xcdrv2_representation=False
            )
            qos = Qos(reliability, Policy.History.KeepLast(_DEPTH), representation)
            topic: Any = Topic(participant, dds_topic(wanted.name), TYPES[wanted.type], qos=qos)
            self._entities.append(topic)
            if wanted in self._published:
                self._writers[wanted.name] = DataWriter(participant, topic, qos=qos)
                self._entities.append(self._writers[wanted.name])
            else:
                reader: Any = DataReader(participant, topic, qos=qos)
                self._readers[wanted.name] = reader
                any_state = SampleState.Any | ViewState.Any | InstanceState.Any
                conditions.append(ReadCondition(reader, any_state))
                self._entities += [reader, conditions[-1]]
        self._waitset = WaitSet(participant)
        for condition in conditions:
            self._waitset.attach(condition)
        self._entities.append(self._waitset)

    def _enter_domain(self) -> None:
        from cyclonedds.domain import Domain

        settings = self._settings()
        known = _domains.get(self.domain)
        if known is None:
            entity = None if settings is None else Domain(self.domain, settings)
            known = _domains[self.domain] = _Domain(settings, entity)
        elif known.settings != settings:
            raise ConnectError(
                self.device,
                f"{self.where}: this program has domain {self.domain} open with another interface or other peers; "
                "give all devices of the domain the same",
            )
        known.users += 1
        self._has_domain = True

    def _settings(self) -> str | None:
        """Cyclone's configuration; None: its own."""
        if self.interface is None and not self.peers:
            return None
        alone = self.interface in LOOPBACK
        general, discovery = "", ""
        if self.interface is not None:
            key = "address" if self.interface.replace(".", "").isdigit() else "name"
            name = {"localhost": "lo"}.get(self.interface, self.interface)
            general = f"<Interfaces><NetworkInterface {key}={quoteattr(name)}/></Interfaces>"
        peers = (*self.peers, "127.0.0.1") if alone else self.peers
        if alone:
            general += "<AllowMulticast>false</AllowMulticast>"
        if peers:
            each = "".join(f"<Peer address={quoteattr(peer)}/>" for peer in peers)
            most = f"<MaxAutoParticipantIndex>{_MOST_ON_ONE_HOST}</MaxAutoParticipantIndex>"
            discovery = f"<ParticipantIndex>auto</ParticipantIndex>{most}<Peers>{each}</Peers>"
        parts = f"<General>{general}</General><Discovery>{discovery}</Discovery>"
        own = f"<CycloneDDS><Domain>{parts}</Domain></CycloneDDS>"
        given = os.environ.get("CYCLONEDDS_URI")
        return f"{given},{own}" if given and not alone else own

    def _release(self) -> None:
        if self._bridge is not None:
            self._bridge.stop()
            self._bridge = None
        self._readers, self._writers, self._waitset = {}, {}, None
        while self._entities:
            self._entities.pop()  # the last reference: it is deleted, parts before the whole
        self._taken.clear()
        if self._has_domain:
            self._has_domain = False
            known = _domains[self.domain]
            known.users -= 1
            if known.users == 0:
                del _domains[self.domain]

    def _failed(self, exc: Exception) -> None:
        self._inbox.fail(
            exc if isinstance(exc, DeviceLost) else DeviceLost(self.device, f"{self.where}: {exc}")
        )
