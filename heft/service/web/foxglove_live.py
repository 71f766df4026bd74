"""The session in the Foxglove app: joint states, transforms, wrenches and estimates, over its own websocket.

`foxglove-sdk` is an extra (`heft[foxglove]`). Its server asks nobody for a token, so it is at the loopback alone,
wherever the page is, behind a gate that refuses web sites. Like the page it is an observer: what it cannot send is lost
to it alone.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.daq import topics
from heft.daq.bus.control import ControlClient
from heft.daq.bus.message import Message
from heft.daq.errors import ConfigError
from heft.drivers.block import Block
from heft.drivers.stream import Role
from heft.service.web.foxglove_gate import FoxgloveGate, hidden_address
from heft.service.web.hub import Hub
from heft.service.web_process import Showing

if TYPE_CHECKING:  # both need foxglove-sdk
    from heft.service.web.foxglove_parameters import FoxgloveParameters
    from heft.service.web.foxglove_playback import FoxglovePlayback

__all__ = ["FoxgloveView", "serve_foxglove"]

_log = logging.getLogger("heft.service")

_FORCES = ("x.force", "y.force", "z.force", "x.torque", "y.torque", "z.torque")
_EVERY_NS = 10_000_000  # between two messages of a stream: a viewer draws no more


def serve_foxglove(showing: Showing, hub: Hub, scene: Callable[[], dict[str, Any] | None]) -> FoxgloveView:
    """Serve what the hub hears at a port, a replay with its time line; ConfigError where the SDK is not installed."""
    port = showing.foxglove
    try:
        import foxglove
        from foxglove.websocket import Capability
    except ImportError as exc:
        raise ConfigError(f"--foxglove {port}: needs foxglove-sdk: pip install heft[foxglove]") from exc
    from heft.service.web.foxglove_listener import FoxgloveListener
    from heft.service.web.foxglove_parameters import FoxgloveParameters
    from heft.service.web.foxglove_playback import FoxglovePlayback

    parameters, playback = FoxgloveParameters(), None
    options: dict[str, Any] = {"capabilities": [Capability.Parameters]}
    if showing.played is not None and showing.control:
        playback = FoxglovePlayback(showing.played, partial(_ask, showing.control))
        options["capabilities"] += [Capability.PlaybackControl, Capability.Time]
        options["playback_time_range"] = (showing.played.start_ns, showing.played.end_ns)
    options["server_listener"] = FoxgloveListener(parameters, playback)
    try:
        listening = socket.create_server(("127.0.0.1", port or 0))
    except OSError as exc:
        raise ConfigError(f"--foxglove {port}: {exc.strerror}; choose another port") from exc
    host = hidden_address()
    server = foxglove.start_server(name="heft", host=host, port=0, **options)
    gate = FoxgloveGate(listening, (host, server.port))
    view = FoxgloveView(server, scene, parameters, playback, gate)
    hub.hear.append(view.hear)
    return view


async def _ask(control: str, what: str, facts: Mapping[str, Any]) -> None:
    async with ControlClient(control) as client:
        await client.request(what, dict(facts))


class FoxgloveView:
    """Turns what is heard on the bus into Foxglove's own messages; `playback` is of a replay."""

    def __init__(
        self,
        server: Any,
        scene: Callable[[], dict[str, Any] | None],
        parameters: FoxgloveParameters,
        playback: FoxglovePlayback | None = None,
        gate: FoxgloveGate | None = None,
    ) -> None:
        import foxglove

        self._server, self._scene, self._gate = server, scene, gate
        self._parameters, self._playback = parameters, playback
        self._joints = foxglove.channels.JointStatesChannel("/joint_states")
        self._wrench = foxglove.Channel("/wrench", message_encoding="json")
        self._told = {
            topic: foxglove.Channel(f"/{topic}", message_encoding="json")
            for topic in (topics.STATE, topics.EVENT, topics.PROGRESS, topics.PAYLOAD)
        }
        self._transforms = foxglove.channels.FrameTransformsChannel("/tf")
        self._sent_ns: dict[str, int] = {}

    def close(self) -> None:
        """Let go of the port."""
        if self._gate is not None:
            self._gate.close()
        self._server.stop()

    def hear(self, message: Message) -> None:
        """One message of the bus."""
        if message.block is not None:
            self._block(message.block)
        elif message.topic in self._told:
            self._told[message.topic].log(json.dumps(message.json).encode())
        if message.block is None and (changed := self._parameters.hear(message)):
            self._server.publish_parameter_values(changed)
        if self._playback is not None and message.topic == topics.PROGRESS:
            state = self._playback.state(message.json)
            self._server.broadcast_playback_state(state)
            self._server.broadcast_time(state.current_time)

    def _block(self, block: Block) -> None:
        name, t_ns = block.stream.name, int(block.host_ns[-1])
        if block.stream.role is not Role.MEASURED or abs(t_ns - self._sent_ns.get(name, 0)) < _EVERY_NS:
            return
        self._sent_ns[name] = t_ns
        columns = [column.name for column in block.stream.columns]
        values = block.si[-1]
        found = dict(zip(columns, values.tolist(), strict=True))
        positions = {c.of: found[c.name] for c in block.stream.columns if c.quantity == "position"}
        if positions:
            self._joint_states(found, positions, t_ns)
        if set(_FORCES) <= set(columns):
            force = {axis: found[f"{axis}.force"] for axis in "xyz"}
            torque = {axis: found[f"{axis}.torque"] for axis in "xyz"}
            facts = {"t_ns": t_ns, "frame_id": block.stream.frame, "force": force, "torque": torque}
            self._wrench.log(json.dumps(facts).encode(), log_time=t_ns)

    def _joint_states(self, found: dict[str, float], positions: dict[str, float], t_ns: int) -> None:
        from foxglove import messages

        joints = [
            messages.JointState(
                name=name,
                position=position,
                velocity=found.get(f"{name}.velocity"),
                effort=found.get(f"{name}.torque"),
            )
            for name, position in positions.items()
        ]
        self._joints.log(messages.JointStates(joints=joints), log_time=t_ns)
        scene = self._scene()
        if scene is not None and all(joint["name"] in positions for joint in scene["joints"]):
            self._transforms.log(_transforms(scene, positions), log_time=t_ns)


