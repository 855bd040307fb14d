"""The body of a function of the IR: its blocks, and the values it returns.

A ``return`` ends the block it is in. Only when the whole function has been traced is it known
what it returns: all returned values must be of one kind, and a constant that is merged with a
run-time value becomes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FunctionType, LocationAttr
from xdsl.ir import Attribute, Block

from tilewright.dialects.tt import FuncOp, ReturnOp
from tilewright.frontend.builder import Builder
from tilewright.frontend.errors import BAD_RETURN, FrontendError, Note
from tilewright.frontend.merging import agreement, describe, end_block
from tilewright.frontend.values import handles, kind, map_leaves
from tilewright.frontend.vocabulary import Vocabulary
from tilewright.ir.diagnostics import SourcePosition


@dataclass
class _Return:
    block: Block
    value: Any
    location: LocationAttr
    position: SourcePosition | None


class Body:
    """The blocks of `function` while they are filled."""

    def __init__(self, function: FuncOp, vocabulary: Vocabulary) -> None:
        self.function = function
        self._vocabulary = vocabulary
        self._returns: list[_Return] = []

    def new_block(self, types: Sequence[Attribute] = ()) -> Block:
        block = Block(arg_types=types)
        self.function.body.add_block(block)
        return block

    def add_return(
        self,
        block: Block,
        value: object,
        location: LocationAttr,
        position: SourcePosition | None = None,
    ) -> None:
        self._returns.append(_Return(block, value, location, position))

    def finish(self, builder: Builder) -> Any:
        """End every way with its ``tt.return``; an example of what the function returns."""
        self._agree(builder)
        self._check_kernel()
        for each in self._returns:
            end_block(each.block, ReturnOp(*handles(each.value)), each.location)
        result = self._returns[0].value if self._returns else None
        inputs = self.function.function_type.inputs.data
        outputs = [handle.type for handle in handles(result)]
        self.function.function_type = FunctionType.from_lists(inputs, outputs)
        return result

    def _check_kernel(self) -> None:
        """A public function is a kernel: it has no caller that could use a result."""
        for each in self._returns if self.function.is_public else ():
            if handles(each.value):
                name = self.function.sym_name.data
                raise FrontendError(
                    f"{name} returns {describe(each.value)}, but a kernel returns nothing: store "
                    "the result to memory",
                    each.position,
                    code=BAD_RETURN,
                )

    def _at_run_time(self, value: object) -> object:
        return None if value is None else self._vocabulary.as_value(value)

    def _agree(self, builder: Builder) -> None:
        """Materialise constants as run-time values where returned values differ otherwise."""
        kinds = [kind(each.value) for each in self._returns]
        if all(each == kinds[0] for each in kinds):
            return
        for each in self._returns:
            with builder.at(each.block), builder.located(each.location):
                each.value = map_leaves(self._at_run_time, each.value)
        first = self._returns[0]
        for each in self._returns[1:]:
            if kind(each.value) != kind(first.value):
                raise _mismatch(first, each)


def _mismatch(first: _Return, second: _Return) -> FrontendError:
    notes: list[Note] = [(first.position, f"this returns {describe(first.value)}")]
    return FrontendError(
        f"Return type mismatch: {describe(first.value)} and {describe(second.value)}: every return "
        f"of a function must give the same type, {agreement(first.value, second.value)}",
        second.position,
        code=BAD_RETURN,
        notes=notes,
    )
