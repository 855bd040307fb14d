"""Reductions, scans and element-wise functions given by a region; histograms.

The region of ``tt.reduce`` and ``tt.scan`` combines two elements into one; with several operands,
two tuples into one tuple. All left elements come first::

    "tt.reduce"(%values, %indices) <{axis = 1 : i32}> ({
    ^bb0(%v0: f32, %i0: i32, %v1: f32, %i1: i32):
      ...
      tt.reduce.return %v, %i : f32, i32
    })

The combination is taken to be associative: the order of combination is unspecified. The
region of ``tt.map_elementwise`` computes `pack` elements of each result at a time and may have
several blocks. All three print in generic form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    Operand,
    bool_prop,
    i32_attr,
    i32_prop,
    tt_traits,
)
from tilewright.dialects.tt.constraints import BOOL_LIKE, INT_TENSOR, TENSOR, VALUE
from tilewright.dialects.tt.layout_rules import check_inferred, derived, rules_of
from tilewright.dialects.tt.traits import (
    SameOperandsAndResultEncoding,
    SameOperandsAndResultShape,
    SameOperandsEncoding,
    SameOperandsShape,
)
from tilewright.dialects.type_utils import element_type_of, i1_like, rank_of, shape_of
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.traversal import walk


class RepeatedRegion(RegionBranch):
    """A region run any number of times on elements; no value is forwarded in or out unchanged."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        region = op.regions[0]
        block = region.first_block
        count = 0 if block is None else len(block.args)
        ends = [op] if point is op else exits(region)
        return [
            edge
            for end in ends
            for edge in (enter(end, region, unknown=count), leave(end, op, None))
        ]


def _elements(values: Sequence[SSAValue]) -> list[Attribute]:
    return [element_type_of(value.type) for value in values]


class _CombineOp(IRDLOperation):
    """Base of reductions and scans."""

    RETURN: ClassVar[str]
    """The name of the region's terminator."""

    srcs = var_operand_def(TENSOR)
    axis = i32_prop()
    combine_op = region_def()

    @property
    def axis_index(self) -> int:
        """The axis as a number."""
        return self.axis.value.data

    @property
    def combiner(self) -> Block:
        """The block that combines two elements."""
        return self.combine_op.block

    @property
    def single_combiner(self) -> Operation | None:
        """The op that combines, if one op does it to the two arguments in order."""
        block = self.combiner
        end = block.last_op
        if len(self.operands) != 1 or end is None or len(end.operands) != 1:
            return None
        op = end.operands[0].owner
        if not isinstance(op, Operation) or len(op.results) != 1:
            return None
        return op if tuple(op.operands) == tuple(block.args) else None

    def check_operands(self) -> None:
        if not self.operands:
            raise VerifyException("must have at least 1 operand")
        if len(self.operands) != len(self.results):
            raise VerifyException("must have the same number of inputs as outputs")
        for operand in self.operands:
            rank = rank_of(operand.type)
            if not 0 <= self.axis_index < rank:
                raise VerifyException(f"axis out of bounds for operand rank {rank}")
        if _elements(self.operands) != _elements(self.results):
            raise VerifyException("operand types and result types must agree")

    def check_region(self) -> None:
        blocks = self.combine_op.blocks
        if len(blocks) > 1:
            raise VerifyException("expects region #0 to have 0 or 1 blocks")
        if not blocks:
            raise VerifyException(
                "region #0 ('combineOp') failed to verify constraint: region with 1 blocks"
            )
        elements = _elements(self.operands)
        arguments = self.combiner.arg_types
        if len(arguments) != 2 * len(elements):
            raise VerifyException(
                f"nested block must take {2 * len(elements)} arguments, but given block with "
                f"{len(arguments)} arguments"
            )
        _check_combined(arguments, elements * 2)
        end = self.combiner.last_op
        if end is None or end.name != self.RETURN:
            return  # a missing or foreign terminator is reported at the terminator
        if len(end.operands) != len(elements):
            raise VerifyException(
                f"expected combine operation to return {len(elements)} values "
                f"but got {len(end.operands)}"
            )
        _check_combined(end.operand_types, elements)


