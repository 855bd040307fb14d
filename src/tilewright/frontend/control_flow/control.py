"""The run-time of a rewritten kernel function: what its statements call.

One `Control` exists per execution of a kernel function. It tracks which variables are defined and
since when, whether the way that is being traced has returned, and builds what `rewriter` lists:
branches (`branches`), loops (`loops`) and conditions (`logic`).
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from tilewright.frontend.body import Body
from tilewright.frontend.builder import Builder, current
from tilewright.frontend.choice import Choice
from tilewright.frontend.control_flow.branches import BlockIf, Branches, KnownIf, RegionIf
from tilewright.frontend.control_flow.loops import RegionFor, RegionWhile, UnrolledFor
from tilewright.frontend.control_flow.regions import PlainWith, RegionWith, TracedRegion, With
from tilewright.frontend.errors import (
    BAD_RETURN,
    MISMATCH,
    UNDEFINED,
    UNSUPPORTED,
    FrontendError,
    Note,
)
from tilewright.frontend.locations import Instruction
from tilewright.frontend.logic import Logic, LogicalOperator
from tilewright.frontend.loop_exits import exit_hint
from tilewright.frontend.rewriter import Rewritten
from tilewright.frontend.values import Undefined, Value, handles, parts_of
from tilewright.frontend.vocabulary import StaticLoop, Vocabulary
from tilewright.ir.diagnostics import SourcePosition


class NeedsBody(Exception):
    """A function executed inside its caller's block turned out to need blocks of its own."""


