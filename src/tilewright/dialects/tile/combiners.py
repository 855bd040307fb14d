"""Reductions and scans whose combination is a region, over one operand or several.

    tile.reduce_by %values, %indices -> %best, %at dim 1 : T, U -> V, W {
    ^bb0(%v0: f32, %i0: i32, %v1: f32, %i1: i32):
      ...
      tile.return %v, %i : f32, i32
    }
    tile.scan_by %x -> %y dim 0 reverse : T -> T { ... }

The region combines two tuples of elements into one, all left elements first: the left tuple is of
elements before those of the right one (after them in a ``reverse`` scan). It computes and accesses
no memory; scalars from outside may be used. The combination is taken to be associative, and its
order is not part of the meaning (docs/design/passes.md has it for each target). All sources are
read before a destination is written, so a scan may be in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, Operation, OpTrait, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    lazy_traits_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, RegionEffects, TileOp, region_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_prop,
    mark,
    mark_prop,
)
from tilewright.dialects.tile.bodies import LoopBranch
from tilewright.dialects.tile.movement import verify_numeric
from tilewright.dialects.tile.types import (
    BUFFER_OR_REGION,
    have_equal_extents,
    shape_text,
    space_of,
)
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.effects import is_pure
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import UNIT, AttributeSyntax
from tilewright.ir.traversal import walk


def _return_traits() -> tuple[OpTrait, ...]:
    return HasParent(ReduceByOp, ScanByOp), Pure(), IsTerminator(), ReturnLike()


@irdl_op_definition
class ReturnOp(AsmOp):
    """What two tuples of elements combine to."""

    name = "tile.return"

    values = var_operand_def()

    traits = lazy_traits_def(_return_traits)
    ASM: ClassVar[str] = "$values attr-dict `:` type($values)"

    def __init__(self, *values: Operand) -> None:
        super().__init__(operands=[values])


class CombinerOp(TileOp):
    """Base of reductions and scans by a region."""

    srcs = var_operand_def(BUFFER_OR_REGION)
    dsts = var_operand_def(BUFFER_OR_REGION)
    dim = integer_prop()
    combiner = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def axis(self) -> int:
        return self.dim.value.data

    @property
    def block(self) -> Block:
        """The block that combines two tuples."""
        return self.combiner.block

    @override
    def reads(self) -> list[AccessedRegion]:
        return [region_of(value, self.unit()) for value in self.srcs]

    @override
    def writes(self) -> list[AccessedRegion]:
        return [region_of(value, self.unit()) for value in self.dsts]

    @override
    def has_writes(self) -> bool:
        return bool(self.dsts)

    @override
    def verify_(self) -> None:
        self._verify_operands()
        self._verify_dim()
        for source, destination in zip(self.srcs, self.dsts, strict=True):
            self._verify_pair(source, destination)
        self._verify_combiner()

    def _verify_operands(self) -> None:
        if not self.srcs:
            raise VerifyException("needs at least one source")
        if len(self.srcs) != len(self.dsts):
            raise VerifyException(
                f"has {len(self.srcs)} sources but {len(self.dsts)} destinations: each source "
                "needs a destination"
            )
        if len(set(self.dsts)) != len(self.dsts):
            raise VerifyException("a buffer is given as destination twice")
        for what, values in (("source", self.srcs), ("destination", self.dsts)):
            for position, value in enumerate(values):
                verify_numeric(f"{what} {position}", value.type)
                space = space_of(value.type)
                if space is not Space.FRAGMENT and not (space is not None and space.is_shared):
                    where = "no tile space" if space is None else f"{space.value} memory"
                    raise VerifyException(
                        f"{what} {position} must be a fragment or in shared memory, but it is in "
                        f"{where}"
                    )
                if DYNAMIC_INDEX in shape_of(value.type):
                    raise VerifyException(
                        f"{what} {position} has an extent that is a run-time value"
                    )

    def _verify_dim(self) -> None:
        shape = shape_of(self.srcs[0].type)
        if not 0 <= self.axis < len(shape):
            raise VerifyException(
                f"dim {self.axis} is out of bounds for a source with {len(shape)} dimensions"
            )
        for position, source in enumerate(self.srcs):
            if shape_of(source.type) != shape:
                raise VerifyException(
                    f"sources must have the same shape: source 0 has {shape_text(shape)}, source "
                    f"{position} {shape_text(shape_of(source.type))}"
                )

    @abstractmethod
    def _verify_pair(self, source: SSAValue, destination: SSAValue) -> None:
        """A destination has the shape that its source leads to."""

    def _verify_combiner(self) -> None:
        block = self.combiner.first_block
        if block is None or block is not self.combiner.last_block:
            raise VerifyException("expects a combiner of one block")
        elements = [element_type_of(source.type) for source in self.srcs]
        if list(block.arg_types) != elements * 2:
            raise VerifyException(
                f"the combiner must take ({_listed(elements * 2)}): the left elements, then the "
                f"right ones; it takes ({_listed(block.arg_types)})"
            )
        end = block.last_op
        if not isinstance(end, ReturnOp):
            raise VerifyException("the combiner must end with tile.return")
        returned = [value.type for value in end.values]
        if returned != elements:
            raise VerifyException(
                f"the combiner must return ({_listed(elements)}), but it returns "
                f"({_listed(returned)})"
            )
        for op in walk(self):
            if op is not self and not is_pure(op):
                raise VerifyException(
                    f"a combiner only computes: '{op.name}' accesses memory or has other effects"
                )


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


@irdl_op_definition
class ReduceByOp(CombinerOp):
    """All elements along one dimension combined into one.

    A destination has the shape of the sources without that dimension, or with one element along it.
    """

    name = "tile.reduce_by"

    traits = traits_def(RegionEffects(), LoopBranch())
    ASM: ClassVar[str] = (
        "$srcs `->` $dsts `dim` $dim attr-dict `:` type($srcs) `->` type($dsts) $combiner"
    )

    def __init__(
        self, srcs: Sequence[Operand], dsts: Sequence[Operand], dim: int, combiner: Region
    ) -> None:
        super().__init__(
            operands=[srcs, dsts],
            properties=given(dim=integer_attr(dim)),
            regions=[combiner],
        )

    @override
    def _verify_pair(self, source: SSAValue, destination: SSAValue) -> None:
        shape, found = shape_of(source.type), shape_of(destination.type)
        remaining = (*shape[: self.axis], *shape[self.axis + 1 :])
        ones = (*shape[: self.axis], 1, *shape[self.axis + 1 :])
        if not have_equal_extents(remaining, found):
            raise VerifyException(
                f"reducing dim {self.axis} of {shape_text(shape)} gives "
                f"{shape_text(remaining or (1,))} or {shape_text(ones)}, but the destination has "
                f"{shape_text(found)}"
            )
        _verify_elements("reduction", source, destination)


@irdl_op_definition
class ScanByOp(CombinerOp):
    """For each element along one dimension, the combination of it and all before it.

    ``reverse`` begins at the end of the dimension: it and all after it.
    """

    name = "tile.scan_by"

    reverse = mark_prop()

    traits = traits_def(RegionEffects(), LoopBranch())
    ASM: ClassVar[str] = (
        "$srcs `->` $dsts `dim` $dim (`reverse` $reverse^)? attr-dict "
        "`:` type($srcs) `->` type($dsts) $combiner"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"reverse": UNIT}

    def __init__(
        self,
        srcs: Sequence[Operand],
        dsts: Sequence[Operand],
        dim: int,
        combiner: Region,
        *,
        reverse: bool = False,
    ) -> None:
        super().__init__(
            operands=[srcs, dsts],
            properties=given(dim=integer_attr(dim), reverse=mark(reverse)),
            regions=[combiner],
        )

    @override
    def _verify_pair(self, source: SSAValue, destination: SSAValue) -> None:
        shape, found = shape_of(source.type), shape_of(destination.type)
        if shape != found:
            raise VerifyException(
                f"a scan retains the shape: the source has {shape_text(shape)}, the destination "
                f"{shape_text(found)}"
            )
        _verify_elements("scan", source, destination)


def _verify_elements(what: str, source: SSAValue, destination: SSAValue) -> None:
    before, after = element_type_of(source.type), element_type_of(destination.type)
    if before != after:
        raise VerifyException(f"a {what} cannot convert '{before}' to '{after}'")


def single_combiner(block: Block) -> Operation | None:
    """The op that combines, if one op does it to the two arguments of `block` in order."""
    end = block.last_op
    if len(block.args) != 2 or end is None or len(end.operands) != 1:
        return None
    op = end.operands[0].owner
    if not isinstance(op, Operation) or len(op.results) != 1:
        return None
    return op if tuple(op.operands) == tuple(block.args) else None
