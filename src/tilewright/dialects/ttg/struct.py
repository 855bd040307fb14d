"""Attributes and types with typed Python fields, and the ``<{key = value, ...}>`` they print as.

xDSL wants every parameter of an attribute to be an attribute. A layout is a handful of integers
and integer lists, which every later stage computes with, so here a field simply *is* an ``int``,
a ``bool`` or a tuple. Equality and hashing are those of a frozen dataclass.

``FieldsAttr`` is the base for attributes and types with a text of their own. ``Struct`` adds the
text most layouts share; a class states each key once, in printing order::

    @struct_attr
    class SliceLayout(Struct):
        name = "ttg.slice"
        dim: int = key("dim", UINT)
        parent: Attribute = key("parent", ATTRIBUTE)

Keys are read in any order. A key with a default may be missing and is not printed when the value
is the default, unless it is marked ``always``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import get_annotations
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast, overload

from typing_extensions import dataclass_transform, override
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i1
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.ir.text.flavour import DEFAULT, Flavour

Ints: TypeAlias = tuple[int, ...]
Bases: TypeAlias = tuple[tuple[int, ...], ...]
"""Basis vectors of a linear layout: where bit 0, bit 1, ... of one input dimension go."""

T = TypeVar("T")
S = TypeVar("S", bound="Struct")


def flavour_of(printer: Printer) -> Flavour:
    """Whose text is being written; xDSL's own printer (error messages) writes the default."""
    return getattr(printer, "flavour", DEFAULT)


# -- fields ------------------------------------------------------------------------------------


class _Plain(Data[object]):
    """A field's value where xDSL requires an attribute; never part of the IR."""

    name = "builtin.plain_value"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> object:
        raise ValueError("a plain field value has no text")

    @override
    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@dataclass(frozen=True)
class FieldsAttr(ParametrizedAttribute):
    """Base of attributes whose dataclass fields are plain Python values."""

    @property
    @override
    def parameters(self) -> tuple[Attribute, ...]:
        return self.pack(getattr(self, each.name) for each in fields(self))

    @classmethod
    @override
    def new(cls, params: Sequence[Attribute]) -> Self:
        names = [each.name for each in fields(cls)]
        values = [each.data if isinstance(each, _Plain) else each for each in params]
        return cls(**dict(zip(names, values, strict=True)))

    @staticmethod
    def pack(values: Iterable[object]) -> tuple[Attribute, ...]:
        """`values` as the attributes that ``new`` takes."""
        return tuple(each if isinstance(each, Attribute) else _Plain(each) for each in values)

    @override
    def _verify(self) -> None:
        self.verify()


# -- values ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldKind(Generic[T]):
    """How the value of a key is read, given the key for messages, and written."""

    parse: Callable[[AttrParser, str], T]
    print: Callable[[Printer, T], None]


def _integer(attribute: Attribute) -> tuple[int, bool] | None:
    """The value of an integer and whether it is a bool; None for anything else."""
    if not isinstance(attribute, IntegerAttr):
        return None
    integer = cast("IntegerAttr[Any]", attribute)
    return integer.value.data, integer.type == i1


def _to_uint(attribute: Attribute, parser: AttrParser, what: str) -> int:
    found = _integer(attribute)
    if found is None or found[1]:
        parser.raise_error(f"expected an integer type in {what}")
    if found[0] < 0:
        parser.raise_error(f"expected an unsigned integer value in {what}")
    return found[0]


def _to_uints(attribute: Attribute, parser: AttrParser, what: str) -> Ints:
    if not isinstance(attribute, ArrayAttr):
        parser.raise_error(f"expected an array for {what}")
    return tuple(_to_uint(item, parser, what) for item in attribute)


def _parse_uint(parser: AttrParser, what: str) -> int:
    return _to_uint(parser.parse_attribute(), parser, what)


def _parse_uints(parser: AttrParser, what: str) -> Ints:
    return _to_uints(parser.parse_attribute(), parser, what)


def _parse_bool(parser: AttrParser, what: str) -> bool:
    found = _integer(parser.parse_attribute())
    if found is None or not found[1]:
        parser.raise_error(f"expected a bool type in {what}")
    return bool(found[0])


def _parse_bases(parser: AttrParser, what: str) -> Bases:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, ArrayAttr):
        parser.raise_error(f"expected array of arrays for basis of '{what}'")
    return tuple(_to_uints(row, parser, f"basis for '{what}'") for row in attribute)


def ints_text(values: Ints) -> str:
    """``[1, 0]``"""
    return f"[{', '.join(map(str, values))}]"


def bases_text(bases: Bases) -> str:
    """``[[0, 1], [0, 2]]``"""
    return f"[{', '.join(map(ints_text, bases))}]"


UINT: FieldKind[int] = FieldKind(
    _parse_uint, lambda printer, value: printer.print_string(str(value))
)
BOOL: FieldKind[bool] = FieldKind(
    _parse_bool, lambda printer, value: printer.print_string("true" if value else "false")
)
UINTS: FieldKind[Ints] = FieldKind(
    _parse_uints, lambda printer, values: printer.print_string(ints_text(values))
)
BASES: FieldKind[Bases] = FieldKind(
    _parse_bases, lambda printer, bases: printer.print_string(bases_text(bases))
)
ATTRIBUTE: FieldKind[Attribute] = FieldKind(
    lambda parser, _: parser.parse_attribute(),
    lambda printer, value: printer.print_attribute(value),
)


