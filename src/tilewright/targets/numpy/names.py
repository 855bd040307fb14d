"""Names of variables in generated code: those of the source, made unique.

A value is named after the variable it is assigned to (its `NameLoc`, or its name in the text);
values inside expressions are named for their op. `Names` keeps names apart within one function, and
apart from Python's and the run-time support's.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation, SSAValue

_NOT_NAME = re.compile(r"\W+")
_SUFFIX = re.compile(r"(_\d+)+$")
_MAX_LENGTH = 40

_BY_OP = {
    "arith.cmpf": "cond",
    "arith.cmpi": "cond",
    "arith.select": "chosen",
    "math.exp": "exp",
    "math.exp2": "exp",
    "tt.addptr": "ptr",
    "tt.descriptor_load": "tile",
    "tt.dot": "product",
    "tt.get_num_programs": "num_programs",
    "tt.get_program_id": "pid",
    "tt.load": "loaded",
    "tt.make_range": "lane",
    "tt.reduce": "reduced",
    "tt.scan": "scanned",
}
_UNNAMED = "t"


def hint_of(op: Operation) -> str:
    """The source name of the first result of `op`."""
    if not op.results:
        return _UNNAMED
    return _hint(op.results[0].name_hint, op.location) or _BY_OP.get(op.name, _UNNAMED)


def hint_of_value(value: SSAValue, otherwise: str = "x") -> str:
    """The source name of a block argument."""
    location = getattr(value, "location", None)
    return _hint(value.name_hint, location) or otherwise


def source_name_of(value: SSAValue) -> str | None:
    """The variable of the source that has a value, None where it has none."""
    location = value.owner.location if isinstance(value.owner, Operation) else None
    return _location_name(location) or _hint(value.name_hint, None)


def _hint(written: str | None, location: Attribute | None) -> str | None:
    if written is not None:
        return _SUFFIX.sub("", written)
    return _location_name(location)


def _location_name(location: Attribute | None) -> str | None:
    """The outermost name in a location."""
    for _ in range(16):
        if isinstance(location, NameLoc):
            return location.desc.data
        if isinstance(location, CallSiteLoc):
            location = location.callee
        elif isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
            parts = location.locations.data
            location = parts[0] if parts else None
        else:
            return None
    return None


def as_identifier(hint: str) -> str:
    """`hint` as a Python name."""
    name = _NOT_NAME.sub("_", hint)[:_MAX_LENGTH].strip("_") or _UNNAMED
    return f"_{name}" if name[0].isdigit() else name


class Names:
    """Gives out names, each once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken) | set(keyword.kwlist)
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A name like `hint` that was not given out before."""
        base = as_identifier(hint)
        name, suffix = base, self._next.get(base, 1)
        while name in self._taken:
            name = f"{base}_{suffix}"
            suffix += 1
        self._next[base] = suffix
        self._taken.add(name)
        return name

    def child(self) -> Names:
        """Names for a function that sees these."""
        return Names(self._taken)
