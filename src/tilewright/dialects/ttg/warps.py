"""Different code for different warps.

``ttg.warp_specialize`` runs its *default* region on the warps at hand, and each *partition* region
on warps of its own, all at the same time::

    %0 = ttg.warp_specialize(%a, %b) attributes {requestedRegisters = array<i32: 232>}
    default {
      ...  ttg.warp_yield %x : f32        sees all values around the op
    }
    partition0(%p: i32, %q: f32) num_warps(4) {
      ...  ttg.warp_return                sees %a and %b as %p and %q, and nothing else
    } : (i32, f32) -> f32

Regions of one op are isolated from outside together or not at all. So the partitions belong to an
op of their own, ``ttg.warp_specialize.partitions``, which has the captures as operands and stands,
alone and never printed, in the second region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, ints_attr, ints_prop
from tilewright.dialects.tt.constraints import I32_ATTR
from tilewright.dialects.ttg.base import ANY, integers, opt_ints_prop, ttg_traits
from tilewright.dialects.ttg.bases import is_power_of_two
from tilewright.dialects.ttg.context import PARTITION_NUM_WARPS, PARTITIONS_OP, num_warps_at
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_WARP_GROUP = 4
"""Warps that share a register budget, and so are assigned together."""


class _PartitionsBranch(RegionBranch):
    """Each partition is entered with the captures; nothing comes back."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if point is not op:
            return ()
        return [enter(op, region, op.operands) for region in op.regions]


