"""XML that is edited as text: what is not asked to change stays as it is, to the byte.

Comments, order, quotes, indentation and line ends of a model file are its author's. A parser says where the elements
stand; edits replace start tags or put elements in, and everything between them is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from heft.identify.errors import ModelError

__all__ = ["Element", "XmlText"]

_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")
_TAG_END = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*?(/?)>""")


@dataclass(eq=False)
class Element:
    """An element and where it stands: bytes `start` to `end`, its start tag up to `tag_end`."""

    tag: str
    attributes: dict[str, str]
    start: int
    tag_end: int = 0
    end: int = 0
    empty: bool = False  # <tag/>: no end tag
    children: list[Element] = field(default_factory=list)

    def iter(self, tag: str) -> Iterator[Element]:
        """This element and all below it that have a tag, in the order of the file."""
        if self.tag == tag:
            yield self
        for child in self.children:
            yield from child.iter(tag)

    def child(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)


class XmlText:
    """A document, and the edits that are to be made."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._bytes = text.encode("utf-8")
        self._newline = b"\r\n" if b"\r\n" in self._bytes else b"\n"
        self._attributes: dict[Element, dict[str, str | None]] = {}
        self._inserted: dict[Element, list[str]] = {}
        parser = expat.ParserCreate(encoding="utf-8")  # whatever it declares: it has been decoded already
        parser.StartElementHandler = lambda tag, attributes: self._start(
            parser.CurrentByteIndex, tag, attributes
        )
        parser.EndElementHandler = lambda tag: self._end(parser.CurrentByteIndex)
        document = Element("", {}, 0)
        self._open = [document]
        try:
            parser.Parse(self._bytes, True)
        except expat.ExpatError as exc:
            raise ModelError(f"{name}: not XML: {exc}; correct the file") from exc
        self.root = document.children[0]

    def set(self, element: Element, attributes: Mapping[str, str | None]) -> None:
        """Give an element attributes; None takes one away."""
        self._attributes.setdefault(element, {}).update(attributes)

    def insert(self, parent: Element, xml: str) -> None:
        """Put an element in, before the children that a parent has."""
        self._inserted.setdefault(parent, []).append(xml)

    def edited(self) -> str:
        """The document with all edits made."""
        parts, at = [], 0
        for element in sorted({**self._attributes, **self._inserted}, key=lambda element: element.start):
            parts += [self._bytes[at : element.start], self._start_tag(element)]
            at = element.tag_end
        parts.append(self._bytes[at:])
        return b"".join(parts).decode("utf-8")

    def _start(self, at: int, tag: str, attributes: dict[str, str]) -> None:
        end = _TAG_END.match(self._bytes, at)
        assert end is not None  # the parser has accepted it
        element = Element(tag, attributes, at, end.end(), end.end(), bool(end[1]))
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, at: int) -> None:
        element = self._open.pop()
        if not element.empty:
            element.end = self._bytes.index(b">", at) + 1

    def _start_tag(self, element: Element) -> bytes:
        """The start tag with its new attributes, and what is inserted behind it."""
        tag = self._bytes[element.start : element.tag_end]
        wanted = dict(self._attributes.get(element, {}))

        def renewed(match: re.Match[bytes]) -> bytes:
            name = match[2].decode()
            if name not in wanted:
                return match[0]
            value = wanted.pop(name)
            return b"" if value is None else match[1] + _attribute(name, value)

        head = tag[: 1 + len(element.tag.encode())]
        close = b"/>" if element.empty else b">"
        body = _ATTRIBUTE.sub(renewed, tag[len(head) : -len(close)])
        added = b"".join(
            b" " + _attribute(name, value) for name, value in wanted.items() if value is not None
        )
        space = body[len(body.rstrip()) :]  # before the closing bracket
        start = head + body.rstrip() + added + space
        inserted = self._inserted.get(element, [])
        if not inserted:
            return start + close
        indent = self._indent(element)
        inside = self._indent(element.children[0]) if element.children else indent + b"  "
        lines = b"".join(self._newline + inside + xml.encode() for xml in inserted)
        tail = self._newline + indent + b"</" + element.tag.encode() + b">" if element.empty else b""
        return start.rstrip() + b">" + lines + tail

    def _indent(self, element: Element) -> bytes:
        """The white space at the beginning of an element's line."""
        line = self._bytes[self._bytes.rfind(b"\n", 0, element.start) + 1 : element.start]
        return line[: len(line) - len(line.lstrip())]


def _attribute(name: str, value: str) -> bytes:
    return f"{name}={quoteattr(value)}".encode()
