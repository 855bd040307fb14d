"""The conditional expression, ``x if c else y``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import MISMATCH, FrontendError
from tilewright.frontend.merging import agreement, describe, end_block
from tilewright.frontend.values import handles, kind, map_leaves, rebuild
from tilewright.frontend.vocabulary import Vocabulary


class Choice:
    """One conditional expression while its sides are evaluated."""

    __slots__ = ("_blocks", "_condition", "_outer", "_values", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary, condition: bool | SSAValue) -> None:
        self._vocabulary = vocabulary
        self._condition = condition
        self._values: list[Any] = []
        self._blocks: list[Block] = []
        self._outer = current().block

    def side(self, side: bool) -> bool:
        """Whether this side is to be evaluated; what it emits goes into a block of its own."""
        if isinstance(self._condition, bool):
            return self._condition is side
        self._blocks.append(Block())
        current().block = self._blocks[-1]
        return True

    def put(self, value: object) -> None:
        """The side's value."""
        if isinstance(self._condition, bool):
            self._values.append(value)
            return
        # A call that returns nothing may be a side, if the other one is such a call too.
        is_void = value is None
        self._values.append(value if is_void else map_leaves(self._vocabulary.as_value, value))
        current().block = self._outer

    def result(self) -> Any:
        if isinstance(self._condition, bool):
            return self._values[0]
        then, otherwise = self._values
        if then is None and otherwise is None:
            self._join((), ())
            return None
        if then is None or otherwise is None:
            self._vocabulary.as_value(None)  # raises: no value
        if kind(then) != kind(otherwise):
            raise FrontendError(
                "Ternary expression with dynamic condition has inconsistent types "
                f"{describe(then)} and {describe(otherwise)}: {agreement(then, otherwise)}",
                code=MISMATCH,
            )
        return rebuild(then, self._join(handles(then), handles(otherwise)))

    def _join(self, *results: Sequence[SSAValue]) -> Iterator[SSAValue]:
        """The op that evaluates one of the sides; these are the values of each."""
        assert isinstance(self._condition, SSAValue)
        builder = current()
        location = builder.location()
        for block, values in zip(self._blocks, results, strict=True):
            end_block(block, YieldOp(values), location)
        types = [handle.type for handle in results[0]]
        regions = [Region(block) for block in self._blocks]
        op = builder.insert(IfOp(self._condition, types, *regions))
        return iter(op.results)
