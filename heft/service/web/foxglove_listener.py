"""What the Foxglove app asks of its server: parameters, and a replay's player. The SDK takes one listener for all."""

from __future__ import annotations

from foxglove.websocket import Client, Parameter, PlaybackControlRequest, PlaybackState, ServerListener

from heft.service.web.foxglove_parameters import FoxgloveParameters
from heft.service.web.foxglove_playback import FoxglovePlayback

__all__ = ["FoxgloveListener"]


class FoxgloveListener(ServerListener):
    """Passes on what is asked; called in threads of the SDK."""

    def __init__(self, parameters: FoxgloveParameters, playback: FoxglovePlayback | None) -> None:
        self._parameters, self._playback = parameters, playback

    def on_get_parameters(
        self, client: Client, param_names: list[str], request_id: str | None = None
    ) -> list[Parameter]:
        """The values of these."""
        return self._parameters.get(param_names)

    def on_set_parameters(
        self, client: Client, parameters: list[Parameter], request_id: str | None = None
    ) -> list[Parameter]:
        """None is set: an estimate comes from the data."""
        return self._parameters.get([one.name for one in parameters])

    def on_playback_control_request(
        self, playback_control_request: PlaybackControlRequest
    ) -> PlaybackState | None:
        """Play, pause, go elsewhere."""
        return None if self._playback is None else self._playback.control(playback_control_request)
