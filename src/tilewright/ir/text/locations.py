"""Source locations: those of MLIR that xDSL 0.74 lacks, and how to look inside one.

xDSL ships five location attributes. MLIR has one more that real files contain, the range
``"f.py":3:4 to 5:6``; it is defined here as an attribute of its own. The helpers walk a location
without knowing its kind:

* ``children``: the locations directly inside, in the order MLIR prints them;
* ``find_name``: the first ``NameLoc`` in a pre-order walk, which Triton uses as SSA name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationConstraint,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.irdl.constraints import VerificationContext
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class FileLineColRangeLoc(ParametrizedAttribute, BuiltinAttribute):
    """``"file":line:col to end_line:end_col``; MLIR omits the parts that repeat the start."""

    name = "builtin.file_line_col_range"

    filename: StringAttr
    start_line: IntAttr
    start_column: IntAttr
    end_line: IntAttr
    end_column: IntAttr

    def print_builtin(self, printer: Printer) -> None:
        with printer.in_location():
            printer.print_string_literal(self.filename.data)
            printer.print_string(f":{self.start_line.data}:{self.start_column.data} to ")
            if self.end_line != self.start_line:
                printer.print_string(f"{self.end_line.data}")
            printer.print_string(f":{self.end_column.data}")


LOCATION_CLASSES = (
    UnknownLoc,
    FileLineColLoc,
    FileLineColRangeLoc,
    CallSiteLoc,
    NameLoc,
    FusedLoc,
)


def _accept_any_location(
    self: LocationConstraint, attr: Attribute, constraint_context: VerificationContext
) -> None:
    if not isinstance(attr, (*LOCATION_CLASSES, NoneAttr)):
        raise VerifyException(f"{attr} is not a location attribute")


# xDSL lists its five location classes by hand where locations nest; let ranges in as well.
LocationConstraint.verify = _accept_any_location


def _remember_hash(cls: type[Attribute]) -> None:
    """Hash each object once: nested locations share parts, and xDSL would visit each share."""
    plain = cls.__hash__

    def cached(self: Attribute) -> int:
        fields = vars(self)
        if "_hash" not in fields:
            fields["_hash"] = plain(self)
        return fields["_hash"]

    cls.__hash__ = cached


for _nesting in (CallSiteLoc, NameLoc, FusedLoc):
    _remember_hash(_nesting)


def is_location(attribute: Attribute) -> bool:
    return isinstance(attribute, LOCATION_CLASSES)


def file_location(file: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def name_location(name: str, inner: Attribute) -> NameLoc:
    """``"name"(inner)``; an inner location that is unknown is none."""
    return NameLoc(StringAttr(name), NoneAttr() if isinstance(inner, UnknownLoc) else inner)


def fuse(locations: Iterable[Attribute], metadata: Attribute | None = None) -> Attribute:
    """``fused<metadata>[...]``, simplified as in MLIR.

    Unknown and repeated locations are dropped, and inner ones with the same metadata are opened
    up. What is left of one location without metadata is that location.
    """
    distinct: dict[Attribute, None] = {}
    label = NoneAttr() if metadata is None else metadata
    for location in locations:
        if isinstance(location, FusedLoc) and location.metadata == label:
            distinct.update(dict.fromkeys(children(location)))
        elif not isinstance(location, UnknownLoc):
            distinct[location] = None
    if metadata is None and len(distinct) < 2:
        return next(iter(distinct), UnknownLoc())
    return FusedLoc(ArrayAttr(list(distinct) or [UnknownLoc()]), label)


def children(location: Attribute) -> Sequence[Attribute]:
    """The locations directly inside `location`."""
    if isinstance(location, NameLoc):
        inner = location.location
        return () if isinstance(inner, (NoneAttr, UnknownLoc)) else (inner,)
    if isinstance(location, CallSiteLoc):
        return (location.callee, location.caller)
    if isinstance(location, FusedLoc):
        return cast("ArrayAttr[Attribute]", location.locations).data  # untyped in xDSL
    return ()


def find_name(location: Attribute) -> str | None:
    """The name given by the first ``NameLoc`` inside `location`, if any."""
    if isinstance(location, NameLoc):
        return location.desc.data
    for child in children(location):
        if (name := find_name(child)) is not None:
            return name
    return None