def _check_combined(actual: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    for index, (type, required) in enumerate(zip(actual, expected, strict=True)):
        if type != required:
            raise VerifyException(
                f"type mismatch on combine operation. Expected argument {index} to have type "
                f"'{required}' but got '{type}'"
            )


def reduced_type(source: Attribute, axis: int, hint: Attribute | None = None) -> Attribute:
    """`source` without the dimension `axis`; a scalar if that was the only one."""
    shape = shape_of(source)
    rules = rules_of(source)
    layout = None if rules is None else rules.after_reduce(axis)
    return derived(source, (*shape[:axis], *shape[axis + 1 :]), layout, hint)


@irdl_op_definition
class ReduceOp(_CombineOp):
    """All elements along an axis combined into one."""

    name = "tt.reduce"
    RETURN: ClassVar[str] = "tt.reduce.return"

    result = var_result_def(VALUE)

    traits = tt_traits(Pure(), SameOperandsShape(), SameOperandsEncoding(), RepeatedRegion())

    def __init__(
        self,
        srcs: Sequence[Operand],
        axis: int,
        combine_op: Region,
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        values = [SSAValue.get(src) for src in srcs]
        if result_types is None:
            result_types = [reduced_type(value.type, axis) for value in values]
        super().__init__(
            operands=[values],
            result_types=[result_types],
            properties={"axis": i32_attr(axis)},
            regions=[combine_op],
        )

    @override
    def verify_(self) -> None:
        self.check_operands()
        pairs = zip(self.operand_types, self.result_types, strict=True)
        inferred = [reduced_type(source, self.axis_index, hint) for source, hint in pairs]
        check_inferred(self.result_types, inferred)
        self.check_region()


@irdl_op_definition
class ScanOp(_CombineOp):
    """For each element along an axis, it and all before it (after, if `reverse`) combined."""

    name = "tt.scan"
    RETURN: ClassVar[str] = "tt.scan.return"

    reverse = bool_prop()
    result = var_result_def(TENSOR)

    traits = tt_traits(
        Pure(), SameOperandsAndResultEncoding(), SameOperandsAndResultShape(), RepeatedRegion()
    )

    def __init__(
        self, srcs: Sequence[Operand], axis: int, combine_op: Region, *, reverse: bool = False
    ) -> None:
        values = [SSAValue.get(src) for src in srcs]
        super().__init__(
            operands=[values],
            result_types=[[value.type for value in values]],
            properties={"axis": i32_attr(axis), "reverse": IntegerAttr.from_bool(reverse)},
            regions=[combine_op],
        )

    @override
    def verify_(self) -> None:
        self.check_operands()
        check_inferred(self.result_types, self.operand_types)
        self.check_region()


class _ReturnOp(AsmOp):
    """Base of the terminators of the regions here."""

    result = var_operand_def()

    ASM: ClassVar[str] = "$result attr-dict `:` type($result)"

    def __init__(self, *values: Operand) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class ReduceReturnOp(_ReturnOp):
    """What two elements combine to."""

    name = "tt.reduce.return"
    traits = tt_traits(HasParent(ReduceOp), Pure(), IsTerminator(), ReturnLike())


@irdl_op_definition
class ScanReturnOp(_ReturnOp):
    """What two elements combine to."""

    name = "tt.scan.return"
    traits = tt_traits(HasParent(ScanOp), Pure(), IsTerminator(), ReturnLike())


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """A scalar function applied to `pack` elements at a time."""

    name = "tt.map_elementwise"

    srcs = var_operand_def(TENSOR)
    pack = i32_prop()
    result = var_result_def(TENSOR)
    scalar_op = region_def()

    traits = tt_traits(
        SameOperandsAndResultEncoding(),
        SameOperandsAndResultShape(),
        RecursiveMemoryEffect(),
        RepeatedRegion(),
    )

    def __init__(
        self,
        srcs: Sequence[Operand],
        result_types: Sequence[Attribute],
        scalar_op: Region,
        pack: int = 1,
    ) -> None:
        super().__init__(
            operands=[srcs],
            result_types=[result_types],
            properties={"pack": i32_attr(pack)},
            regions=[scalar_op],
        )

    @override
    def verify_(self) -> None:
        if not self.operands:
            raise VerifyException("MapElementwiseOp must have at least 1 operand")
        pack = self.pack.value.data
        if pack <= 0 or pack & (pack - 1):
            raise VerifyException("Pack must be a power of 2")
        entry = self.scalar_op.first_block
        arguments = [each for each in _elements(self.operands) for _ in range(pack)]
        if entry is None or len(entry.args) != len(arguments):
            raise VerifyException("region has wrong number of arguments")
        if list(entry.arg_types) != arguments:
            raise VerifyException("argument types did not match")
        results = [each for each in _elements(self.results) for _ in range(pack)]
        for op in walk(self):
            if op is not self:
                _check_mapped(op, results)


def _check_mapped(op: Operation, results: Sequence[Attribute]) -> None:
    # A scalar store would be done by every thread that holds the element.
    if any(_writes(trait, op) for trait in op.get_traits_of_type(MemoryEffect)):
        raise VerifyException("Stores are not supported inside map_elementwise")
    if op.name == "tt.map_elementwise.return" and list(op.operand_types) != list(results):
        raise VerifyException("region return does not match map_elementwise result")


def _writes(trait: MemoryEffect, op: Operation) -> bool:
    if isinstance(trait, RecursiveMemoryEffect):
        return False  # the ops inside are looked at by themselves
    effects = trait.get_effects(op) or ()
    return any(effect.kind is MemoryEffectKind.WRITE for effect in effects)


@irdl_op_definition
class MapElementwiseReturnOp(_ReturnOp):
    """The elements computed."""

    name = "tt.map_elementwise.return"
    traits = tt_traits(HasParent(MapElementwiseOp), Pure(), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "attr-dict ($result^ `:` type($result))?"


@irdl_op_definition
class HistogramOp(AsmOp):
    """The frequency of each integer from 0 on among the elements that the mask selects."""

    name = "tt.histogram"

    src = operand_def(INT_TENSOR)
    mask = opt_operand_def(BOOL_LIKE)
    result = result_def(INT_TENSOR)

    traits = tt_traits(Pure())

    ASM: ClassVar[str] = "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "mask": TypeRule("mask type matches src type", lambda types: i1_like(types["src"]))
    }

    def __init__(self, src: Operand, result_type: Attribute, mask: Operand | None = None) -> None:
        super().__init__(operands=[src, mask], result_types=[result_type])
