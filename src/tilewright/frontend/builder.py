"""Where ops go and where they come from.

One builder is current while a kernel is traced. Functions of the languages emit through it and
never see blocks or locations:

    current().insert(arith.AddiOp(lhs, rhs)).results[0]

`insert` gives the op the location in the user's source that is being executed, with the chain of
kernel functions that led there (`locations`).
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.frontend.locations import current_location

_Op = TypeVar("_Op", bound=Operation)


class Carrier(Protocol):
    """What a block that is being traced belongs to, and its arguments."""

    def note(self, argument: SSAValue, name: str, value: Attribute) -> None:
        """Note something about one of the arguments."""
        ...


class Builder:
    """Appends ops to `block`; control flow moves `block` with `at`."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.carriers: dict[SSAValue, Carrier] = {}
        """By argument, the loop whose body has it."""
        self._pinned: LocationAttr | None = None

    def insert(self, op: _Op) -> _Op:
        """Append `op` at the insertion point, located where the kernel is being executed."""
        if isinstance(op.location, UnknownLoc):
            op.location = self.location()
        self.block.add_op(op)
        return op

    def location(self) -> LocationAttr:
        return current_location() if self._pinned is None else self._pinned

    @contextmanager
    def at(self, block: Block) -> Generator[Block]:
        """Append to `block` inside the ``with``, then go on where we were."""
        before, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = before

    @contextmanager
    def located(self, location: LocationAttr) -> Generator[None]:
        """Every op inserted inside the ``with`` comes from `location`."""
        before, self._pinned = self._pinned, location
        try:
            yield
        finally:
            self._pinned = before


class _Stack(threading.local):
    """Every thread traces its own kernels."""

    def __init__(self) -> None:
        self.builders: list[Builder] = []


_stack = _Stack()
_outside: list[Builder] = []
"""Takes what is built outside of any kernel, where that is allowed."""


def build_outside() -> None:
    """Let expressions be built outside of kernels from here on: they can be looked at, not run."""
    if not _outside:
        _outside.append(Builder(Block()))


def current() -> Builder:
    """The builder of the kernel being traced."""
    builders = _stack.builders or _outside
    if not builders:
        raise RuntimeError(
            "this function emits code of a kernel: call it inside a function decorated with @jit"
        )
    return builders[-1]


def insert(op: _Op) -> _Op:
    """Append `op` to the kernel being traced."""
    return current().insert(op)


def is_outside() -> bool:
    """Whether what is built now belongs to no kernel."""
    return bool(_outside) and not _stack.builders


def outermost() -> Builder:
    """The builder of the whole trace: functions of their own have one each."""
    current()
    return (_stack.builders or _outside)[0]


def is_tracing() -> bool:
    return bool(_stack.builders)


@contextmanager
def using(builder: Builder) -> Generator[Builder]:
    """Make `builder` the current one inside the ``with``."""
    _stack.builders.append(builder)
    try:
        yield builder
    finally:
        _stack.builders.pop()
