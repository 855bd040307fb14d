"""``tile.kernel``: code that every block of a grid runs.

    tile.kernel (%bx, %by) in (%gx, 8) threads(128) raster #tile.raster<row, 10> {
      ...
    }

The indices are the coordinates of the block, x first. A function may launch several kernels
sequentially. ``threads`` is the number of threads of a block, along up to three axes; without it
the body is not bound to threads. Tile ops inside mean the same for every number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.attributes import RasterAttr
from tilewright.dialects.tile.base import (
    given,
    integer_attr,
    mark,
    mark_prop,
    opt_integer_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.bodies import (
    BodyOp,
    OnceBranch,
    YieldOp,
    new_body,
    parse_arguments,
    parse_attributes,
    parse_body,
    parse_integers,
    print_arguments,
    print_attributes,
    print_body,
    print_integers,
    verify_body,
)
from tilewright.dialects.tile.mixed import (
    INDEX,
    Mixed,
    MixedOperand,
    integers_attr,
    integers_prop,
    join,
    opt_integers,
    opt_integers_attr,
    opt_integers_prop,
    parse_mixed,
    print_mixed,
    resolve_indices,
    split,
    verify_mixed,
)
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.traversal import enclosing

_AXES = 3
_MAX_THREADS = 1024
"""Threads of a block, on all supported GPUs."""

_SHOWN = ("static_grid", "threads", "cluster", "raster")


@irdl_op_definition
class KernelOp(BodyOp):
    """Runs its body once for every block of a grid of 1 to 3 dimensions."""

    name = "tile.kernel"
    MIXED: ClassVar[tuple[str, ...]] = ("grid",)

    dynamic_grid = var_operand_def(INDEX)
    static_grid = integers_prop()
    threads = opt_integers_prop()
    cluster = opt_integers_prop()
    raster = opt_prop_def(RasterAttr)
    prelude = opt_string_prop()
    """C source that is put before the kernel."""
    min_blocks_per_sm = opt_integer_prop()
    producer_registers = opt_integer_prop()
    consumer_registers = opt_integer_prop()
    keep_registers = mark_prop()
    """Registers are not moved between warp groups."""
    cooperative = mark_prop()
    """All blocks have to run at the same time."""
    body = region_def()

    traits = traits_def(
        RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp), OnceBranch()
    )

    def __init__(
        self,
        grid: Sequence[MixedOperand],
        threads: int | Sequence[int] | None = None,
        body: Region | None = None,
        *,
        cluster: Sequence[int] | None = None,
        raster: RasterAttr | None = None,
        prelude: str | None = None,
        min_blocks_per_sm: int | None = None,
        producer_registers: int | None = None,
        consumer_registers: int | None = None,
        keep_registers: bool = False,
        cooperative: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Without a `body` the kernel gets one with its indices, ended already."""
        static, dynamic = split(grid)
        if isinstance(threads, int):
            threads = (threads,)
        Operation.__init__(
            self,
            operands=dynamic,
            properties=given(
                static_grid=static,
                threads=opt_integers_attr(threads),
                cluster=opt_integers_attr(cluster),
                raster=raster,
                prelude=string(prelude),
                min_blocks_per_sm=integer_attr(min_blocks_per_sm),
                producer_registers=integer_attr(producer_registers),
                consumer_registers=integer_attr(consumer_registers),
                keep_registers=mark(keep_registers),
                cooperative=mark(cooperative),
            ),
            attributes=dict(attributes or {}),
            regions=(new_body(len(grid), body),),
        )

    @property
    def grid(self) -> tuple[Mixed, ...]:
        """The number of blocks along each dimension, x first."""
        return join(self.static_grid, self.dynamic_grid)

    @property
    def thread_extents(self) -> tuple[int, ...] | None:
        """The number of threads along each axis, x first; None without thread binding."""
        return opt_integers(self.threads)

    @property
    def num_threads(self) -> int | None:
        """The number of threads of a block."""
        extents = self.thread_extents
        return None if extents is None else prod(extents)

    @property
    def cluster_extents(self) -> tuple[int, ...] | None:
        return opt_integers(self.cluster)

    def set_threads(self, threads: Sequence[int]) -> None:
        """Change the number of threads of a block."""
        self.threads = integers_attr(threads)

    @override
    def verify_(self) -> None:
        verify_mixed("grid", self.static_grid, self.dynamic_grid)
        grid = self.grid
        if not 1 <= len(grid) <= _AXES:
            raise VerifyException(f"the grid must have 1 to 3 dimensions, got {len(grid)}")
        for extent in grid:
            if isinstance(extent, int) and extent < 0:
                raise VerifyException(f"grid extents must not be negative, got {extent}")
        verify_body(self.body, len(grid), "dimensions")
        self._verify_threads()
        self._verify_cluster(len(grid))
        self._verify_nesting()

    def _verify_threads(self) -> None:
        extents = self.thread_extents
        if extents is None:
            return
        if not 1 <= len(extents) <= _AXES:
            raise VerifyException(f"threads must have 1 to 3 extents, got {len(extents)}")
        if min(extents) < 1:
            raise VerifyException(f"thread extents must be positive, got {min(extents)}")
        if prod(extents) > _MAX_THREADS:
            factors = f"{' * '.join(map(str, extents))} = " if len(extents) > 1 else ""
            raise VerifyException(
                f"a block has at most {_MAX_THREADS} threads, got "
                f"{factors}{prod(extents)}: use fewer threads per block and more blocks"
            )

    def _verify_cluster(self, rank: int) -> None:
        extents = self.cluster_extents
        if extents is None:
            return
        if not 1 <= len(extents) <= _AXES or min(extents) < 1:
            raise VerifyException(
                f"cluster dimensions must be 1 to 3 positive integers, got {list(extents)}"
            )
        for blocks, extent in zip(self.grid, extents, strict=False):
            if isinstance(blocks, int) and blocks % extent:
                raise VerifyException(
                    f"grid extent {blocks} is not a multiple of the cluster extent "
                    f"{extent}: use {-(-blocks // extent) * extent} blocks"
                )
        if any(extent != 1 for extent in extents[rank:]):
            raise VerifyException(f"the cluster {list(extents)} has more dimensions than the grid")

    def _verify_nesting(self) -> None:
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, KernelOp):
                raise VerifyException("kernels cannot be nested")
            parent = parent.parent_op()

    @classmethod
    @override
    def parse(cls, parser: Any) -> KernelOp:
        return _parse(parser)

    @override
    def print(self, printer: Any) -> None:
        _print(printer, self)


