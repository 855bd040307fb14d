"""``for`` and ``while``: unrolled while tracing, or loops of the IR.

Each class is iterated over by the rewritten function. `state` is what the variables hold at the
beginning of an iteration, and after the loop in the end; `leave` gets what they hold at the end of
an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.control_flow.carries import Carries
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.merging import State, discard_ops, end_block, last_location, named
from tilewright.frontend.values import Undefined
from tilewright.frontend.vocabulary import CountedLoop, StaticLoop
from tilewright.ir.text.locations import name_location

if TYPE_CHECKING:
    from tilewright.frontend.control_flow.control import Control


class UnrolledFor:
    """A loop over items known now: the body is executed once for each."""

    __slots__ = ("_items", "state")

    def __init__(self, loop: StaticLoop, state: State) -> None:
        self._items = loop.items
        self.state = state

    def __iter__(self) -> Iterator[object]:
        return iter(self._items)

    def leave(self, state: State) -> None:
        self.state = state

    def last(self, values: State) -> State:
        """What the loop's own variables hold after it."""
        return values


class RegionFor:
    """An ``scf.for``."""

    def __init__(
        self,
        control: Control,
        loop: CountedLoop,
        names: tuple[str, ...],
        state: State,
        targets: tuple[str, ...],
    ) -> None:
        self._control = control
        self._loop = loop
        self._targets = targets
        self._carries = Carries(control, names, state)
        self.state = state

    def __iter__(self) -> Iterator[object]:
        loop, carries, builder = self._loop, self._carries, current()
        outer, location = builder.block, builder.location()
        body = Block(arg_types=[loop.lower.type, *carries.types])
        body.args[0].location = name_location(self._targets[0], location)
        arguments = list(body.args[1:])
        carries.label(arguments)
        self.state = carries.entered(arguments)
        builder.block = body
        self._control.enter_loop()
        yield loop.index(body.args[0])
        self._control.loops.pop()
        builder.block = outer
        carries.resolve(arguments)
        end_block(body, YieldOp(carries.yielded), location)
        carries.reduce(body, arguments)
        op = ForOp(loop.lower, loop.upper, loop.step, carries.inits, Region(body))
        op.attributes.update({**loop.attributes, **carries.notes(body)})
        op.location = named(location, carries.labels)
        builder.insert(op)
        self.state = carries.left(op.results)

    def leave(self, state: State) -> None:
        self._carries.leave(state)

    def last(self, values: State) -> State:
        """The loop's own variable has no value after it."""
        line = self._control.current_line()
        why = f"the variable of the loop in line {line} has no value after the loop"
        return tuple([Undefined(name, why) for name, _ in zip(self._targets, values, strict=True)])


class RegionWhile:
    """An ``scf.while``: the condition is evaluated in a region of its own."""

    def __init__(self, control: Control, names: tuple[str, ...], state: State) -> None:
        self._control = control
        self._carries = Carries(control, names, state)
        self._before, self._after = (Block(arg_types=self._carries.types) for _ in range(2))
        self._condition: SSAValue | None = None
        self._attributes: Mapping[str, Attribute] = {}
        self.state = state

    def __iter__(self) -> Iterator[None]:
        state, carries, builder = self.state, self._carries, current()
        outer, location = builder.block, builder.location()
        tested, arguments = list(self._before.args), list(self._after.args)
        carries.label(tested)
        carries.label(arguments)
        self.state = carries.entered(tested)
        builder.block = self._before
        self._control.enter_loop()
        yield None
        self._control.loops.pop()
        builder.block = outer
        if self._condition is None:  # known to be false
            discard_ops(self._before)
            self.state = state
            return
        carries.resolve(arguments)
        end_block(self._after, YieldOp(carries.yielded), location)
        carries.reduce(self._before, tested)
        carries.reduce(self._after, arguments)
        test = ConditionOp(self._condition, self._before.args)
        end_block(self._before, test, last_location(self._before, location))
        types = [init.type for init in carries.inits]
        op = WhileOp(carries.inits, types, Region(self._before), Region(self._after))
        op.attributes.update(self._attributes)
        for block in (self._before, self._after):
            op.attributes.update(carries.notes(block))
        op.location = named(location, carries.labels)
        builder.insert(op)
        self.state = carries.left(op.results)

    def test(self, value: object) -> bool:
        """Take the condition; whether there is a body to trace."""
        vocabulary = self._control.vocabulary
        condition = vocabulary.condition(value)
        if isinstance(condition, bool):
            if not condition:
                return False
            raise FrontendError(
                "the condition is always true, and nothing in a kernel can leave the loop: let it "
                "depend on a run-time value that the body changes"
            )
        self._condition = condition
        self._attributes = vocabulary.while_attributes(value)
        self.state = self._carries.entered(self._after.args)
        current().block = self._after
        return True

    def leave(self, state: State) -> None:
        self._carries.leave(state)
