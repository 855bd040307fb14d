"""The variables that go through a loop of the IR.

The body of a loop is traced once. Every variable it may assign that has SSA values before the loop
starts out as an argument of the body; those that come back unchanged are taken out again, so that
exactly the variables that the body changes are carried:

    acc = 0; one = 1                      %acc = ...; %one = ...
    for i in range(n):                    %r = scf.for ... iter_args(%a = %acc) {
        if FALSE: one = 2                   %s = arith.addi %a, %one
        acc += one                          scf.yield %s }

Unchanged is a variable that comes back as the argument itself, or as what it was before the loop;
finding one unchanged can show that another is.

An argument has no op that could have attributes. What a user notes about one, the op has that made
its first value, and the loop under a name with the number of the argument, as in Triton:

    for i in range(n):                    %acc = ... {tt.divisibility = dense<16>}
        tl.multiple_of(acc, 16)           scf.for ... {tt.divisibility_arg1 = dense<16>}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tilewright.frontend.builder import current
from tilewright.frontend.errors import MISMATCH, UNDEFINED, FrontendError, Note
from tilewright.frontend.locations import is_made_here
from tilewright.frontend.merging import (
    State,
    agreement,
    describe,
    in_order,
    is_defined,
    labels_of,
    renamed,
)
from tilewright.frontend.values import Undefined, handles, kind, rebuild

if TYPE_CHECKING:
    from tilewright.frontend.control_flow.control import Control


@dataclass(frozen=True, eq=False)
class _Carry:
    """One variable that goes through the loop, as long as nothing shows that it need not."""

    name: str
    value: Any
    inits: list[SSAValue]
    first: int
    """Index of its first SSA value among those of all candidates."""

    def own(self, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Its part of the values of all candidates."""
        return values[self.first : self.first + len(self.inits)]

    def rebuilt(self, values: Sequence[SSAValue]) -> Any:
        return rebuild(self.value, iter(self.own(values)))