class _SpecializeBranch(RegionBranch):
    """The default region and the partitions are entered; the results come from the former."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        default, partitions = op.regions
        if point is op:
            return enter(op, default), enter(op, partitions)
        if point is default:
            return [leave(end, op, _yielded(end, op)) for end in exits(default)]
        return ()


def _yielded(end: Operation, op: Operation) -> Sequence[SSAValue] | None:
    """What `end` makes of the results of `op`. Its verifier reports one that does not fit."""
    fits = [value.type for value in end.operands] == list(op.result_types)
    return end.operands if fits else None


@irdl_op_definition
class WarpSpecializeOp(AsmOp):
    """Runs regions on different warps at the same time, and joins them at the end."""

    name = "ttg.warp_specialize"
    partition_num_warps = ints_prop(name=PARTITION_NUM_WARPS)
    warp_group_start_ids = opt_ints_prop("warpGroupStartIds")
    requested_registers = opt_ints_prop("requestedRegisters")
    actual_registers = opt_ints_prop("actualRegisters")
    default_requested_registers = cast(
        "IntegerAttr | None", opt_prop_def(I32_ATTR, prop_name="defaultRequestedRegisters")
    )
    results_of_default = var_result_def(ANY)
    default_region = region_def()
    partition_op_holder = region_def("single_block")
    traits = ttg_traits(RecursiveMemoryEffect(), _SpecializeBranch())

    _HIDDEN: ClassVar[frozenset[str]] = frozenset((PARTITION_NUM_WARPS,))

    def __init__(
        self,
        captures: Sequence[Operand],
        default_region: Region,
        partitions: Sequence[Region],
        num_warps: Sequence[int],
        result_types: Sequence[Attribute] = (),
        *,
        properties: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        partition_region = Region(Block([WarpSpecializePartitionsOp(captures, partitions)]))
        super().__init__(
            result_types=[result_types],
            properties={**(properties or {}), PARTITION_NUM_WARPS: ints_attr(num_warps)},
            regions=[default_region, partition_region],
        )

    @property
    def partition_op(self) -> WarpSpecializePartitionsOp:
        """The op that owns the partitions."""
        op = self.partition_op_holder.block.first_op
        assert isinstance(op, WarpSpecializePartitionsOp), "checked by verify"
        return op

    @property
    def partitions(self) -> Sequence[Region]:
        return self.partition_op.regions

    @property
    def captures(self) -> Sequence[Operand]:
        """The values that partitions receive."""
        return self.partition_op.operands

    @property
    def num_partition_warps(self) -> tuple[int, ...]:
        """The number of warps of each partition."""
        return integers(self.partition_num_warps)

    @classmethod
    @override
    def parse(cls, parser: IRParser) -> WarpSpecializeOp:
        start = parser.pos
        captures = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        found = parser.parse_optional_attr_dict_with_keyword()
        attributes: dict[str, Attribute] = {} if found is None else dict(found.data)
        parser.parse_keyword("default")
        default_region = parser.parse_region()
        num_warps: list[int] = []
        partitions: list[Region] = []
        while parser.parse_optional_keyword(f"partition{len(partitions)}") is not None:
            arguments = parser.parse_argument_list()
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                num_warps.append(parser.parse_integer())
            partitions.append(parser.parse_isolated_region(arguments or None))
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands(captures, type.inputs.data, start)
        known = cls.get_irdl_definition().properties
        op = cls(
            operands,
            default_region,
            partitions,
            num_warps,
            type.outputs.data,
            properties={name: attributes.pop(name) for name in known if name in attributes},
        )
        op.attributes.update(attributes)
        return op

    @override
    def print(self, printer: IRPrinter) -> None:
        partitions = self.partition_op
        printer.print_string("(")
        printer.print_list(partitions.operands, printer.print_operand)
        printer.print_string(")")
        shown = {k: v for k, v in self.properties.items() if k not in self._HIDDEN}
        printer.print_op_attributes({**shown, **self.attributes}, print_keyword=True)
        printer.print_new_line()
        printer.print_string("default ")
        printer.print_region(self.default_region, print_entry_block_args=False)
        pairs = zip(partitions.regions, self.num_partition_warps, strict=True)
        for index, (region, num_warps) in enumerate(pairs):
            printer.print_new_line()
            printer.print_string(f"partition{index}(")
            printer.print_list(region.blocks[0].args, printer.print_block_argument)
            printer.print_string(f") num_warps({num_warps}) ")
            printer.print_region(region, print_entry_block_args=False)
        printer.print_string(" : ")
        printer.print_function_type(partitions.operand_types, self.result_types)

    @override
    def verify_(self) -> None:
        block = self.partition_op_holder.first_block
        first = None if block is None else block.first_op
        if not isinstance(first, WarpSpecializePartitionsOp):
            raise VerifyException(
                "expected to find only a `ttg.warp_specialize.partitions` op inside its second "
                "region"
            )
        self._verify_partitions(self.num_partition_warps, len(first.regions))
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, WarpSpecializeOp):
                raise VerifyException("cannot be nested inside another `ttg.warp_specialize` op")
            parent = parent.parent_op()
        warps = num_warps_at(self)
        if warps is not None and warps % _WARP_GROUP:
            raise VerifyException(
                "warp-specialized kernels requires num_warps to be a multiple of 4"
            )

    def _verify_partitions(self, num_warps: Sequence[int], count: int) -> None:
        if count != len(num_warps):
            raise VerifyException(
                f"has {count} partitions but `partitionNumWarps` has {len(num_warps)} elements"
            )
        for index, warps in enumerate(num_warps):
            if not is_power_of_two(warps):
                raise VerifyException(
                    f"partition #{index} number of warps ({warps}) must be a power of 2"
                )
        ids = self.warp_group_start_ids
        if ids is not None and len(ids) != len(num_warps):
            raise VerifyException(
                f"has {len(ids)} warp group start IDs but expected {len(num_warps)}"
            )


@irdl_op_definition
class WarpSpecializePartitionsOp(IRDLOperation):
    """Owns the partitions of a ``ttg.warp_specialize``."""

    name = PARTITIONS_OP
    explicit_captures = var_operand_def(ANY)
    partition_regions = var_region_def()
    traits = ttg_traits(
        IsolatedFromAbove(),
        RecursiveMemoryEffect(),
        IsTerminator(),
        HasParent(WarpSpecializeOp),
        _PartitionsBranch(),
    )

    def __init__(self, captures: Sequence[Operand], partitions: Sequence[Region]) -> None:
        super().__init__(operands=[captures], regions=[partitions])

    @override
    def verify_(self) -> None:
        for index, region in enumerate(self.partition_regions):
            if region.first_block is None:
                raise VerifyException(
                    f"region #{index} ('partitionRegions') failed to verify constraint: region "
                    "with at least 1 blocks"
                )
            self._verify_arguments(index, region.first_block)

    def _verify_arguments(self, index: int, block: Block) -> None:
        if len(block.args) != len(self.operands):
            raise VerifyException(
                f"partition region #{index} has {len(block.args)} arguments but expected "
                f"{len(self.operands)}"
            )
        pairs = zip(block.args, self.operands, strict=True)
        for position, (argument, capture) in enumerate(pairs):
            if argument.type != capture.type:
                raise VerifyException(
                    f"partition region #{index} argument #{position} has type '{argument.type}' "
                    f"but corresponding capture has type '{capture.type}'"
                )


@irdl_op_definition
class WarpYieldOp(AsmOp):
    """Ends the default region; its operands are the results of the ``ttg.warp_specialize``."""

    name = "ttg.warp_yield"
    values = var_operand_def(ANY)
    traits = ttg_traits(HasParent(WarpSpecializeOp), Pure(), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "($values^)? attr-dict (`:` type($values)^)?"

    def __init__(self, values: Sequence[Operand] = ()) -> None:
        super().__init__(operands=[values])

    @override
    def verify_(self) -> None:
        parent = self.parent_op()
        assert parent is not None, "checked by the walk"
        if len(self.operands) != len(parent.results):
            raise VerifyException(
                f"has {len(self.operands)} operands but parent op expected {len(parent.results)}"
            )
        for index, (value, result) in enumerate(zip(self.operands, parent.results, strict=True)):
            if value.type != result.type:
                raise VerifyException(
                    f"operand #{index} has type '{value.type}' but parent op expected "
                    f"'{result.type}'"
                )


@irdl_op_definition
class WarpReturnOp(AsmOp):
    """Ends a partition."""

    name = "ttg.warp_return"
    traits = ttg_traits(HasParent(WarpSpecializePartitionsOp), Pure(), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__()
