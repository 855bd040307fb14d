"""``if``: known now, as regions, or, where a branch may return, as blocks.

Each class is iterated over by the rewritten function: an iteration executes one side, ``True``
before ``False``. `state` is what the variables hold, at the beginning of a side while there is one
and after the ``if`` in the end; `leave` gets what they hold at the end of a side.

    RegionIf   %r = scf.if %c -> (...) { ... yield } else { ... yield }
    BlockIf    cf.cond_br %c, ^then, ^else, and ^endif(%r) where both lead that do not return
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.cf import BranchOp, CondBranchOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import MISMATCH, FrontendError, Note
from tilewright.frontend.merging import (
    State,
    agreement,
    describe,
    end_block,
    flat,
    in_order,
    is_defined,
    last_location,
    same_values,
)
from tilewright.frontend.values import Undefined, handles, kind, rebuild

if TYPE_CHECKING:
    from tilewright.frontend.control_flow.control import Control
    from tilewright.frontend.locations import Instruction


class Branches(Protocol):
    """An ``if`` while it is executed."""

    state: State

    def __iter__(self) -> Iterator[bool]: ...

    def leave(self, state: State) -> None: ...


class KnownIf:
    """The condition is known: one side is executed, the other is not even looked at."""

    __slots__ = ("_side", "state")

    def __init__(self, state: State, side: bool) -> None:
        self.state = state
        self._side = side

    def __iter__(self) -> Iterator[bool]:
        return iter((self._side,))

    def leave(self, state: State) -> None:
        self.state = state


@dataclass(frozen=True, eq=False)
class _End:
    """The values at the end of one side."""

    block: Block
    state: dict[str, Any]
    assignments: dict[str, Instruction]
    has_returned: bool


class _DynamicIf:
    """Executes both sides and merges their values."""

    def __init__(
        self,
        control: Control,
        condition: SSAValue,
        names: tuple[str, ...],
        state: State,
        has_else: bool,
    ) -> None:
        self._control = control
        self._condition = condition
        self._names = names
        self._before = state
        self._has_else = has_else
        self._left: State = state
        self._ends: list[_End] = []
        self.state = state

    def leave(self, state: State) -> None:
        self._left = state

    def _execute(self, then: Block, otherwise: Block) -> Iterator[bool]:
        """Execute the sides, each into its block; `_ends` holds what they left."""
        control, builder = self._control, current()
        definitions, assignments = control.definitions, control.assignments
        for side, block in ((True, then), (False, otherwise)):
            builder.block = block
            control.definitions, control.assignments = dict(definitions), dict(assignments)
            control.done = False
            self.state = self._left = self._before
            if side or self._has_else:
                yield side
            left = dict(zip(self._names, self._left, strict=True))
            self._ends.append(_End(builder.block, left, control.assignments, control.done))
        control.definitions = definitions
        control.assignments = {**self._ends[1].assignments, **self._ends[0].assignments}
        control.done = all(end.has_returned for end in self._ends)

    def _join(self) -> tuple[dict[str, Any], list[str]]:
        """What variables hold after the ``if``, and which of them need values of its own."""
        then, otherwise = (end.state for end in self._ends)
        before = dict(zip(self._names, self._before, strict=True))
        live = in_order(self._names, self._control.definitions)
        live = [name for name in live if is_defined(before[name])]
        new = sorted(set(self._names).difference(live))
        joined: dict[str, Any] = {}
        results: list[str] = []
        for name in (*live, *new):
            first, second = then[name], otherwise[name]
            joined[name] = first
            if not (is_defined(first) and is_defined(second)):
                joined[name] = self._one_sided(name, first, second)
            elif kind(first) != kind(second):
                raise self._mismatch(name, before[name], first, second)
            elif handles(first) and (name in new or not same_values(first, second)):
                results.append(name)
        return joined, results

    def _one_sided(self, name: str, then: object, otherwise: object) -> object:
        if not (is_defined(then) or is_defined(otherwise)):
            return then
        side, other = ("then", "else") if is_defined(then) else ("else", "then")
        return Undefined(
            name,
            f"only the {side} branch of the if in line {self._control.current_line()} gives it a "
            f"value. Assign it in the {other} branch as well, or before the if",
        )

    def _mismatch(
        self, name: str, before: object, then: object, otherwise: object
    ) -> FrontendError:
        positions = [self._control.position(end.assignments.get(name)) for end in self._ends]
        values, sides = (then, otherwise), ("then", "else")
        if is_defined(before):
            side = 0 if kind(then) != kind(before) else 1
            message = (
                f"initial value for `{name}` is of type {describe(before)}, but the {sides[side]} "
                f"block redefines it as {describe(values[side])}"
            )
        else:
            side = 1
            message = (
                f"Mismatched type for {name} between then block ({describe(then)}) and else block "
                f"({describe(otherwise)})"
            )
        note: Note = (positions[1 - side], f"{name} is {describe(values[1 - side])} here")
        return FrontendError(
            f"{message}: {agreement(values[1 - side], values[side])}",
            positions[side],
            code=MISMATCH,
            notes=[note],
        )

    def _take(self, state: dict[str, Any], names: list[str], results: list[SSAValue]) -> None:
        """Variables hold `state` after the ``if``, and `names` of them `results`."""
        source = iter(results)
        for name in names:
            state[name] = rebuild(state[name], source)
        self.state = tuple([state[name] for name in self._names])
        definitions = self._control.definitions
        new = [name for name in self._names if name not in definitions and is_defined(state[name])]
        definitions.update(dict.fromkeys(sorted(new)))


class RegionIf(_DynamicIf):
    """An ``scf.if``."""

    def __iter__(self) -> Iterator[bool]:
        builder = current()
        outer, location = builder.block, builder.location()
        blocks = Block(), Block()
        yield from self._execute(*blocks)
        builder.block = outer
        state, names = self._join()
        for end in self._ends:
            end_block(
                end.block, YieldOp(flat(names, end.state)), last_location(end.block, location)
            )
        types = [handle.type for handle in flat(names, state)]
        op = IfOp(self._condition, types, *map(Region, blocks))
        op.location = location
        builder.insert(op)
        self._take(state, names, list(op.results))


class BlockIf(_DynamicIf):
    """A ``cf.cond_br``, because a side may return."""

    def __iter__(self) -> Iterator[bool]:
        body, builder = self._control.blocks(), current()
        location = builder.location()
        then, otherwise = body.new_block(), body.new_block()
        branch = CondBranchOp(self._condition, then, (), otherwise, ())
        end_block(builder.block, branch, last_location(builder.block, location))
        yield from self._execute(then, otherwise)
        open_ends = [end for end in self._ends if not end.has_returned]
        if len(open_ends) == 1:
            builder.block = self._last_block(open_ends[0].block, location)
            self._take(open_ends[0].state, [], [])
        elif open_ends:
            self._merge(location)

    def _last_block(self, open_end: Block, location: LocationAttr) -> Block:
        """Where to go on after a path that has not returned: blocks keep the order of the source,
        so that it is the last one."""
        if open_end.next_block is None:
            return open_end
        after = self._control.blocks().new_block()
        end_block(open_end, BranchOp(after), last_location(open_end, location))
        return after

    def _merge(self, location: LocationAttr) -> None:
        """Both sides lead to a block after the ``if``."""
        state, names = self._join()
        after = self._control.blocks().new_block([each.type for each in flat(names, state)])
        for end in self._ends:
            jump = BranchOp(after, flat(names, end.state))
            end_block(end.block, jump, last_location(end.block, location))
        current().block = after
        self._take(state, names, list(after.args))
