"""Has the gripper picked something up, or lost it? The rule, as a pure state machine.

Picked: the gripper is active and without fault, it answers to the last request (the echo proves that its
status is of now), and its fingers have stopped on an object before reaching the position; for several polls
in a row. Dropped: what was held, and no request has been made since, yet the fingers have reached the
position. Thin objects may be held without being detected, so confirm by the weight before relying on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from heft.drivers.codecs.robotiq_2f import Activation, Fault, Object, Status

__all__ = ["Grasp", "Rule"]


@dataclass(frozen=True, slots=True)
class Grasp:
    """What is known so far.

    requested  the position last asked for; None: nothing asked yet
    held       something is between the fingers
    letting_go a request has been made while something was held
    polls      how many polls in a row have shown an object
    """

    requested: int | None = None
    held: bool = False
    letting_go: bool = False
    polls: int = 0

    def request(self, position: int) -> Grasp:
        """After asking the gripper to go to `position`."""
        return Grasp(position, self.held, self.held, 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """`polls` in a row must show the object; `inside` counts objects held from inside, by opening, too."""

    polls: int = 3
    inside: bool = False

    def step(self, grasp: Grasp, status: Status) -> Grasp:
        """The state after one poll."""
        if grasp.held and status.fault in (Fault.RELEASING, Fault.RELEASED):
            return Grasp(grasp.requested)
        if not self._answers(grasp, status):
            return replace(grasp, polls=0)
        if self._contact(status):
            polls = min(grasp.polls + 1, self.polls)
            if polls < self.polls:
                return replace(grasp, polls=polls)
            return Grasp(grasp.requested, held=True, polls=polls)
        if grasp.held and (status.object is Object.AT_POSITION or grasp.letting_go):
            return Grasp(grasp.requested)
        return replace(grasp, polls=0)

    def _answers(self, grasp: Grasp, status: Status) -> bool:
        """True where the status is a valid answer to the last request."""
        return (
            status.activation is Activation.ACTIVE
            and status.going
            and status.fault == Fault.NONE
            and status.requested == grasp.requested
        )

    def _contact(self, status: Status) -> bool:
        return status.object is Object.CONTACT_CLOSING or (
            self.inside and status.object is Object.CONTACT_OPENING
        )
