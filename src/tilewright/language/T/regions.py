"""Loops and ``with`` of `T` while their bodies are traced: regions that carry no variables.

A variable that a body assigns is new in every iteration, and has no value after the construct,
unless it is memory or known while tracing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.scf import ConditionOp, WhileOp, YieldOp
from tilewright.dialects.tile import AllocOp, ReducerAllocOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.merging import State, end_block, last_location
from tilewright.frontend.values import Undefined
from tilewright.language.T.buffers import Buffer, BufferRegion, ScalarCell
from tilewright.language.T.exits import Exits, is_clear, wrap_iteration
from tilewright.language.T.expressions import Expr, describe, emit
from tilewright.language.T.kernel_warnings import warn
from tilewright.language.T.loop_forms import LoopForm
from tilewright.language.T.session import effect, trace

if TYPE_CHECKING:
    from tilewright.language.T.control import TileControl

INFINITE = "TW1023"
"""A loop that nothing ends."""


class BodyScope:
    """The variables of a construct whose body runs again and again, or elsewhere."""

    def __init__(self, control: TileControl, names: tuple[str, ...], state: State) -> None:
        self._control = control
        self._names = names
        self._before = state
        self._left = state
        self.state = state

    def leave(self, state: State) -> None:
        self._left = state

    def _stale(self) -> State:
        """At the beginning of an iteration: nothing that an earlier iteration may have assigned."""
        line = self._control.current_line()
        return tuple(
            [
                value
                if isinstance(value, (ScalarCell, Undefined))
                else Undefined(
                    name,
                    f"the loop in line {line} assigns it, but values are not carried to the next "
                    "iteration. Use a mutable variable: "
                    f"{name} = T.alloc_var(dtype, init=...) before the loop",
                )
                for name, value in zip(self._names, self._before, strict=True)
            ]
        )

    def _gone(self) -> State:
        """After the construct: what was made inside is not seen here."""
        control = self._control
        line = control.current_line()
        pairs = zip(self._names, self._before, self._left, strict=True)
        return tuple([self._after(name, before, left, line) for name, before, left in pairs])

    def _after(self, name: str, before: object, left: object, line: int) -> object:
        if before is left or isinstance(left, Undefined):
            return left
        if not self._survives(left):
            return Undefined(name, self._why(name, line))
        if isinstance(before, Undefined) or self._is_certain():
            return left
        return Undefined(
            name,
            f"the loop in line {line} assigns it only if an iteration reaches the assignment, and "
            "otherwise it is what it was before. Use a mutable variable: "
            f"{name} = T.alloc_var(dtype, init=...) before the loop",
        )

    def _is_certain(self) -> bool:
        """Whether the body runs for sure, up to its end."""
        return True

    def _why(self, name: str, line: int) -> str:
        return (
            f"the loop in line {line} assigns it, but its value is not available after the loop. "
            f"Use a mutable variable: {name} = T.alloc_var(dtype, init=...) before the loop"
        )

    def _survives(self, value: object) -> bool:
        """Whether a value made inside can be used after: memory, and what is known."""
        if isinstance(value, ScalarCell):
            value = value.buffer
        if isinstance(value, Buffer):
            owner = value.handle.owner
            return isinstance(owner, (AllocOp, ReducerAllocOp, Block))
        return not _has_value(value)


def _has_value(value: object) -> bool:
    """Whether values of the kernel are in `value`."""
    if isinstance(value, (tuple, list)):
        return any(_has_value(part) for part in cast("Sequence[object]", value))
    return isinstance(value, (Expr, BufferRegion))


class TileFor(BodyScope):
    """A loop whose form (`loop_forms`) makes the op."""

    def __init__(
        self,
        control: TileControl,
        form: LoopForm,
        names: tuple[str, ...],
        state: State,
        targets: tuple[str, ...],
    ) -> None:
        super().__init__(control, names, state)
        self._form = form
        self._targets = targets
        self._exits = Exits(form.op_name, form.can_exit)

    def _is_certain(self) -> bool:
        return self._form.has_iterations and not self._exits.count

    def __iter__(self) -> Iterator[object]:
        control, builder, form = self._control, current(), self._form
        outer, location = builder.block, builder.location()
        trace().read_elements()  # a later iteration would read what an earlier one has written
        block, value = form.enter(self._targets)
        exits = self._exits
        builder.block = block
        self.state = self._stale()
        trace().writes += 1
        control.exits.append(exits)
        depth = int(form.op_name == "Parallel")
        trace().parallel_depth += depth
        with control.scope():
            yield value
        trace().parallel_depth -= depth
        control.exits.pop()
        builder.block = outer
        with builder.located(location):
            if exits.stop is not None:
                exits.stop.write(False)
            wrap_iteration(exits, block)
            op = form.close(block)
        op.location = location
        effect(op)
        self.state = self._gone()

    def last(self, values: State) -> State:
        line = self._control.current_line()
        why = f"the variable of the loop in line {line} has no value after the loop"
        return tuple([Undefined(name, why) for name, _ in zip(self._targets, values, strict=True)])


class TileWhile(BodyScope):
    """An ``scf.while`` that carries nothing."""

    def __init__(self, control: TileControl, names: tuple[str, ...], state: State) -> None:
        super().__init__(control, names, state)
        self._test_block, self._body = Block(), Block()
        self._condition: SSAValue | None = None

    def _is_certain(self) -> bool:
        return False

    def __iter__(self) -> Iterator[None]:
        control, builder = self._control, current()
        outer, location = builder.block, builder.location()
        exits = Exits("while", can_exit=True)
        trace().read_elements()
        builder.block = self._test_block
        self.state = self._stale()
        trace().writes += 1
        control.exits.append(exits)
        with control.scope():
            yield None
        control.exits.pop()
        builder.block = outer
        if self._condition is None:
            return
        with builder.located(location):
            if exits.stop is not None:
                exits.stop.write(False)
                with builder.at(self._test_block):
                    clear = is_clear(exits.stop)
                    self._condition = emit(arith.AndiOp(clear, self._condition))
            if exits.skip is not None:
                exits.stop = None  # the condition looks after it
                wrap_iteration(exits, self._body)
        end_block(self._body, YieldOp(), location)
        end = ConditionOp(self._condition, [])
        end_block(self._test_block, end, last_location(self._test_block, location))
        op = WhileOp([], [], Region(self._test_block), Region(self._body))
        op.location = location
        effect(op)
        self.state = self._gone()

    def test(self, value: object) -> bool:
        """Take the condition; whether there is a body to trace."""
        decided = self._control.vocabulary.condition(value)
        if isinstance(decided, bool):
            if decided:
                raise FrontendError(
                    "Infinite while loop detected: the condition is always true while the kernel "
                    "is traced. Let it depend on memory that the body changes, such as a "
                    "T.alloc_var",
                    code=INFINITE,
                )
            self.state = self._before
            self._left = self._before
            warn("the condition of this while loop is always false: its body is removed")
            return False
        self._condition = decided
        self.state = self._stale()
        current().block = self._body
        return True


class With(BodyScope):
    """``with``: a region of the kernel, or any context manager of Python."""

    def _why(self, name: str, line: int) -> str:
        return f"it is assigned inside the with of line {line}, and not visible after it"

    def _survives(self, value: object) -> bool:
        """The memory of a kernel ends with it."""
        survives = super()._survives(value)
        if not getattr(self._manager, "ends_memory", False):
            return survives
        found = value.buffer if isinstance(value, ScalarCell) else value
        return survives and (not isinstance(found, Buffer) or found.scope() == "global")

    def __init__(
        self, control: TileControl, manager: Any, names: tuple[str, ...], state: State
    ) -> None:
        super().__init__(control, names, state)
        self._manager = manager

    def __iter__(self) -> Iterator[object]:
        with self._control.guarding_exits():
            yield from self._entered()

    def _entered(self) -> Iterator[object]:
        manager = self._manager
        if not hasattr(manager, "__enter__"):
            raise TypeError(f"with needs T.Kernel, T.ws or the like, got {describe(manager)}")
        if getattr(manager, "is_skipped", None) is not None and manager.is_skipped():
            return
        if getattr(manager, "is_region", False):
            with self._control.scope(is_once=getattr(manager, "is_once", True)):
                entered = manager.__enter__()
                self.state = self._before
                yield entered
            manager.__exit__(None, None, None)
            self.state = self._gone()
            return
        entered = manager.__enter__()
        yield entered
        manager.__exit__(None, None, None)
        self.state = self._left
