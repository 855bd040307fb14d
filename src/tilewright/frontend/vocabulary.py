"""In what two kernel languages differ, as the rewriter's run-time sees it.

The rewriter handles Python's statements, control flow handles regions and merging. What a number
becomes when it is given a name, which values may decide a branch, what a loop can run over and
which names of the surrounding module a kernel may read is up to the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from xdsl.ir import Attribute, SSAValue


@dataclass(frozen=True)
class StaticLoop:
    """A loop unrolled while tracing: the body runs once per item."""

    items: Iterable[object]


@dataclass(frozen=True)
class CountedLoop:
    """A loop of the IR: bounds and step of one integer type.

    `index` makes the variable's value from the induction variable, inside the body;
    `attributes` are put on the ``scf.for``.
    """

    lower: SSAValue
    upper: SSAValue
    step: SSAValue
    index: Callable[[SSAValue], object]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


class Vocabulary(Protocol):
    """The decisions a language makes for the frontend."""

    @property
    def name(self) -> str:
        """How errors call the language: `tl`, `T`."""
        ...

    @property
    def builtins(self) -> Mapping[str, object]:
        """Python built-ins as a kernel sees them; a name not listed is not available."""
        ...

    def bind(self, name: str, value: object) -> object:
        """What the variable holds after ``name = value``."""
        ...

    def argument(self, name: str, value: object, *, constexpr: bool) -> object:
        """What a parameter of a called kernel function holds for the argument `value`."""
        ...

    def returned(self, value: object) -> object:
        """What a caller gets for ``return value``."""
        ...

    def condition(self, value: object) -> bool | SSAValue:
        """A truth value known now, or the i1 that decides at run time."""
        ...

    def while_attributes(self, value: object) -> Mapping[str, Attribute]:
        """Attributes that the condition of a ``while`` puts on the loop."""
        ...

    def loop(self, iterable: Any) -> StaticLoop | CountedLoop:
        """How to run ``for ... in iterable``."""
        ...

    def known_items(self, iterable: Any) -> Iterable[object] | None:
        """What a comprehension runs over where ``for`` would make a loop, if it is known."""
        ...

    def logical(self, op: Literal["and", "or"], left: object, right: object) -> object:
        """``left and right`` or ``left or right`` where both are run-time values."""
        ...

    def invert(self, value: object) -> object:
        """``not value`` for a run-time value."""
        ...

    def as_value(self, value: object) -> object:
        """A run-time value for `value`, where branches of a conditional expression join."""
        ...

    def captured(self, name: str, value: object) -> object:
        """What a kernel sees for a name of the surrounding module; raises if it may not."""
        ...

    def type_of(self, value: object) -> object | None:
        """What ``value.type`` is for a constant or a tuple; None if it has no type."""
        ...

    def check(self, condition: object, message: object) -> None:
        """``assert condition, message``."""
        ...

    def mangle(self, value: object) -> str:
        """An argument as part of a function's symbol: its type, or a constant's value."""
        ...
