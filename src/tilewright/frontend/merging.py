"""Values of variables where control flow joins.

Branches join after an ``if``; the end of a loop's body joins its beginning. Merged values must
be of one kind, and only those that differ need an SSA value of the construct:

    branches   results   the variables defined before and changed, in the order of their
                         definition, then those defined by both branches, sorted by name
    loops      carried   the variables defined before and changed by the body, in that order
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr, NameLoc
from xdsl.ir import Block, Operation, SSAValue

from tilewright.frontend.values import (
    Undefined,
    Value,
    handles,
    is_namedtuple,
    kind,
    parts_of,
)
from tilewright.ir.text.locations import name_location

State = tuple[Any, ...]
"""What the variables that a construct may assign hold, in the order in which it lists them."""


def is_defined(value: object) -> bool:
    return not isinstance(value, Undefined)


def in_order(names: Iterable[str], definitions: Iterable[str]) -> list[str]:
    """Those of `names` that are among `definitions`, in the order of the latter."""
    chosen = set(names)
    return [name for name in definitions if name in chosen]


def same_values(first: object, second: object) -> bool:
    """Whether two variables hold the very same SSA values and constants."""
    return handles(first) == handles(second) and kind(first) == kind(second)


def describe(value: object) -> str:
    """A value's type, as text for an error."""
    if isinstance(value, Value):
        return str(value.kind())
    parts = parts_of(value)
    if parts is None:
        return "None" if value is None else f"constexpr[{value!r}]"
    inside = ", ".join(map(describe, parts))
    return f"{type(value).__name__}({inside})" if is_namedtuple(value) else f"({inside})"


def agreement(first: object, second: object) -> str:
    """The change that makes two values mergeable."""
    if isinstance(first, Value) and isinstance(second, Value):
        return first.agreement(second)
    constant = second if isinstance(first, Value) else first
    if isinstance(first, Value) != isinstance(second, Value) and parts_of(constant) is None:
        return (
            f"{describe(constant)} is fixed when the kernel is compiled. Use a variable that is "
            "not declared constexpr, or a new name"
        )
    return "make them of one type, or use two names"


def labels_of(name: str, value: object) -> list[str]:
    """A name for every SSA value of a variable: `x`, or `x.0`, `x.1` for a tuple."""
    if isinstance(value, Value):
        return value.labels(name)
    parts = parts_of(value)
    if parts is None:
        return []
    fields: Sequence[object] = getattr(value, "_fields", range(len(parts)))
    return [
        label
        for field, part in zip(fields, parts, strict=True)
        for label in labels_of(f"{name}.{field}", part)
    ]


def flat(names: Iterable[str], state: Mapping[str, Any]) -> list[SSAValue]:
    """The SSA values of some variables, flattened."""
    return [handle for name in names for handle in handles(state[name])]


def named(location: LocationAttr, labels: Sequence[str]) -> LocationAttr:
    """An op with results is named after the last of them."""
    return name_location(labels[-1], location) if labels else location


def renamed(label: str, location: LocationAttr) -> LocationAttr:
    """`location` under another name."""
    inner = location.location if isinstance(location, NameLoc) else location
    return name_location(label, inner)


def end_block(block: Block, terminator: Operation, location: LocationAttr) -> None:
    """End `block`; `location` is the location of the construct that it is part of."""
    terminator.location = location
    block.add_op(terminator)


def last_location(block: Block, location: LocationAttr) -> LocationAttr:
    """Where the last op of `block` is: a jump after it belongs there. `location` without ops."""
    return location if block.last_op is None else block.last_op.location


def discard_ops(block: Block, keep: Operation | None = None) -> None:
    """Erase the ops after `keep`, all ops without it; no use of an operand stays."""
    while (op := block.last_op) is not None and op is not keep:
        op.detach()
        op.erase(safe_erase=False)