def _transforms(scene: dict[str, Any], positions: dict[str, float]) -> Any:
    """Each link in the frame of the one before it."""
    from foxglove import messages

    links = [joint["link"] for joint in scene["joints"]]
    found = []
    for joint in scene["joints"]:
        rows = np.reshape(joint["place"], (3, 4))
        axis, q = np.array(joint["axis"]), positions[joint["name"]]
        turn = rows[:, :3] @ (np.eye(3) if joint["prismatic"] else _turned(axis, q))
        shift = rows[:, 3] + (rows[:, :3] @ axis * q if joint["prismatic"] else 0.0)
        x, y, z, w = _quaternion(turn)
        found.append(
            messages.FrameTransform(
                parent_frame_id="base" if joint["parent"] < 0 else links[joint["parent"]],
                child_frame_id=joint["link"],
                translation=messages.Vector3(x=shift[0], y=shift[1], z=shift[2]),
                rotation=messages.Quaternion(x=x, y=y, z=z, w=w),
            )
        )
    return messages.FrameTransforms(transforms=found)


def _turned(axis: Any, angle: float) -> Any:
    """Rotation about a unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def _quaternion(R: Any) -> tuple[float, float, float, float]:
    """Of a rotation matrix: x, y, z, w."""
    values, vectors = np.linalg.eigh(
        np.array(
            [
                [R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
                [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
                [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
                [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R[0, 0] + R[1, 1] + R[2, 2]],
            ]
        )
    )
    x, y, z, w = vectors[:, int(values.argmax())]
    return float(x), float(y), float(z), float(w)
