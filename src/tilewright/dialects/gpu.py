"""The ``gpu`` dialect, as far as tile kernels use it: ids, extents, barriers.

Older Triton prints ``gpu.barrier`` between the uses of a buffer; code at thread level reads
``gpu.thread_id`` and its relatives. All of these are ``index`` values that never change during a
run, so reading them has no effects. Kernels, launches and memory of this dialect are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import unique
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects.members import dialect_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import AttributeSyntax

INDEX = IndexType()


@unique
class Dimension(StrEnum):
    """An axis of the grid or of a block."""

    X = "x"
    Y = "y"
    Z = "z"


@unique
class AddressSpace(StrEnum):
    """Visibility of a memory region."""

    GLOBAL = "global"
    WORKGROUP = "workgroup"
    PRIVATE = "private"
    CONSTANT = "constant"


@unique
class BarrierScope(StrEnum):
    """Threads that a barrier synchronises."""

    WORKGROUP = "workgroup"
    SUBGROUP = "subgroup"
    CLUSTER = "cluster"


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """``#gpu<dim x>``."""

    name = "gpu.dim"


@irdl_attr_definition
class AddressSpaceAttr(EnumAttribute[AddressSpace]):
    """``#gpu.address_space<workgroup>``."""

    name = "gpu.address_space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AddressSpace:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(AddressSpace)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@irdl_attr_definition
class BarrierScopeAttr(EnumAttribute[BarrierScope]):
    """``#gpu.barrier_scope<subgroup>``."""

    name = "gpu.barrier_scope"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BarrierScope:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(BarrierScope)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@dataclass(frozen=True)
class _DimensionKeyword(AttributeSyntax):
    """``x``: a dimension without its ``#gpu<dim >``."""

    def parse(self, parser: IRParser) -> Attribute:
        return DimensionAttr(parser.parse_str_enum(Dimension))

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_string(attribute.data.value)


@dataclass(frozen=True)
class _Bound(AttributeSyntax):
    """``64``: an index."""

    def parse(self, parser: IRParser) -> Attribute:
        return IntegerAttr(parser.parse_integer(), INDEX)

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_string(str(attribute.value.data))


@dataclass(frozen=True)
class _Scope(AttributeSyntax):
    """``<subgroup>``: a scope without its ``#gpu.barrier_scope``."""

    def parse(self, parser: IRParser) -> Attribute:
        return parser.parse_bare(BarrierScopeAttr)

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        attribute.print_parameter(printer)


# Numbers along a dimension.


class DimensionOp(AsmOp):
    """Base of questions about one dimension."""

    dimension = prop_def(DimensionAttr)
    upper_bound = opt_prop_def(IntegerAttr)
    """The result is known to be smaller (a position) or not larger (an extent)."""
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$dimension (`upper_bound` $upper_bound^)? attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "dimension": _DimensionKeyword(),
        "upper_bound": _Bound(),
    }

    def __init__(self, dimension: str) -> None:
        Operation.__init__(
            self,
            result_types=(INDEX,),
            properties={"dimension": DimensionAttr(Dimension(dimension))},
        )

    def asm_result_names(self) -> list[str]:
        return [f"{self.name.partition('.')[2]}_{self.dimension.data.value}"]


@irdl_op_definition
class ThreadIdOp(DimensionOp):
    name = "gpu.thread_id"


@irdl_op_definition
class BlockIdOp(DimensionOp):
    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(DimensionOp):
    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(DimensionOp):
    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(DimensionOp):
    name = "gpu.global_id"


@irdl_op_definition
class ClusterIdOp(DimensionOp):
    name = "gpu.cluster_id"


@irdl_op_definition
class ClusterDimOp(DimensionOp):
    name = "gpu.cluster_dim"


@irdl_op_definition
class ClusterBlockIdOp(DimensionOp):
    name = "gpu.cluster_block_id"


@irdl_op_definition
class ClusterDimBlocksOp(DimensionOp):
    name = "gpu.cluster_dim_blocks"


# Numbers of lanes and warps.


class CountOp(AsmOp):
    """Base of questions about the warp ("subgroup") a thread is in."""

    upper_bound = opt_prop_def(IntegerAttr)
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "(`upper_bound` $upper_bound^)? attr-dict `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"upper_bound": _Bound()}

    def __init__(self) -> None:
        Operation.__init__(self, result_types=(INDEX,))


@irdl_op_definition
class LaneIdOp(CountOp):
    name = "gpu.lane_id"
    ASM: ClassVar[str] = "(`upper_bound` $upper_bound^)? attr-dict"


@irdl_op_definition
class SubgroupIdOp(CountOp):
    name = "gpu.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(CountOp):
    name = "gpu.num_subgroups"


@irdl_op_definition
class SubgroupSizeOp(CountOp):
    name = "gpu.subgroup_size"


# Waiting.

_WORKGROUP = BarrierScopeAttr(BarrierScope.WORKGROUP)


@irdl_op_definition
class BarrierOp(AsmOp):
    """All threads of the scope wait for each other; their memory accesses become visible."""

    name = "gpu.barrier"
    address_spaces = opt_prop_def(ArrayAttr)
    """What memory is made visible; all, if not stated."""
    scope = prop_def(BarrierScopeAttr, default_value=_WORKGROUP)

    ASM: ClassVar[str] = "oilist(`memfence` $address_spaces | `scope` $scope) attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"scope": _Scope()}

    def __init__(self) -> None:
        Operation.__init__(self, properties={"scope": _WORKGROUP})


Gpu = dialect_of("gpu", globals())