class Carries:
    """What the variables of a loop hold before it, in it, and after it."""

    def __init__(self, control: Control, names: tuple[str, ...], state: State) -> None:
        self._control = control
        self._names = names
        self._before: dict[str, Any] = dict(zip(names, state, strict=True))
        self._left = self._before
        self._definitions = dict(control.definitions)
        self._assignments = dict(control.assignments)
        self._candidates = list(self._find_candidates())
        self._carried = self._candidates
        self._replaced: dict[SSAValue, SSAValue] = {}
        self._location = current().location()
        self._notes: dict[SSAValue, dict[str, Attribute]] = {}

    def _find_candidates(self) -> Iterator[_Carry]:
        first = 0
        for name in in_order(self._names, self._definitions):
            value = self._before[name]
            inits = handles(value) if is_defined(value) else []
            if inits:
                yield _Carry(name, value, inits, first)
                first += len(inits)

    @property
    def types(self) -> list[Attribute]:
        """Of the arguments of the body."""
        return [init.type for carry in self._candidates for init in carry.inits]

    # -- into the body -----------------------------------------------------------------------

    def label(self, arguments: Sequence[BlockArgument]) -> None:
        """Arguments are named after their variables, and placed where their first values are."""
        for carry in self._candidates:
            labels = labels_of(carry.name, carry.value)
            own = arguments[carry.first : carry.first + len(carry.inits)]
            for label, argument, init in zip(labels, own, carry.inits, strict=True):
                if isinstance(init, BlockArgument):
                    source = init.location
                else:
                    source = init.op.location if isinstance(init, OpResult) else UnknownLoc()
                argument.location = renamed(label, source)

    def entered(self, arguments: Sequence[SSAValue]) -> State:
        """What variables hold at the beginning of the body."""
        state = dict(self._before)
        current().carriers.update(dict.fromkeys(arguments, self))
        for carry in self._candidates:
            state[carry.name] = carry.rebuilt(arguments)
        return self._in_names(state)

    def leave(self, state: State) -> None:
        """Variables hold `state` at the end of the body."""
        self._left = dict(zip(self._names, state, strict=True))

    # -- which are carried -------------------------------------------------------------------

    def resolve(self, arguments: Sequence[SSAValue]) -> None:
        """Compare what the body left with what it started from."""
        self._check(arguments)
        undecided = [carry for carry in self._candidates if is_defined(self._left[carry.name])]
        for carry in self._candidates:
            if not is_defined(self._left[carry.name]):
                self._drop(carry, arguments)
        while True:
            unchanged = [carry for carry in undecided if self._is_unchanged(carry, arguments)]
            if not unchanged:
                break
            for carry in unchanged:
                undecided.remove(carry)
                self._drop(carry, arguments)
        self._carried = undecided

    def _is_unchanged(self, carry: _Carry, arguments: Sequence[SSAValue]) -> bool:
        left = [self._replaced.get(each, each) for each in handles(self._left[carry.name])]
        return all(
            value is argument or value is init
            for value, argument, init in zip(left, carry.own(arguments), carry.inits, strict=True)
        )

    def _drop(self, carry: _Carry, arguments: Sequence[SSAValue]) -> None:
        self._replaced.update(zip(carry.own(arguments), carry.inits, strict=True))

    @property
    def inits(self) -> list[SSAValue]:
        return [init for carry in self._carried for init in carry.inits]

    @property
    def yielded(self) -> list[SSAValue]:
        """Loop-carried values."""
        left = [each for carry in self._carried for each in handles(self._left[carry.name])]
        return [self._replaced.get(each, each) for each in left]

    def note(self, argument: SSAValue, name: str, value: Attribute) -> None:
        """Note something about an argument of this loop; lost where another function made it."""
        if is_made_here(self._location) and isinstance(argument, BlockArgument):
            self._notes.setdefault(argument, {})[name] = value
            inits = [init for carry in self._candidates for init in carry.inits]
            note(inits[argument.index - self._offset(argument)], name, value)

    def _offset(self, argument: BlockArgument) -> int:
        """The arguments of a body before those of the variables: the counter of a loop."""
        return len(argument.block.args) - len(self.types)

    def notes(self, block: Block) -> dict[str, Attribute]:
        """What was noted about the arguments of a block, which are reduced."""
        return {
            f"{name}_arg{argument.index}": value
            for argument in block.args
            for name, value in self._notes.get(argument, {}).items()
        }

    @property
    def labels(self) -> list[str]:
        """Names of the results."""
        return [label for carry in self._carried for label in labels_of(carry.name, carry.value)]

    def reduce(self, block: Block, arguments: Sequence[BlockArgument]) -> None:
        """Take the arguments out of `block` that turned out not to be needed."""
        for carry in self._candidates:
            if carry in self._carried:
                continue
            own = arguments[carry.first : carry.first + len(carry.inits)]
            for argument, init in zip(own, carry.inits, strict=True):
                argument.replace_all_uses_with(init)
                block.erase_arg(argument)

    # -- after the loop ---------------------------------------------------------------------

    def left(self, results: Sequence[SSAValue]) -> State:
        """Variables hold `results` after the loop, or what they held before."""
        state = {
            name: value if is_defined(value) and is_defined(self._left[name]) else self._gone(name)
            for name, value in self._before.items()
        }
        source = iter(results)
        for carry in self._carried:
            state[carry.name] = rebuild(carry.value, source)
        self._control.definitions = self._definitions
        return self._in_names(state)

    def _in_names(self, state: dict[str, Any]) -> State:
        return tuple([state[name] for name in self._names])

    def _gone(self, name: str) -> Undefined:
        return Undefined(
            name,
            f"only the body of the loop in line {self._control.current_line()} gives it a value. "
            "Assign it before the loop",
        )

    # -- errors ------------------------------------------------------------------------------

    def _check(self, arguments: Sequence[SSAValue]) -> None:
        for name, before in self._before.items():
            left = self._left[name]
            if is_defined(before) and is_defined(left) and kind(before) != kind(left):
                raise self._mismatch(name, before, left)
        for carry in self._candidates:
            left = self._left[carry.name]
            if not is_defined(left) and any(each.uses for each in carry.own(arguments)):
                raise FrontendError(
                    f"{carry.name} is read in the loop, but from the second iteration on {left}",
                    code=UNDEFINED,
                )

    def _mismatch(self, name: str, before: object, left: object) -> FrontendError:
        control = self._control
        if handles(before):
            message = (
                f"Loop-carried variable {name} has initial type {describe(before)} but is "
                f"re-assigned to {describe(left)} in loop! Please make sure that the type stays "
                "consistent."
            )
        else:
            message = (
                f"cannot reassign constexpr {name} in the loop: it is {describe(before)} before "
                f"the loop and {describe(left)} after an iteration. Give it a run-time value of "
                "that type before the loop, or unroll the loop with static_range"
            )
        start = control.position(self._assignments.get(name))
        notes: list[Note] = []
        if start is not None:
            notes.append((start, f"{name} is {describe(before)} here"))
        if handles(before):
            notes.append((None, agreement(before, left)))
        position = control.position(control.assignments.get(name))
        return FrontendError(message, position, code=MISMATCH, notes=notes)


def note(subject: SSAValue, name: str, value: Attribute) -> None:
    """Note something about a value that the function being executed made."""
    owner = subject.owner
    carrier = current().carriers.get(subject)
    if carrier is not None:
        carrier.note(subject, name, value)
    elif isinstance(owner, Operation) and is_made_here(owner.location):
        owner.attributes[name] = value