def keyword(cases: Mapping[str, T]) -> FieldKind[T]:
    """One of a few keywords, each representing a value."""
    names = {value: name for name, value in cases.items()}

    def parse(parser: AttrParser, what: str) -> T:
        name = parser.parse_identifier(f" in {what}")
        if name not in cases:
            parser.raise_error(f"expected one of {', '.join(cases)} in {what}, found '{name}'")
        return cases[name]

    return FieldKind(parse, lambda printer, value: printer.print_string(names[value]))


# -- structs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """One ``key = value`` of a struct."""

    field: str
    name: str
    kind: FieldKind[Any]
    default: object
    always: bool

    def is_shown(self, value: object) -> bool:
        return self.always or self.default is MISSING or value != self.default


@overload
def key(name: str, kind: FieldKind[T]) -> T: ...


@overload
def key(name: str, kind: FieldKind[T], *, default: T, always: bool = False) -> T: ...


def key(name: str, kind: FieldKind[T], *, default: Any = MISSING, always: bool = False) -> Any:
    """A field of a struct that is written ``name = value``."""
    return field(default=default, metadata={"key": (name, kind, default, always)})


@dataclass(frozen=True, kw_only=True)
class Struct(FieldsAttr):
    """Base of attributes written ``<{key = value, ...}>``."""

    BRACES: ClassVar[bool] = True
    """Whether braces stand inside the angle brackets."""
    KEYS: ClassVar[Sequence[Key]] = ()
    """Filled by ``struct_attr``."""
    LEGACY: ClassVar[Mapping[str, FieldKind[Any]]] = {}
    """Keys of older releases that ``upgrade`` translates."""

    @classmethod
    def upgrade(cls, values: dict[str, Any], parser: AttrParser) -> dict[str, Any]:
        """`values` by key, with those of ``LEGACY`` keys turned into current ones."""
        return values

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            found = cls.upgrade(cls.parse_entries(parser), parser)
        values = cls.field_values(found, parser)
        return cls.pack(values[each.name] for each in fields(cls))

    @classmethod
    def parse_entries(cls, parser: AttrParser) -> dict[str, Any]:
        """The entries and the braces around them, by key."""
        kinds = {each.name: each.kind for each in cls.KEYS} | dict(cls.LEGACY)
        found: dict[str, Any] = {}
        if cls.BRACES:
            parser.parse_punctuation("{")
        name = parser.parse_optional_identifier_or_str_literal()
        while name is not None:
            if name not in kinds:
                parser.raise_error(f"unexpected key: {name}")
            if name in found:
                parser.raise_error(f"duplicate key: {name}")
            parser.parse_punctuation("=")
            found[name] = kinds[name].parse(parser, name)
            more = parser.parse_optional_punctuation(",") is not None
            name = parser.parse_identifier_or_str_literal() if more else None
        if cls.BRACES:
            parser.parse_punctuation("}")
        return found

    @classmethod
    def field_values(cls, found: Mapping[str, Any], parser: AttrParser) -> dict[str, Any]:
        """The value of every field, defaults filled in; a missing key is an error."""
        for each in cls.KEYS:
            if each.name in found or each.default is not MISSING:
                continue
            if each.kind is BASES:
                parser.raise_error(f"expected basis of '{each.name}' not found")
            parser.raise_error(f"'{cls.name}' needs the key '{each.name}'")
        return {each.field: found.get(each.name, each.default) for each in cls.KEYS}

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<{" if self.BRACES else "<")
        self.print_entries(printer, self.entries(flavour_of(printer)))
        printer.print_string("}>" if self.BRACES else ">")

    def entries(self, flavour: Flavour) -> Sequence[tuple[str, FieldKind[Any], Any]]:
        """What is printed: key, kind and value, in order."""
        shown: list[tuple[str, FieldKind[Any], Any]] = []
        for each in self.KEYS:
            value = getattr(self, each.field)
            if each.is_shown(value):
                shown.append((each.name, each.kind, value))
        return shown

    @staticmethod
    def print_entries(printer: Printer, entries: Sequence[tuple[str, FieldKind[Any], Any]]) -> None:
        for index, (name, kind, value) in enumerate(entries):
            printer.print_string(f"{', ' if index else ''}{name} = ")
            kind.print(printer, value)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(key,))
def struct_attr(cls: type[S]) -> type[S]:
    """Make a dataclass of `cls` and note its keys.

    Keys print in the order of the class body. Those of a base class come last,
    unless the body states them again.
    """
    inherited = [each.field for each in cls.KEYS]
    made = dataclass(frozen=True, kw_only=True)(cls)
    own = list(get_annotations(made))
    order = own + [name for name in inherited if name not in own]
    keys = [Key(each.name, *each.metadata["key"]) for each in fields(made)]
    made.KEYS = sorted(keys, key=lambda each: order.index(each.field))
    return made
