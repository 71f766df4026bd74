"""URScript programs that this host sends to a Universal Robots controller, and the registers that feed them.

Registers 24 to 47 of each type belong to external clients; those below are the fieldbuses'.

    input_int_register_24            counts up with every setpoint: the beat of the watchdogs
    input_int_register_25            what to do: `FOLLOW`, or anything else: come to rest and end
    input_double_register_24 to 29   position [rad]
    input_double_register_30 to 35   velocity [rad/s], by which the script goes on where a setpoint is missing
    output_int_register_24           the program's number while it follows, 0 when it has ended, -1 by its watchdog
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heft.drivers.errors import ProtocolError
from heft.drivers.flange_load import FlangeLoad

__all__ = [
    "END",
    "EXPIRED",
    "FOLLOW",
    "INPUTS",
    "STATE",
    "ServoProgram",
    "load_call",
    "load_program",
]

_FIRST = 24
_JOINTS = 6
#: Commands in `input_int_register_25`.
END, FOLLOW = 0, 1
#: What `STATE` reads after the script's own watchdog has stopped the arm.
EXPIRED = -1
#: Inputs in the order of the recipe: beat, command, positions, velocities.
INPUTS = (
    f"input_int_register_{_FIRST}",
    f"input_int_register_{_FIRST + 1}",
    *(f"input_double_register_{_FIRST + i}" for i in range(2 * _JOINTS)),
)
#: The output by which the program tells that it runs.
STATE = f"output_int_register_{_FIRST}"

_PROGRAM = """def heft_servo():
  local step = get_steptime()
  local q = get_target_joint_positions()
  local target = q
  local qd = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
  local last = read_input_integer_register({beat})
  local missed = 0
  local expired = False
  local follow = True
  rtde_set_watchdog("input_int_register_{beat}", {min_hz:.6g}, "stop")
  write_output_integer_register({state}, {number})
  while follow:
    local beat = read_input_integer_register({beat})
    if beat == last:
      missed = missed + 1
    else:
      missed = 0
      last = beat
      if read_input_integer_register({command}) == {follow}:
        q = [{positions}]
        qd = [{velocities}]
      else:
        follow = False
      end
    end
    if missed > {limit}:
      expired = True
      follow = False
    end
    if missed <= {bridged}:
      target = q + qd * (step * missed)
    end
    if follow:
      servoj(target, t=step, lookahead_time={lookahead_s:.6g}, gain={gain:.6g})
    end
  end
  stopj({deceleration:.6g})
  if expired:
    write_output_integer_register({state}, {expired})
  else:
    write_output_integer_register({state}, 0)
  end
end
"""


@dataclass(frozen=True, slots=True)
class ServoProgram:
    """The program that follows setpoints in registers, at the controller's rate.

    number        tells this program from others, in `STATE`; above 0
    watchdog_s    without a new beat for so long the script stops the arm; the controller itself after twice that [s]
    step_s        period of the controller [s]
    bridged       steps without a setpoint for which it goes on at the same velocity; then it stays where it is
    lookahead_s   of `servoj`, 0.03 to 0.2 s; `gain` of it, 100 to 2000
    deceleration  of the script's own stop [rad/s2]
    """

    number: int
    watchdog_s: float
    step_s: float
    bridged: int = 10
    lookahead_s: float = 0.03
    gain: float = 300.0
    deceleration: float = 4.0

    @property
    def text(self) -> str:
        """As it is sent to the script port."""
        if not 0 < self.number < 1 << 31:
            raise ProtocolError(f"URScript: program number {self.number}, expected 1 to {(1 << 31) - 1}")
        floats = [f"read_input_float_register({_FIRST + i})" for i in range(2 * _JOINTS)]
        return _PROGRAM.format(
            beat=_FIRST,
            command=_FIRST + 1,
            state=_FIRST,
            number=self.number,
            min_hz=0.5 / self.watchdog_s,
            follow=FOLLOW,
            positions=", ".join(floats[:_JOINTS]),
            velocities=", ".join(floats[_JOINTS:]),
            limit=max(1, round(self.watchdog_s / self.step_s)),
            bridged=self.bridged,
            lookahead_s=self.lookahead_s,
            gain=self.gain,
            deceleration=self.deceleration,
            expired=EXPIRED,
        )


def load_call(load: FlangeLoad) -> str:
    """The call that sets the load, with all its digits."""
    parts = [_number(load.mass), _list(load.com)]
    if load.inertia is not None:
        parts.append(_list(load.inertia))
    return f"set_target_payload({', '.join(parts)})"


def load_program(load: FlangeLoad) -> str:
    """The same as a secondary program, which runs beside the one that moves the arm."""
    return f"sec heft_payload():\n  {load_call(load)}\nend\n"


def _number(value: float) -> str:
    return repr(float(value))


def _list(values: Sequence[float]) -> str:
    return "[" + ", ".join(map(_number, values)) + "]"
