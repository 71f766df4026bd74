"""URScript as far as programs need it that clients send to a Universal Robots controller.

`parse` turns a text into programs, `Machine` runs one step by step: `step()` goes on until every thread of it waits for
the next period of the controller. Statements: assignment (global, local), if, elif, else, while, return, break,
continue, calls, `def`, `sec` and `thread` with `end`, run, join, kill, halt, enter_critical, exit_critical. Expressions
are those of Python, which URScript shares, with `p[...]` for poses and sums of lists element by element.
What it has no function for is a runtime error, by which the program ends: as on the controller.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Function", "Machine", "Program", "ScriptError", "parse"]

Wait = Generator[None, None, Any]

_BLOCK = re.compile(r"^(def|sec|thread)\s+([A-Za-z_]\w*)\s*\((.*)\)\s*:$")
_ASSIGN = re.compile(r"^(?:(global|local)\s+)?([A-Za-z_]\w*)((?:\[[^=]*\])?)\s*=(?!=)\s*(.+)$")
_POSE = re.compile(r"(?<![\w])p\[")
_FOREIGN = re.compile(
    r"\b(async|await|lambda|class|yield|from|import|with|as|in|is|for|del)\b"
)  # names to URScript
_CALLS = 10_000  # statements between two waits: a program that never waits is stopped, as by the controller


class ScriptError(ValueError):
    """A program that cannot be read, or has failed."""


@dataclass
class Statement:
    """One statement; `parts` are the branches of an if (condition, block), or the block of a while."""

    kind: str
    line: int
    names: tuple[str, ...] = ()
    value: ast.expr | None = None
    index: ast.expr | None = None
    parts: list[tuple[ast.expr | None, list[Statement]]] = field(default_factory=list)


@dataclass
class Function:
    """A `def`, `sec` or `thread`: its parameters with their defaults, and its statements."""

    kind: str
    name: str
    parameters: list[tuple[str, ast.expr | None]]
    body: list[Statement]
    inner: dict[str, Function] = field(default_factory=dict)


@dataclass
class Program:
    """What runs: a function without parameters. `secondary` ones run beside the main program, in one period."""

    main: Function

    @property
    def secondary(self) -> bool:
        return self.main.kind == "sec"


# -- reading ----------------------------------------------------------------------------------------------------------


def parse(text: str) -> tuple[list[Program], str]:
    """Programs that are whole in a text, and what is left of it: the beginning of one that is not."""
    lines = text.split("\n")
    rest, programs, place = lines.pop(), [], 0
    while place < len(lines):
        bare = _bare(lines[place])
        if not bare:
            place += 1
            continue
        if _BLOCK.match(bare):
            end = _end(lines, place)
            if end is None:
                break
            reader = _Reader(lines[place : end + 1])
            programs.append(Program(reader.function()))
            place = end + 1
        else:
            reader = _Reader(["def line():", lines[place], "end"])
            programs.append(Program(reader.function()))
            place += 1
    return programs, "\n".join([*lines[place:], rest])


def _bare(line: str) -> str:
    """Without comment and blanks."""
    quoted = False
    for i, letter in enumerate(line):
        if letter == '"':
            quoted = not quoted
        elif letter == "#" and not quoted:
            return line[:i].strip()
    return line.strip()


def _opens(bare: str) -> bool:
    return bare.startswith(("if ", "if(", "while ", "while(")) or bool(_BLOCK.match(bare))


def _end(lines: Sequence[str], place: int) -> int | None:
    """Line of the `end` that closes the block at `place`."""
    depth = 0
    for number in range(place, len(lines)):
        bare = _bare(lines[number])
        depth += _opens(bare)
        depth -= bare == "end"
        if depth == 0:
            return number
    return None


class _Reader:
    """Statements from lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = _joined([(n, bare) for n, line in enumerate(lines, 1) if (bare := _bare(line))])
        self._place = 0

    def function(self) -> Function:
        number, line = self._take()
        found = _BLOCK.match(line)
        if found is None:
            raise ScriptError(f"line {number}: expected def, sec or thread")
        kind, name, parameters = found.groups()
        function = Function(kind, name, _parameters(parameters, number), [])
        function.body = self._block(function)
        self._take()
        return function

    def _take(self) -> tuple[int, str]:
        if self._place >= len(self._lines):
            raise ScriptError("the program ends inside a block")
        self._place += 1
        return self._lines[self._place - 1]

    def _peek(self) -> str:
        return self._lines[self._place][1] if self._place < len(self._lines) else ""

    def _block(self, owner: Function) -> list[Statement]:
        statements: list[Statement] = []
        while (line := self._peek()) and line != "end" and not line.startswith(("elif", "else")):
            if _BLOCK.match(line):
                inner = self.function()
                owner.inner[inner.name] = inner
            else:
                statements.append(self._statement(owner))
        return statements

    def _statement(self, owner: Function) -> Statement:
        number, line = self._take()
        if line.startswith(("if ", "if(")):
            return self._branches(number, line, owner)
        if line.startswith(("while ", "while(")):
            body = self._block(owner)
            self._take()
            return Statement(
                "while", number, parts=[(_expression(line[5:].strip().rstrip(":"), number), body)]
            )
        word, _, after = line.partition(" ")
        if word in ("break", "continue", "enter_critical", "exit_critical", "halt") or line == "return":
            return Statement(word, number)
        if word in ("return", "run", "join", "kill"):
            return Statement(word, number, value=_expression(after, number))
        found = _ASSIGN.match(line)
        if found:
            scope, name, index, value = found.groups()
            name = _FOREIGN.sub(r"\1_", name)
            started = re.match(r"^run\s+(.+)$", value)
            return Statement(
                "start" if started else "assign",
                number,
                names=(name, scope or ""),
                value=_expression(started.group(1) if started else value, number),
                index=_expression(index[1:-1], number) if index else None,
            )
        return Statement("call", number, value=_expression(line, number))

    def _branches(self, number: int, line: str, owner: Function) -> Statement:
        statement = Statement("if", number)
        condition: ast.expr | None = _expression(line[2:].strip().rstrip(":"), number)
        while True:
            statement.parts.append((condition, self._block(owner)))
            number, line = self._take()
            if line == "end":
                return statement
            condition = _expression(line[4:].strip().rstrip(":"), number) if line.startswith("elif") else None


