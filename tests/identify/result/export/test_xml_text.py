"""XML edited as text: only what is asked for changes."""

import pytest

from heft.identify.errors import ModelError
from heft.identify.result.export.xml_text import XmlText

TEXT = """<?xml version="1.0" encoding="iso-8859-1"?>
<!-- Größe: a > b, "quoted" -->
<robot  name = 'r'
        note="a > b 'x'">
  <link name="one"><!-- inside --><mass value='1'/></link>
\t<link name="two"   />
  <link name="three">
    <inertia ixx="1"
             ixy="0" />
  </link>
</robot>
<!-- the end -->"""


def test_without_edits_nothing_changes() -> None:
    assert XmlText(TEXT, "r.urdf").edited() == TEXT
    crlf = TEXT.replace("\n", "\r\n")
    assert XmlText(crlf, "r.urdf").edited() == crlf


def test_attributes_are_replaced_added_and_removed_where_they_stand() -> None:
    document = XmlText(TEXT, "r.urdf")
    inertia = next(document.root.iter("inertia"))
    document.set(inertia, {"ixx": "2.5", "ixy": None})
    document.set(inertia, {"izz": 'a "b"'})
    document.set(next(document.root.iter("mass")), {"value": "2"})
    expected = TEXT.replace('ixx="1"\n             ixy="0" />', 'ixx="2.5" izz=\'a "b"\' />')
    assert document.edited() == expected.replace("value='1'", 'value="2"')


def test_a_value_that_looks_like_an_attribute_is_left_alone() -> None:
    document = XmlText("""<a x=' mass="1"' mass="2"/>""", "a.xml")
    document.set(document.root, {"mass": "3"})
    assert document.edited() == """<a x=' mass="1"' mass="3"/>"""


def test_elements_are_put_in_with_the_indentation_around_them() -> None:
    document = XmlText(TEXT, "r.urdf")
    one, two, three = document.root.iter("link")
    document.insert(three, "<mass value='3'/>")
    document.insert(two, "<mass value='2'/>")
    text = document.edited()
    assert "\t<link name=\"two\">\n\t  <mass value='2'/>\n\t</link>" in text
    assert "<link name=\"three\">\n    <mass value='3'/>\n    <inertia" in text
    assert '<link name="one"><!-- inside --><mass' in text
    assert one.child("mass") is not None
    assert two.child("mass") is None


def test_line_ends_are_those_of_the_file() -> None:
    document = XmlText("<a>\r\n  <b/>\r\n</a>\r\n", "a.xml")
    document.insert(document.root, "<c/>")
    assert document.edited() == "<a>\r\n  <c/>\r\n  <b/>\r\n</a>\r\n"


def test_what_is_not_xml_is_refused() -> None:
    with pytest.raises(ModelError, match=r"a.xml: not XML: .*mismatched tag"):
        XmlText("<a><b></a>", "a.xml")
