"""Reducers: fragments that all points of a parallel loop add to.

    %r = tile.reducer.alloc "acc" sum replication(all) : memref<64xf32, #fragment>
    tile.fill %r, %zero : ...                       opens an epoch
    tile.parallel (%i, %j) in (64, 256) { ... }     r[i] = r[i] + x, and nothing else
    tile.reducer.finalize %r : ...                  closes it: the partial results are combined

With replication ``all`` every thread has a partial result of its own; with ``none`` each element
has one owner.
"""

from __future__ import annotations

from typing import ClassVar, cast

from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import (
    AccessedRegion,
    Allocates,
    RegionEffects,
    TileOp,
    region_of,
)
from tilewright.dialects.tile.allocs import verify_buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    keyword_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.movement import verify_extents
from tilewright.dialects.tile.types import BUFFER, BUFFER_OR_REGION, BufferType, space_of
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.assembly import AsmOp

REDUCER_OPS = KeywordSyntax(("sum", "max", "min", "bitand", "bitor", "bitxor"))
REPLICATIONS = KeywordSyntax(("all", "none"))


@irdl_op_definition
class ReducerAllocOp(AsmOp):
    """A fragment to reduce into."""

    name = "tile.reducer.alloc"

    name_hint = opt_string_prop()
    op = keyword_prop(REDUCER_OPS)
    replication = keyword_prop(REPLICATIONS, "none")
    dtype = opt_string_prop()
    result = result_def(BUFFER)

    traits = traits_def(Allocates())
    ASM: ClassVar[str] = (
        "($name_hint^)? $op (`replication` `(` $replication^ `)`)? attr-dict `:` type($result)"
    )

    def __init__(
        self,
        type: BufferType,
        op: str = "sum",
        replication: str | None = None,
        *,
        name: str | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(
            result_types=[type],
            properties=given(
                name_hint=string(name),
                op=string(op),
                replication=string(replication or "none"),
                dtype=string(dtype),
            ),
        )
        self.result.name_hint = name_hint_of(name)

    @property
    def type(self) -> BufferType:
        return cast("BufferType", self.result.type)

    @property
    def space(self) -> Space:
        return Space.FRAGMENT

    @property
    def buffer_name(self) -> str:
        """The user's name of the reducer, or its name in the IR."""
        return self.name_hint.data if self.name_hint else self.result.name_hint or "reducer"

    def asm_result_names(self) -> list[str]:
        name = self.name_hint.data if self.name_hint else ""
        return [name if SSAValue.is_valid_name(name) else ""]

    @override
    def verify_(self) -> None:
        space = space_of(self.result.type)
        if space is not Space.FRAGMENT:
            where = "no tile space" if space is None else f"{space.value} memory"
            raise VerifyException(f"a reducer must be a fragment, but it is in {where}")
        verify_buffer_type(self.type)


@irdl_op_definition
class ReducerFinalizeOp(TileOp):
    """Combines the partial results of a reducer, in place or into another buffer."""

    name = "tile.reducer.finalize"

    reducer = operand_def(BUFFER)
    dst = opt_operand_def(BUFFER_OR_REGION)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$reducer (`->` $dst^)? attr-dict `:` type($reducer) (`->` type($dst)^)?"
    READS: ClassVar[tuple[str, ...]] = ("reducer",)

    def __init__(self, reducer: Operand, dst: Operand | None = None) -> None:
        super().__init__(operands=[reducer, dst])

    @override
    def writes(self) -> list[AccessedRegion]:
        # The reducer itself is closed by this, whatever the destination.
        values = [self.reducer] if self.dst is None else [self.reducer, self.dst]
        return [region_of(value, self.unit()) for value in values]

    @override
    def verify_(self) -> None:
        if not isinstance(self.reducer.owner, ReducerAllocOp):
            raise VerifyException("expects a buffer allocated by tile.reducer.alloc")
        if self.dst is not None:
            verify_extents(self.reducer.type, self.dst.type)
