"""The emulated controller's URScript: what programs of clients are written with."""

from __future__ import annotations

import pytest

from heft.drivers.emulators.protocols.urscript import Machine, ScriptError, parse


def run(text, steps=100, **more):
    out = []

    def wait(n=1):
        for _ in range(int(n)):
            yield

    (program,), rest = parse(text)
    assert rest == ""
    machine = Machine(program, {"say": out.append, "sync": wait, "length": len, **more})
    for _ in range(steps):
        if machine.over:
            break
        machine.step()
    return out, machine


def test_control_flow_and_expressions():
    text = """def main():
  global total = 0
  def twice(x, more=1):
    return 2 * x + more
  end
  local i = 0
  while True:
    i = i + 1
    if i == 3:   # a comment
      continue
    elif i > 5 and not (i == 7):
      break
    else:
      total = total + twice(i)
    end
    sync()
  end
  a = [1, 2, 3]
  a[1] = 5
  say(total)
  say(a * 2 + [1, 1, 1])
  say(p[0.1, 0, -1.5, 0, 0, 0])
  say(a[1] - 2 != 3 or False)
end
"""
    out, machine = run(text)
    assert machine.over
    assert out == [2 + 1 + 4 + 1 + 8 + 1 + 10 + 1, [3, 11, 7], [0.1, 0, -1.5, 0, 0, 0], False]


def test_threads_run_beside_each_other_and_end_with_the_program():
    text = """def main():
  global count = 0
  thread counting():
    while True:
      count = count + 1
      sync()
    end
  end
  t = run counting()
  sync()
  sync()
  sync()
  kill t
  say(count)
  sync()
  say(count)
end
"""
    out, machine = run(text)
    assert machine.over
    assert out[0] == out[1] >= 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nothing(1)", "no such function"),
        ("x = y + 1", "y is not defined"),
        ("x = [1, 2] + [1]", "ValueError"),
        ("while True:\n  end", "infinite loop"),
    ],
)
def test_what_fails_is_a_runtime_error(line, says):
    with pytest.raises(ScriptError, match=says):
        run(f"def main():\n  {line}\nend\n")


def test_pieces_lines_and_several_programs():
    programs, rest = parse(
        "sec a():\n  say(1)\nend\ndef b():\n  if True:\n    say(2)\n  end\nend\nsay(3)\ndef c():\n"
    )
    assert [program.main.name for program in programs] == ["a", "b", "line"]
    assert rest == "def c():\n"
    with pytest.raises(ScriptError, match="no expression"):
        parse("say(1 2)\n")
