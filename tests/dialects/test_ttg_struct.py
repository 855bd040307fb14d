"""Attributes with plain fields and the text ``<{key = value}>``, on structs made up for the test."""

import io
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, StringAttr
from xdsl.ir import Attribute, Dialect
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from tilewright.dialects.ttg.struct import (
    ATTRIBUTE,
    BASES,
    BOOL,
    UINT,
    UINTS,
    Bases,
    Ints,
    Struct,
    flavour_of,
    key,
    keyword,
    struct_attr,
)
from tilewright.ir.text import flavour_named
from tilewright.ir.text.flavour import DEFAULT
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


@struct_attr
class Everything(Struct):
    name = "test.everything"

    count: int = key("count", UINT)
    flag: bool = key("isSet", BOOL, default=False)
    sizes: Ints = key("sizes", UINTS, default=(), always=True)
    bases: Bases = key("bases", BASES, default=())
    inner: Attribute = key("inner", ATTRIBUTE, default=StringAttr("none"))
    kind: int = key("kind", keyword({"small": 0, "large": 1}), default=0)


@struct_attr
class Parent(Struct):
    shared: int = key("shared", UINT, default=0)


@struct_attr
class Child(Parent):
    name = "test.child"

    own: int = key("own", UINT)


@struct_attr
class Reordered(Parent):
    name = "test.reordered"

    first: int = key("first", UINT)
    shared: int = key("shared", UINT, default=0)
    last: int = key("last", UINT)


@struct_attr
class Bare(Struct):
    name = "test.bare"
    BRACES: ClassVar[bool] = False

    a: int = key("a", UINT, default=1)
    b: int = key("b", UINT, default=2)


CONTEXT = Context()
CONTEXT.load_dialect(Builtin)
CONTEXT.load_dialect(Dialect("test", [], [Everything, Child, Reordered, Bare]))


def read(text: str) -> Attribute:
    return IRParser(CONTEXT, text, "test.mlir").parse_attribute()


def test_all_kinds_of_values():
    text = (
        "#test.everything<{count = 3, isSet = true, sizes = [1, 2], bases = [[0, 1], [2, 0]], "
        'inner = "x", kind = large}>'
    )
    found = read(text)
    assert found == Everything(
        count=3,
        flag=True,
        sizes=(1, 2),
        bases=((0, 1), (2, 0)),
        inner=StringAttr("x"),
        kind=1,
    )
    assert str(found) == text


def test_defaults_are_not_printed_unless_always():
    assert str(Everything(count=0)) == "#test.everything<{count = 0, sizes = []}>"
    assert read("#test.everything<{count = 0}>") == Everything(count=0)


def test_keys_of_a_base_class_come_last():
    assert str(Child(own=1, shared=2)) == "#test.child<{own = 1, shared = 2}>"


def test_keys_stated_again_keep_their_place():
    value = Reordered(first=1, last=3, shared=2)
    assert str(value) == "#test.reordered<{first = 1, shared = 2, last = 3}>"
    assert type(value).new(value.parameters) == value


@pytest.mark.parametrize("text", ["#test.bare<>", "#test.bare<a = 5>", "#test.bare<a = 5, b = 6>"])
def test_without_braces(text: str):
    assert str(read(text)) == text


def test_attributes_inside_are_parameters():
    inner = StringAttr("x")
    assert inner in Everything(count=1, inner=inner).parameters


def test_parameters_rebuild_with_another_attribute_inside():
    value = Everything(count=1, inner=StringAttr("x"))
    swapped = [StringAttr("y") if each == StringAttr("x") else each for each in value.parameters]
    assert Everything.new(swapped) == Everything(count=1, inner=StringAttr("y"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#test.everything<{}>", "'test.everything' needs the key 'count'"),
        ("#test.everything<{count = 1, count = 2}>", "duplicate key: count"),
        ("#test.everything<{amount = 1}>", "unexpected key: amount"),
        ("#test.everything<{count = -1}>", "expected an unsigned integer value in count"),
        ("#test.everything<{count = true}>", "expected an integer type in count"),
        ("#test.everything<{count = [1]}>", "expected an integer type in count"),
        ("#test.everything<{count = 1, isSet = 1}>", "expected a bool type in isSet"),
        ("#test.everything<{count = 1, sizes = 1}>", "expected an array for sizes"),
        (
            "#test.everything<{count = 1, bases = 1}>",
            "expected array of arrays for basis of 'bases'",
        ),
        ("#test.everything<{count = 1, bases = [1]}>", "expected an array for basis for 'bases'"),
        (
            "#test.everything<{count = 1, kind = huge}>",
            "expected one of small, large in kind, found 'huge'",
        ),
    ],
)
def test_faults(text: str, message: str):
    with pytest.raises(ParseError) as error:
        read(text)
    assert message in error.value.msg


def test_fields_are_keywords_and_frozen():
    with pytest.raises(TypeError):
        Bare(1, 2)
    with pytest.raises(AttributeError):
        Bare().a = 3


def test_the_flavour_of_a_printer():
    assert flavour_of(IRPrinter(flavour=flavour_named("triton-3.6"))).version == (3, 6)
    assert flavour_of(Printer(io.StringIO())) == DEFAULT