class Control:
    """Callbacks of an executing kernel function."""

    def __init__(self, rewritten: Rewritten, vocabulary: Vocabulary, body: Body | None) -> None:
        self.rewritten = rewritten
        self.vocabulary = vocabulary
        self.body = body
        self.done = False
        """Whether the way being traced has returned."""
        self.result: object = None
        self.loops: list[Instruction] = []
        """The loops of the IR that are around, outermost first."""
        self.definitions: dict[str, None] = {}
        """Variables with a value, in the order in which they first got one."""
        self.assignments: dict[str, Instruction] = {}
        """The instruction that last assigned a variable."""
        self.reads: dict[str, Any] = {}
        """Variables read inside the ``with`` being executed, and what they held at first."""
        self._declared: dict[str, Instruction] = {}

    @property
    def builder(self) -> Builder:
        return current()

    # -- variables ---------------------------------------------------------------------------

    def undefined(self, names: Sequence[str]) -> tuple[Undefined, ...]:
        return tuple(Undefined(name) for name in names)

    def load(self, name: str, value: Any) -> Any:
        """The value of a variable that may have none."""
        if not isinstance(value, Undefined):
            return value
        message = str(value)
        if not value.has_reason:
            line = self.rewritten.assigned[name]
            message += f": the assignment in line {line} has not been executed"
        raise FrontendError(message, code=UNDEFINED)

    def read(self, name: str, value: Any) -> Any:
        """The value of a variable, inside a ``with``."""
        self.reads.setdefault(name, value)
        return self.load(name, value)

    def bind(self, name: str, value: object) -> object:
        """``name = value``."""
        bound = self.vocabulary.bind(name, value)
        self._define(name)
        return bound

    def constant(self, name: str, value: object) -> object:
        """``name = value`` after ``name: constexpr``."""
        self._define(name)
        return value

    def declare(self, name: str, value: object, now: object) -> object:
        """``name: constexpr = value``; executed again by an unrolled loop it is a new variable."""
        instruction = self.rewritten.source_map.executing()
        if not isinstance(now, Undefined) and self._declared.get(name) != instruction:
            first = self.position(self.assignments.get(name))
            raise FrontendError(
                f"{name} is already defined. constexpr cannot be reassigned: choose its value in "
                "one assignment (a if c else b), or use a new name",
                self.position(instruction),
                code=MISMATCH,
                notes=[] if first is None else [(first, f"{name} is defined here")],
            )
        self._declared[name] = instruction
        self._define(name)
        return value

    def unpack(
        self, names: str | Sequence[Any], value: object, constants: Sequence[str] = ()
    ) -> object:
        """``names = value`` for a target of several names, in the shape of the target."""
        if isinstance(names, str):
            self._define(names)
            return value if names in constants else self.vocabulary.bind(names, value)
        values = parts_of(value)
        if values is None:
            raise TypeError("cannot unpack non-iterable value")
        if len(values) > len(names):
            raise ValueError(f"too many values to unpack (expected {len(names)})")
        if len(values) < len(names):
            raise ValueError(
                f"not enough values to unpack (expected {len(names)}, got {len(values)})"
            )
        return tuple(
            [self.unpack(name, part, constants) for name, part in zip(names, values, strict=True)]
        )

    def define(self, names: Iterable[str]) -> None:
        """`names` got their values from the construct that is being executed."""
        for name in names:
            self._define(name)

    def _define(self, name: str) -> None:
        if name not in self.definitions:
            self.definitions[name] = None
        self.assignments[name] = self.rewritten.source_map.executing()

    def position(self, instruction: Instruction | None) -> SourcePosition | None:
        """What to point at for an instruction of this function."""
        if instruction is None:
            return None
        source_map = self.rewritten.source_map
        return source_map.position(source_map.source_range(*instruction).caret)

    def blocks(self) -> Body:
        """Where the function's blocks are."""
        assert self.body is not None  # read only where there is one
        return self.body

    def current_line(self) -> int:
        """The line being executed."""
        source_map = self.rewritten.source_map
        return source_map.source_range(*source_map.executing()).at[0]

    # -- control flow ------------------------------------------------------------------------

    def if_(
        self,
        test: object,
        state: tuple[Any, ...],
        names: tuple[str, ...],
        has_else: bool,
        returns: bool,
    ) -> Branches:
        condition = self.vocabulary.condition(test)
        if isinstance(condition, bool):
            return KnownIf(state, condition)
        if not returns or self.loops:  # a loop cannot be left: `return_` refuses
            return RegionIf(self, condition, names, state, has_else)
        if self.body is None:
            raise NeedsBody
        return BlockIf(self, condition, names, state, has_else)

    @staticmethod
    def side(sides: Iterator[bool]) -> bool | None:
        """The side to execute next; None when the ``if`` is complete."""
        return next(sides, None)

    def for_(
        self,
        iterable: Any,
        state: tuple[Any, ...],
        names: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> UnrolledFor | RegionFor:
        items = parts_of(iterable)
        loop = self.vocabulary.loop(iterable) if items is None else StaticLoop(items)
        self.define(targets)
        if isinstance(loop, StaticLoop):
            return UnrolledFor(loop, state)
        return RegionFor(self, loop, names, state, targets)

    def while_(self, state: tuple[Any, ...], names: tuple[str, ...]) -> RegionWhile:
        return RegionWhile(self, names, state)

    def with_(self, manager: Any, state: tuple[Any, ...], names: tuple[str, ...]) -> With:
        if isinstance(manager, TracedRegion):
            return RegionWith(self, manager, names, state)
        return PlainWith(manager, state)

    def enter_loop(self) -> None:
        """What follows is in the body of a loop of the IR, until `loops` is popped."""
        self.loops.append(self.rewritten.source_map.executing())

    def return_(self, value: object) -> None:
        """``return value``: the way being traced ends here."""
        if self.loops:
            suggestion = (
                "use a while loop with the exit condition in its header"
                if value is None
                else "keep the result in a variable, and return it after the loop"
            )
            raise FrontendError(
                "Cannot have `return` statements inside `while` or `for` statements in a kernel: "
                f"{suggestion}",
                code=BAD_RETURN,
                notes=[self._exit_note(loop) for loop in self.loops] if value is None else (),
            )
        returned = self.vocabulary.returned(value)
        self.done = True
        if self.body is None:
            self.result = returned
        else:
            position = self.position(self.rewritten.source_map.executing())
            self.body.add_return(self.builder.block, returned, self.builder.location(), position)

    def _exit_note(self, loop: Instruction) -> Note:
        source_map = self.rewritten.source_map
        line = source_map.source_range(*loop).at[0]
        return self.position(loop), exit_hint(linecache.getline(source_map.file, line))

    # -- expressions -------------------------------------------------------------------------

    def logic(self, operator: LogicalOperator) -> Logic:
        return Logic(self.vocabulary, operator)

    def choice(self, test: object) -> Choice:
        return Choice(self.vocabulary, self.vocabulary.condition(test))

    def not_(self, value: object) -> object:
        return self.vocabulary.invert(value) if isinstance(value, Value) else not value

    def value(self, owner: Any) -> Any:
        """``owner.value``: a constant is its own value."""
        if isinstance(owner, Value):
            return getattr(owner, "value")  # noqa: B009 - raises as Python would
        return getattr(owner, "value", owner)

    def type_of(self, owner: Any) -> Any:
        """``owner.type``: constants have one too."""
        found = None if hasattr(owner, "type") else self.vocabulary.type_of(owner)
        return owner.type if found is None else found

    def formatted(self, value: object) -> object:
        """A part of an f-string."""
        if handles(value):
            raise TypeError(
                "an f-string can show what is known at compile time, not a run-time value: "
                "use device_print to print one"
            )
        return value

    def items(self, iterable: Any) -> Iterable[object]:
        """What a comprehension runs over."""
        items = parts_of(iterable)
        if items is not None:
            return items
        items = self.vocabulary.known_items(iterable)
        if items is not None:
            return items
        loop = self.vocabulary.loop(iterable)
        if isinstance(loop, StaticLoop):
            return loop.items
        raise TypeError(
            "a comprehension runs over what is known at compile time, a tuple or a static range: "
            "use a for loop"
        )

    def decided(self, test: object) -> bool:
        """The condition of a comprehension."""
        condition = self.vocabulary.condition(test)
        if isinstance(condition, bool):
            return condition
        raise TypeError("the condition of a comprehension must be known at compile time")

    def gathered(self, items: list[object]) -> tuple[object, ...]:
        return tuple(items)

    def assert_(self, condition: object, message: object) -> None:
        self.vocabulary.check(condition, message)

    def refuse(self, index: int) -> NoReturn:
        refusal = self.rewritten.refused[index]
        position = self.rewritten.source_map.position(refusal.span)
        raise FrontendError(refusal.message, position, code=UNSUPPORTED)