def _parse(parser: IRParser) -> KernelOp:
    start = parser.pos
    arguments = parse_arguments(parser)
    parser.parse_keyword("in")
    static, names = parse_mixed(parser, parser.Delimiter.PAREN)
    properties: dict[str, Attribute] = {"static_grid": static}
    for keyword in ("threads", "cluster"):
        if parser.parse_optional_keyword(keyword) is not None:
            properties[keyword] = integers_attr(parse_integers(parser))
    if parser.parse_optional_keyword("raster") is not None:
        properties["raster"] = parser.parse_attribute()
    more, attributes = parse_attributes(parser, KernelOp)
    operands = resolve_indices(parser, names)
    body = parse_body(parser, start, arguments)
    return KernelOp.create(
        operands=operands,
        properties={**properties, **more},
        attributes=attributes,
        regions=[body],
    )


def _print(printer: IRPrinter, op: KernelOp) -> None:
    printer.print_string(" ")
    print_arguments(printer, op.arguments)
    printer.print_string(" in ")
    print_mixed(printer, op.grid, "()")
    print_integers(printer, "threads", op.thread_extents)
    print_integers(printer, "cluster", op.cluster_extents)
    if op.raster is not None:
        printer.print_string(" raster ")
        printer.print_attribute(op.raster)
    print_attributes(printer, op, _SHOWN)
    printer.print_string(" ")
    print_body(printer, op.body)


def kernel_of(op: Operation) -> KernelOp | None:
    """The kernel around `op`."""
    return enclosing(op, KernelOp)
