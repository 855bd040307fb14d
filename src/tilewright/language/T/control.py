"""The run-time of `T` functions: what their rewritten statements call.

Variables of `T` are names for values, and memory is what changes: a loop carries nothing from one
iteration to the next, and a variable that its body assigns is new in every iteration. Where Python
would have retained the last value the variable has none; the error suggests ``T.alloc_var``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Block, BlockArgument, Region

from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.attributes import attribute_of
from tilewright.frontend.builder import current
from tilewright.frontend.choice import Choice
from tilewright.frontend.control_flow.branches import Branches
from tilewright.frontend.control_flow.control import Control
from tilewright.frontend.control_flow.loops import UnrolledFor
from tilewright.frontend.errors import BAD_RETURN, UNSUPPORTED, FrontendError
from tilewright.frontend.merging import end_block
from tilewright.frontend.values import Value, handles
from tilewright.frontend.vocabulary import StaticLoop
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.locations import name_location
from tilewright.language.T.annotations import declare_scalar
from tilewright.language.T.branches import TileChoice, TileIf, TileKnownIf, is_scalar
from tilewright.language.T.buffers import Buffer, Element, ScalarCell
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.exits import Exits, Guard, is_clear, new_flag
from tilewright.language.T.expressions import Expr, convert, describe
from tilewright.language.T.kernel_warnings import warn
from tilewright.language.T.loop_forms import LoopForm, as_sequence, range_loop
from tilewright.language.T.regions import TileFor, TileWhile, With
from tilewright.language.T.session import Stub, trace
from tilewright.language.T.symbols import Symbolic

BAD_LOOP = "TW1024"
BAD_EXIT = "TW1025"
PYTHON_CHANGES = "TW1034"
"""A container of Python that changes where a kernel repeats or decides."""


@dataclass(frozen=True, eq=False)
class _Scope:
    """A region that is being traced."""

    is_once: bool


def _read(value: Any) -> Any:
    """A part of a tuple on the right side: all are read before a target is written."""
    is_new = isinstance(value, ScalarCell) and value.is_fresh
    return value.value() if isinstance(value, Element) and not is_new else value


class TileControl(Control):
    """Callbacks of an executing `T` function."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.exits: list[Exits] = []
        self._guards: list[Guard] = []
        self._scopes: list[_Scope] = [_Scope(is_once=True)]
        self._bound_in: dict[str, _Scope] = {}
        self._assigned_in: dict[str, _Scope] = {}

    @property
    def host(self) -> bool:
        """Whether nothing of a kernel or of control flow is around."""
        return len(self._scopes) == 1 and trace().kernel is None

    # -- variables ---------------------------------------------------------------------------

    def assign(self, name: str, value: object, now: object) -> object:
        """``name = value``: writes a cell, or gives a value a name."""
        is_new = isinstance(value, ScalarCell) and value.is_fresh
        self._assigned_in[name] = self._scopes[-1]
        if isinstance(now, ScalarCell) and is_scalar(value) and not is_new:
            now.write(value)
            self._define(name)
            return now
        bound = self._named(name, value)
        self._define(name)
        return bound

    def _named(self, name: str, value: object) -> object:
        if isinstance(value, ScalarCell) and value.is_fresh:
            value.take(name)
        elif isinstance(value, Element):
            value = self._immutable(name, value.value())
        elif isinstance(value, Expr):
            value = self._immutable(name, value)
        elif isinstance(value, Buffer):
            value.take(name)
        else:
            take_name = attribute_of(value, "take_name")
            if take_name is not None:
                return take_name(name)
        return value

    def _immutable(self, name: str, value: Expr) -> Expr:
        """A scalar of the kernel, which keeps its value."""
        handle = value.handle
        if name != "_":
            is_alias = isinstance(handle, BlockArgument)
            if self._bound_in.get(name) in self._scopes and not is_alias:
                warn(
                    f"Immutable value `{name}` is re-bound; use T.alloc_var to create a mutable "
                    "variable."
                )
            self._bound_in[name] = self._scopes[-1]
        trace().bound.add(handle)
        if handle.name_hint is None and name_hint_of(name) is not None:
            handle.name_hint = name
            if isinstance(handle, BlockArgument):
                handle.location = name_location(name, handle.location)
        return value

    def parts(self, count: int, value: Any) -> tuple[Any, ...]:
        """The items of `value`, for a target of `count` parts."""
        if isinstance(value, (Value, Symbolic)):
            if count == 1:
                return (value,)  # with T.Kernel(8) as (bx,)
            raise TypeError(f"cannot unpack {describe(value)} into {count} names")
        items: tuple[Any, ...] = tuple(map(_read, value))
        if len(items) > count:
            raise ValueError(f"too many values to unpack (expected {count}, got {len(items)})")
        if len(items) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
        return items

    def chained(self, value: object) -> object:
        """``a = b = value``, for what is known now."""
        if isinstance(value, Value):
            raise FrontendError(
                "a = b = c is not supported for values of a kernel: write two assignments",
                code=UNSUPPORTED,
            )
        return value

    def annotate(self, name: str, annotation: Any, now: object) -> object:
        """``name: annotation``: declares a parameter."""
        declare = attribute_of(annotation, "declare")
        if declare is None and self.rewritten is not trace().rewritten:
            return now  # a variable of a macro
        self._define(name)
        return declare_scalar(name, annotation, now) if declare is None else declare(name, now)

    def declare_as(self, name: str, annotation: Any, value: object, now: object) -> object:
        """``name: annotation = value``: the value as that type."""
        if isinstance(annotation, (str, Dtype)) and is_scalar(value):
            value = convert(value, Dtype(annotation))
        return self.assign(name, value, now)

    def changed(self, name: str, value: object) -> object:
        """`value`, which `name` leads to and a statement is about to change.

        Containers of Python change when the statement is traced, which is once: where it runs
        several times, or not at all, they have to be of the region itself.
        """
        if type(value) not in (list, dict, set):
            return value
        made_in = self._assigned_in.get(name, self._scopes[0])
        depth = self._scopes.index(made_in) + 1 if made_in in self._scopes else 1
        if all(scope.is_once for scope in self._scopes[depth:]):
            return value
        kind = type(value).__name__
        raise FrontendError(
            f"{name} is a {kind} of Python, made outside of this loop or branch: it changes once, "
            "while the kernel is traced, and not whenever the statement runs. Use memory of the "
            f"kernel (T.alloc_var, T.alloc_local), or make the {kind} inside",
            code=PYTHON_CHANGES,
        )

    # -- scopes ------------------------------------------------------------------------------

    @contextmanager
    def scope(self, *, is_once: bool = False) -> Generator[None]:
        """A region of the IR: what is bound inside is not seen outside.

        `is_once` is for those that run exactly once.
        """
        self._scopes.append(_Scope(is_once))
        depth = len(self._guards)
        try:
            yield
        finally:
            self._scopes.pop()
        self._close_guards(depth)

    def _close_guards(self, depth: int) -> None:
        """End the region after a possible exit."""
        builder = current()
        while len(self._guards) > depth:
            guard = self._guards.pop()
            builder.block = guard.outer
            if guard.block.first_op is None:
                continue
            end_block(guard.block, YieldOp(), builder.location())
            builder.insert(IfOp(guard.condition, [], Region(guard.block)))

    # -- control flow ------------------------------------------------------------------------

    def if_(
        self,
        test: object,
        state: tuple[Any, ...],
        names: tuple[str, ...],
        has_else: bool,
        returns: bool,
    ) -> Branches:
        decided = self.vocabulary.condition(test)
        if isinstance(decided, bool):
            return TileKnownIf(self, state, decided)
        if returns:
            raise FrontendError(
                "return under a run-time condition: put the rest of the function under the if",
                code=BAD_RETURN,
            )
        return TileIf(self, decided, names, state, has_else)

    def choice(self, test: object) -> Choice:
        return TileChoice(self.vocabulary, self.vocabulary.condition(test))

    def for_(
        self,
        iterable: Any,
        state: tuple[Any, ...],
        names: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> Any:
        form = iterable if isinstance(iterable, LoopForm) else None
        self.define(targets)
        if form is None and self.host and isinstance(iterable, (range, tuple, list)):
            return UnrolledFor(StaticLoop(cast("Sequence[object]", iterable)), state)
        if form is None and isinstance(iterable, range):
            form = range_loop(iterable)
        if form is None:
            raise FrontendError(
                f"Invalid for loop, got {describe(iterable)}: loop over T.serial, T.Parallel, "
                "T.Pipelined, T.unroll or range",
                code=BAD_LOOP,
            )
        return TileFor(self, form, names, state, targets)

    def while_(self, state: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        return TileWhile(self, names, state)

    def with_(self, manager: Any, state: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        return With(self, manager, names, state)

    def exit_(self, keyword: str) -> None:
        """``break`` or ``continue``."""
        if not self.exits or not self.exits[-1].can_exit:
            where = f"T.{self.exits[-1].loop_name}" if self.exits else "no loop"
            raise FrontendError(
                f"{keyword} is for serial, unrolled and while loops, and this is in {where}: guard "
                "the statements with if instead",
                code=BAD_EXIT,
            )
        exits = self.exits[-1]
        if exits.skip is None:
            exits.skip = new_flag()
        exits.skip.write(True)
        if keyword == "break":
            if exits.stop is None:
                exits.stop = new_flag()
            exits.stop.write(True)
        exits.count += 1

    @contextmanager
    def guarding_exits(self) -> Generator[None]:
        """After a statement that holds a ``break`` or ``continue``, the rest is guarded."""
        before = self.exits[-1].count if self.exits else 0
        yield
        if self.exits and self.exits[-1].count != before:
            self.guard_rest()

    def guard_rest(self) -> None:
        """What follows in the block runs only if the iteration goes on."""
        exits = self.exits[-1]
        assert exits.skip is not None
        builder = current()
        inner = Block()
        self._guards.append(Guard(builder.block, is_clear(exits.skip), inner))
        builder.block = inner

    def return_(self, value: object) -> None:
        if len(self._scopes) > 1:
            raise FrontendError(
                "kernel bodies do not return values: return after `with T.Kernel(...)`, or from a "
                "T.macro outside of its loops and branches",
                code=BAD_RETURN,
            )
        if self.rewritten is trace().rewritten and trace().is_eager:
            self._check_returned(value)
        self.done = True
        self.result = value

    def _check_returned(self, value: object) -> None:
        """An eager kernel returns tensors: outputs, or parameters that it has written."""
        for each in () if value is None else as_sequence(value):
            if isinstance(each, (Buffer, Stub)):
                continue
            hint = ""
            if isinstance(each, (Expr, Element)):
                hint = "; elements of an output C are written with C[i] = ..., not with C = ..."
            raise FrontendError(
                f"the kernel returns {describe(each)}, which is not a tensor: return outputs "
                f"declared with T.empty{hint}",
                code=BAD_RETURN,
            )

    # -- expressions -------------------------------------------------------------------------

    def not_(self, value: object) -> object:
        if isinstance(value, (Value, Symbolic)):
            return self.vocabulary.invert(value)
        return not value

    def formatted(self, value: object) -> object:
        if handles(value) or isinstance(value, Expr):
            raise TypeError(
                "an f-string can show what is known while tracing, not a value of the kernel: use "
                "T.print to print one"
            )
        return value
