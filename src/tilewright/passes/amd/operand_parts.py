"""Which operands of GEMMs can be filled in parts along K, and in how many.

    copy %KV[...] -> %KVs                  %KVs: 64 x 512 halves, 65536 B
    gemm %Qs, %KVs {transpose_b} -> %S     K = 512: 4 parts of 64 x 128
    gemm %P, %KVs -> %O                    K = 64:  2 parts of 32 x 512

A buffer qualifies if one copy fills it from a tensor and everything else that reads it is a GEMM,
whose K consists of several parts. Each GEMM then reads the tensor itself, part by part, whichever
dimension of the buffer K is: the copy moves to the GEMM, and there is one for each of them. That
reads later, and more often, than the kernel does, so no op of the kernel may write the tensor, or
one that may share bytes with it.

Lanes read 16 bytes along K, and K is divided among up to four groups of them: no part has less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.amd_gemms import READ_BITS
from tilewright.analysis.layout_inference.amd_storage import COLUMNS, axis_of_k, is_free
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    GemmOp,
    KernelOp,
    PipelineOp,
    RegionOp,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import base_of, may_share_bytes
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.tile_regions import TileRegion, part_of

_GROUPS = 4
"""The most groups of lanes that K is divided among (`layouts.hardware.matrix_core`)."""


@dataclass(frozen=True)
class Operand:
    """A shared buffer that is filled in parts."""

    alloc: AllocOp
    copy: CopyOp
    source: TileRegion
    """Of the tensor: as large as the buffer, beside dimensions of one element."""
    gemms: tuple[GemmOp, ...]

    @property
    def is_read_again(self) -> bool:
        """Whether elements are read from the tensor more often than in the kernel as written."""
        first, *others = self.gemms
        return bool(others) or first.parent is not self.copy.parent


@dataclass(frozen=True)
class Read:
    """What a GEMM reads of such a buffer."""

    operand: Operand
    offsets: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        alloc = self.operand.alloc
        return bytes_of(alloc) // prod(shape_of(alloc.result.type)) * prod(self.extents)


@dataclass(frozen=True)
class SplitGemm:
    """A GEMM with an operand that is filled in parts."""

    op: GemmOp
    parts: int
    reads: tuple[Read | None, Read | None]
    """A and B; None for one that stays as it is."""

    @property
    def operands(self) -> list[Operand]:
        """The buffers that are filled in parts."""
        return list(dict.fromkeys(each.operand for each in self.reads if each is not None))

    def __str__(self) -> str:
        names = [f"'{each.alloc.buffer_name}'" for each in self.operands]
        return f"{' and '.join(names)} filled in {self.parts} parts along K"


@dataclass(frozen=True)
class OperandPlan:
    """The operands of a kernel that are filled in parts."""

    operands: tuple[Operand, ...]
    gemms: tuple[SplitGemm, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.gemms)) or "no operand filled in parts"


def plan_equal_parts(kernel: KernelOp, count: int) -> OperandPlan:
    """So many parts of each operand whose GEMMs all read it along one dimension, from LDS."""
    operands: dict[SSAValue, Operand] = {
        each.alloc.result: each
        for each in _operands(kernel)
        if all(count in _divisors(op) and not _has_fragment(op) for op in each.gemms)
        and len({axis for op in each.gemms for axis in _axes_of(each.alloc.result, op)}) == 1
    }

    def same(_op: GemmOp, _size_bytes: int) -> int:
        return count

    return _planned(kernel, operands, same)


def plan_small_parts(kernel: KernelOp, max_bytes: int) -> OperandPlan:
    """Parts of at most so many bytes, where K can be divided so far, of operands that take more."""
    operands: dict[SSAValue, Operand] = {
        each.alloc.result: each
        for each in _operands(kernel)
        if bytes_of(each.alloc) > max_bytes and all(_divisors(op) != [1] for op in each.gemms)
    }

    def count(op: GemmOp, size_bytes: int) -> int:
        counts = _divisors(op)
        return next((each for each in counts if each * max_bytes >= size_bytes), counts[-1])

    return _planned(kernel, operands, count)


def _planned(
    kernel: KernelOp,
    operands: Mapping[SSAValue, Operand],
    count: Callable[[GemmOp, int], int],
) -> OperandPlan:
    """`count` is the number of parts of a GEMM, given the bytes of its largest operand."""
    split: list[SplitGemm] = []
    for gemm in (op for op in walk(kernel) if isinstance(op, GemmOp)):
        a, b = (_read(value, operands) for value in (gemm.a, gemm.b))
        sizes = [each.size_bytes for each in (a, b) if each is not None]
        if sizes:
            split.append(SplitGemm(gemm, count(gemm, max(sizes)), (a, b)))
    return OperandPlan(tuple(operands.values()), tuple(split))


def k_axis(op: GemmOp, index: int) -> int:
    """The dimension of an operand, 0 for A and 1 for B, that is K."""
    return 0 if axis_of_k(op, is_a=index == 0) == COLUMNS else 1


def matrix_axes(part: TileRegion) -> list[int]:
    """The dimensions of an operand that are its rows and columns: those of one element are left
    out, from the first one on."""
    axes = list(range(len(part.extents)))
    while len(axes) > 2 and part.extents[axes[0]] == 1:
        del axes[0]
    return axes if len(axes) == 2 else part.axes


def innermost_pipeline(op: Operation) -> PipelineOp | None:
    """The pipelined loop that an op is in."""
    return enclosing(op, PipelineOp)


def _read(value: SSAValue, operands: Mapping[SSAValue, Operand]) -> Read | None:
    if base_of(value) not in operands:
        return None
    part = part_of(value)
    operand = operands[part.buffer]
    return Read(operand, _constants(part.offsets), _constants(part.extents))


def _constants(values: Sequence[Mixed]) -> tuple[int, ...]:
    return tuple(each for each in values if isinstance(each, int))


def _divisors(op: GemmOp) -> list[int]:
    """The numbers of equal parts that the K of a GEMM can have."""
    if any(len(matrix_axes(part_of(each))) != 2 for each in (op.a, op.b)):
        return [1]
    bits = min(bit_width(element_type_of(each.type)) for each in (op.a, op.b))
    *_, depth = op.mnk
    unit = READ_BITS * _GROUPS // bits
    if depth % unit:
        return [1]
    units = depth // unit
    return [each for each in range(1, units + 1) if units % each == 0]


def _axes_of(buffer: SSAValue, op: GemmOp) -> list[int]:
    """The dimensions of a buffer that are K for a GEMM."""
    return [k_axis(op, n) for n, value in enumerate((op.a, op.b)) if base_of(value) is buffer]


def _has_fragment(op: GemmOp) -> bool:
    return any(space_of(each.type) is Space.FRAGMENT for each in (op.a, op.b))


def _operands(kernel: KernelOp) -> list[Operand]:
    written = _written(kernel)
    found = [
        _operand(op, written)
        for op in walk(kernel)
        if isinstance(op, AllocOp) and op.space.is_shared
    ]
    return [each for each in found if each is not None]


def _operand(op: AllocOp, written: Sequence[SSAValue]) -> Operand | None:
    """How a buffer is filled, if by one copy, and GEMMs alone read it."""
    if op.alias is not None or not is_free(op.result) or len(shape_of(op.result.type)) != 2:
        return None
    users = list(_users(op.result))
    copies = [each for each in users if isinstance(each, CopyOp)]
    gemms = [
        each for each in users if isinstance(each, GemmOp) and base_of(each.c) is not op.result
    ]
    if not gemms or len(copies) != 1 or len(copies) + len(gemms) != len(users):
        return None
    (copy,) = copies
    if copy.dst is not op.result or not _is_plain(copy):
        return None
    if not all(_comes_before(copy, gemm) for gemm in gemms):
        return None
    if any(_has_user_schedule(each) for each in (copy, *gemms)):
        return None
    source = part_of(copy.src)
    if any(may_share_bytes(base_of(source.buffer), each) for each in written):
        return None
    if tuple(source.extents[axis] for axis in source.axes) != shape_of(op.result.type):
        return None
    return Operand(op, copy, source, tuple(dict.fromkeys(gemms)))


def _users(buffer: SSAValue) -> Iterator[Operation]:
    """The ops that access a buffer; also constant parts of it, with two dimensions."""
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, RegionOp) and len(_constants((*op.offsets, *op.extents))) == 4:
            yield from (each.operation for each in op.result.uses)
        else:
            yield op


def _written(kernel: KernelOp) -> list[SSAValue]:
    """What the kernel writes in global memory."""
    found = dict.fromkeys(region.base for region in writes(kernel))
    return [each for each in found if space_of(each.type) in (Space.GLOBAL, None)]


def _is_plain(op: CopyOp) -> bool:
    """Whether a copy fills a buffer from a tensor, as the compiler likes."""
    return (
        space_of(op.src.type) is Space.GLOBAL
        and op.coalesced_width is None
        and op.loop_layout is None
    )


def _comes_before(op: Operation, user: Operation) -> bool:
    """Whether an op runs before another one, each time that runs."""
    outer: Operation | None = user
    while outer is not None and outer.parent is not op.parent:
        outer = outer.parent_op()
    return outer is not None and op.is_before_in_block(outer)


def _has_user_schedule(op: Operation) -> bool:
    """Whether an op belongs to a loop with a user-defined schedule of its statements."""
    outer: Operation | None = op
    while outer is not None:
        outer = innermost_pipeline(outer)
        if outer is not None and outer.manual_stage is not None:
            return True
    return False
