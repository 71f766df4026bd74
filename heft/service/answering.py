"""Requests to a service, by the bus: what they are called, and how the owner of the rig answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from heft.daq.bus.control import ControlServer, Reply, Request
from heft.daq.bus.endpoint import Endpoint
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode, of_error
from heft.service.operator_arming import OperatorArming
from heft.service.owner import RigOwner
from heft.service.strict_json import strict_json

__all__ = ["service_server"]


def service_server(endpoint: Endpoint, owner: RigOwner, arming: OperatorArming) -> ControlServer:
    """Answers `status`, `scene`, `path`, `submit`, `outcome`, `stop`, `pause`, `resume`, `seek`, `arm`, `disarm`."""

    async def submit(facts: Mapping[str, Any]) -> dict[str, Any]:
        number = await owner.submit(str(facts["kind"]), dict(facts.get("request", {})))
        return {"number": number}

    def arm(facts: Mapping[str, Any]) -> dict[str, Any]:
        arming.arm(str(facts.get("name", "")), str(facts.get("by", "over the bus")))
        return {"armed_s": arming.seconds_left}

    def disarm(facts: Mapping[str, Any]) -> dict[str, Any]:
        arming.disarm()
        return {"armed_s": 0.0}

    def seek(facts: Mapping[str, Any]) -> dict[str, Any]:
        owner.job().seek(float(facts["seconds"]))
        return owner.status()

    def pause(facts: Mapping[str, Any]) -> dict[str, Any]:
        owner.job().pause()
        return owner.status()

    def resume(facts: Mapping[str, Any]) -> dict[str, Any]:
        owner.job().resume()
        return owner.status()

    answers: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "status": lambda facts: owner.status(),
        "scene": lambda facts: {"scene": owner.scene()},
        "path": lambda facts: {"path": owner.path()},
        "submit": submit,
        "outcome": lambda facts: {"outcome": owner.outcome(int(facts["number"]))},
        "stop": lambda facts: {"stopped": owner.stop(str(facts.get("reason", "asked for"))[:200])},
        "pause": pause,
        "resume": resume,
        "seek": seek,
        "arm": arm,
        "disarm": disarm,
    }

    def handler(answer: Callable[[Mapping[str, Any]], Any]) -> Any:
        async def handle(request: Request) -> Reply:
            try:
                said = answer(request.payload or {})
                value = await said if asyncio.iscoroutine(said) else said
                return Reply({}, (strict_json(value),))  # an arm to draw is longer than a request may be
            except HeftError as exc:
                return Reply({"refused": str(exc), "code": int(of_error(exc))})
            except (KeyError, TypeError, ValueError) as exc:
                text = f"the request cannot be read: {type(exc).__name__}: {exc}"
                return Reply({"refused": text, "code": int(ExitCode.USAGE)})

        return handle

    return ControlServer(endpoint, {name: handler(answer) for name, answer in answers.items()})