def _joined(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Assignments with values that begin the next line: to URScript an end of line is a blank."""
    out: list[tuple[int, str]] = []
    for number, line in lines:
        rest = line
        if out and out[-1][1].endswith("=") and not out[-1][1].endswith("=="):
            value, _, rest = line.partition(" ")
            out[-1] = (out[-1][0], f"{out[-1][1]} {value}")
        if rest.strip():
            out.append((number, rest.strip()))
    return out


def _parameters(text: str, number: int) -> list[tuple[str, ast.expr | None]]:
    found: list[tuple[str, ast.expr | None]] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, default = part.partition("=")
        found.append((_FOREIGN.sub(r"\1_", name.strip()), _expression(default, number) if equals else None))
    return found


def _expression(text: str, number: int) -> ast.expr:
    try:
        named = _FOREIGN.sub(r"\1_", text.strip())
        return ast.parse(_POSE.sub("_pose[", named), mode="eval").body
    except SyntaxError as exc:
        raise ScriptError(f"line {number}: {text.strip()!r} is no expression") from exc


# -- running ----------------------------------------------------------------------------------------------------------


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Halt(Exception):
    pass


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, list) and isinstance(b, list):
        return [x + y for x, y in zip(a, b, strict=True)]
    return a + b


def _minus(a: Any, b: Any) -> Any:
    if isinstance(a, list) and isinstance(b, list):
        return [x - y for x, y in zip(a, b, strict=True)]
    return a - b


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, list):
        return [x * b for x in a]
    if isinstance(b, list):
        return [a * x for x in b]
    return a * b


def _over(a: Any, b: Any) -> Any:
    return [x / b for x in a] if isinstance(a, list) else a / b


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _plus,
    ast.Sub: _minus,
    ast.Mult: _times,
    ast.Div: _over,
    ast.Mod: operator.mod,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Machine:
    """Runs one program.

    functions   what the controller offers: plain functions, and generators for those that take time
    """

    def __init__(self, program: Program, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.program = program
        self._offered = functions
        self._globals: dict[str, Any] = {"True": True, "False": False, "PI": 3.141592653589793}
        self._threads: list[Wait] = [self._main()]
        self._named: dict[int, Wait] = {}
        self._count = 0

    @property
    def over(self) -> bool:
        return not self._threads

    def step(self) -> None:
        """One period of the controller; ScriptError where the program fails."""
        for thread in list(self._threads):
            if thread not in self._threads:
                continue  # another one has killed it
            self._count = 0
            try:
                next(thread)
            except StopIteration:
                if thread in self._threads:
                    self._threads.remove(thread)
            except _Halt:
                self._threads.clear()
            except (ScriptError, _Break, _Continue):
                raise
            except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError, AttributeError) as exc:
                raise ScriptError(f"{type(exc).__name__}: {exc}") from exc

    def _main(self) -> Wait:
        yield from self._call_own(self.program.main, [], {}, self.program.main.inner)
        self._threads = self._threads[:1]  # threads end with the program

    def _call_own(
        self,
        function: Function,
        given: Sequence[Any],
        named: Mapping[str, Any],
        known: Mapping[str, Function],
    ) -> Wait:
        scope: dict[str, Any] = {}
        for i, (name, default) in enumerate(function.parameters):
            if i < len(given):
                scope[name] = given[i]
            elif name in named:
                scope[name] = named[name]
            elif default is not None:
                scope[name] = yield from self._value(default, scope, known)
            else:
                raise ScriptError(f"{function.name}: parameter {name} is missing")
        reach = {**known, **function.inner}
        main = function is self.program.main
        try:
            yield from self._run(function.body, self._globals if main else scope, reach)
        except _Return as exc:
            return exc.value
        return None

    def _run(self, body: Sequence[Statement], scope: dict[str, Any], known: Mapping[str, Function]) -> Wait:
        for s in body:
            self._count += 1
            if self._count > _CALLS:
                raise ScriptError(f"line {s.line}: infinite loop detected: nothing in it takes time")
            match s.kind:
                case "if":
                    for condition, block in s.parts:
                        if condition is None or (yield from self._value(condition, scope, known)):
                            yield from self._run(block, scope, known)
                            break
                case "while":
                    yield from self._loop(s, scope, known)
                case "assign" | "start":
                    yield from self._assign(s, scope, known)
                case "call":
                    yield from self._value(_given(s.value), scope, known)
                case "return":
                    raise _Return(
                        None if s.value is None else (yield from self._value(s.value, scope, known))
                    )
                case "break":
                    raise _Break
                case "continue":
                    raise _Continue
                case "run":
                    self._start(_given(s.value), scope, known)
                case "kill" | "join":
                    thread = self._named.get((yield from self._value(_given(s.value), scope, known)))
                    while s.kind == "join" and thread in self._threads:
                        yield
                    if s.kind == "kill" and thread in self._threads:
                        self._threads.remove(thread)
                case "halt":
                    raise _Halt

    def _loop(self, s: Statement, scope: dict[str, Any], known: Mapping[str, Function]) -> Wait:
        ((condition, block),) = s.parts
        while (yield from self._value(_given(condition), scope, known)):
            self._count += 1
            if self._count > _CALLS:
                raise ScriptError(f"line {s.line}: infinite loop detected: nothing in it takes time")
            try:
                yield from self._run(block, scope, known)
            except _Break:
                return
            except _Continue:
                continue

    def _assign(self, s: Statement, scope: dict[str, Any], known: Mapping[str, Function]) -> Wait:
        name, where = s.names
        if s.kind == "start":
            value: Any = self._start(_given(s.value), scope, known)
        else:
            value = yield from self._value(_given(s.value), scope, known)
        if where == "global" or (where != "local" and name not in scope and name in self._globals):
            scope = self._globals
        if s.index is None:
            scope[name] = list(value) if isinstance(value, list) else value
        else:
            scope[name][int((yield from self._value(s.index, scope, known)))] = value

    def _start(self, call: ast.expr, scope: dict[str, Any], known: Mapping[str, Function]) -> int:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in known:
            raise ScriptError("run: no such thread")
        thread = self._call_own(known[call.func.id], [], {}, known)
        self._threads.append(thread)
        number = len(self._named) + 1
        self._named[number] = thread
        return number

    # -- expressions --------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, scope: Mapping[str, Any], known: Mapping[str, Function]) -> Wait:
        """The value of an expression; what is simple and frequent comes first."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return (yield from self._call(node.func.id, node, scope, known))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            a = yield from self._value(node.left, scope, known)
            b = yield from self._value(node.comparators[0], scope, known)
            return _COMPARE[type(node.ops[0])](a, b)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            a = yield from self._value(node.left, scope, known)
            b = yield from self._value(node.right, scope, known)
            return _BINARY[type(node.op)](a, b)
        if isinstance(node, ast.List):
            return (yield from self._all(node.elts, scope, known))
        return (yield from self._rare(node, scope, known))

    def _rare(self, node: ast.expr, scope: Mapping[str, Any], known: Mapping[str, Function]) -> Wait:
        match node:
            case ast.BoolOp(op=op, values=values):
                stop = isinstance(op, ast.Or)
                for one in values:
                    if bool((yield from self._value(one, scope, known))) is stop:
                        return stop
                return not stop
            case ast.UnaryOp(op=op, operand=operand):
                value = yield from self._value(operand, scope, known)
                return (not value) if isinstance(op, ast.Not) else -value
            case ast.Subscript(value=ast.Name(id="_pose"), slice=ast.Tuple(elts=elements)):
                return (yield from self._all(elements, scope, known))
            case ast.Subscript(value=of, slice=index):
                a = yield from self._value(of, scope, known)
                b = yield from self._value(index, scope, known)
                return a[int(b)]
        raise ScriptError(f"{ast.unparse(node)}: not understood")

    def _all(
        self, nodes: Sequence[ast.expr], scope: Mapping[str, Any], known: Mapping[str, Function]
    ) -> Wait:
        out = []
        for node in nodes:
            out.append((yield from self._value(node, scope, known)))
        return out

    def _name(self, name: str, scope: Mapping[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in self._globals:
            return self._globals[name]
        raise ScriptError(f"{name} is not defined")

    def _call(
        self, name: str, node: ast.Call, scope: Mapping[str, Any], known: Mapping[str, Function]
    ) -> Wait:
        given, named = [], {}
        for one in node.args:
            given.append((yield from self._value(one, scope, known)))
        for keyword in node.keywords:
            named[str(keyword.arg)] = yield from self._value(keyword.value, scope, known)
        if name in known:
            return (yield from self._call_own(known[name], given, named, known))
        if name not in self._offered:
            raise ScriptError(f"{name}: no such function")
        answer = self._offered[name](*given, **named)
        if isinstance(answer, Iterator):
            return (yield from answer)
        return answer


def _given(node: ast.expr | None) -> ast.expr:
    if node is None:
        raise ScriptError("an expression is missing")
    return node
