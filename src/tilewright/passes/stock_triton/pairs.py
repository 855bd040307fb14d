"""2-CTA MMAs (``cta_group::2``), as assembly.

Stock Triton has 2-CTA MMAs too, but only where the two CTAs are one program and own one tensor
together. In TLX each CTA is a program that owns its half: its rows of A, its columns of B, its rows
of the accumulator. The hardware operation is the same, so the instruction is emitted explicitly::

    rank 0   A  128 x K        B  K x N/2       D  128 x N
    rank 1   A  128 x K        B  K x N/2       D  128 x N
             rows 0-127 | ...  columns 0-N/2|.. one instruction: 256 x N x 16

The first CTA of the pair issues it for both. Barriers are signalled in both CTAs. The accumulators
are at the same columns of tensor memory in both, because both allocate alike.

An operand is named by a 64-bit *matrix descriptor* (PTX ISA, "tcgen05 shared memory descriptor"):
the address, the strides of its 8-row groups, and the swizzle. Along K the address moves on by 16
elements: 32 bytes in a row, or 16 rows where K runs down. Supported are 16-bit elements in tiles
that are swizzled over 128 bytes, the form in which TMA stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import BFloat16Type, BoolAttr, Float16Type, Float32Type, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import TCGen5CommitOp, TCGen5MMAOp
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.linear import dim
from tilewright.passes.stock_triton.assembly import address_assembly, as_integer, braced
from tilewright.passes.stock_triton.clusters import elected
from tilewright.passes.ttg.linear import linear_of

NO_PAIR = "TW6042"
TWO_CTAS = "ttng.two-ctas"
"""Marks a module whose tensor memory Triton allocates for pairs."""

_ROWS = 128
_DEPTH = 16
_SWIZZLE = 128
_GROUP_ROWS = 8
_ELEMENT_BYTES = 2

_EVEN_RANK = "mov.u32 rank, %cluster_ctarank; and.b32 odd, rank, 1; setp.eq.u32 p, odd, 0;"
_KINDS: Mapping[type[Attribute], int] = {Float16Type: 0, BFloat16Type: 1}


@dataclass(frozen=True)
class Operand:
    """How tensor cores find an operand: its descriptor, and where it is after each step of K."""

    high_bits: int
    """The upper half of the descriptor."""
    low_bits: int
    """What the lower half has beside the address."""
    steps: tuple[int, ...]
    """Distances in units of 16 bytes."""
    is_transposed: bool


def pair_up(module: ModuleOp, rewriter: Rewriter, engine: DiagnosticEngine) -> bool:
    """Replace 2-CTA MMAs and commits; False if one is not supported."""
    mmas = [op for op in walk(module) if isinstance(op, TCGen5MMAOp)]
    if not any(op.two_ctas is not None for op in mmas):
        return True
    module.attributes[TWO_CTAS] = BoolAttr.from_bool(True)
    for op in list(walk(module)):
        if isinstance(op, TCGen5MMAOp) and not _mma(op, rewriter, engine):
            return False
        if isinstance(op, TCGen5CommitOp):
            _commit(op, op.barrier, op.pred, rewriter)
            rewriter.erase(op)
    return True


def _mma(op: TCGen5MMAOp, rewriter: Rewriter, engine: DiagnosticEngine) -> bool:
    a, b = matrix_operand(op.a.type, 1), matrix_operand(op.b.type, 0)
    descriptor = _descriptor_of(op, a, b)
    if a is None or b is None or descriptor is None:
        engine.error(
            op,
            "2-CTA MMA not supported for these operands: 16-bit tiles in shared memory, swizzled "
            f"over {_SWIZZLE} B, {_ROWS} rows each, and an f32 accumulator are required",
            NO_PAIR,
        )
        return False
    adds, runs = as_integer(op.use_d), as_integer(op.pred)
    rewriter.insert_before(op, [adds, runs])
    arguments: list[SSAValue] = [op.a, op.b, op.d, adds.result, runs.result]
    lines = [
        ".reg .pred p, q, e; .reg .b32 rank, odd, al, bl, x, y; .reg .b64 da, db;",
        _EVEN_RANK,
        "setp.ne.and.u32 p, $4, 0, p; setp.ne.u32 q, $3, 0;",
        *elected(op, arguments, rewriter),
        # What the other CTA has signalled by an arrival is visible to this instruction, too.
        "fence.acq_rel.cluster; tcgen05.fence::after_thread_sync;",
        f"bfe.u32 al, $0, 4, 14; or.b32 al, al, {a.low_bits};",
        f"bfe.u32 bl, $1, 4, 14; or.b32 bl, bl, {b.low_bits};",
    ]
    for step, (by_a, by_b) in enumerate(zip(a.steps, b.steps, strict=True)):
        lines += [
            f"add.u32 x, al, {by_a}; mov.b64 da, {{x, {a.high_bits}}};",
            f"add.u32 y, bl, {by_b}; mov.b64 db, {{y, {b.high_bits}}};",
            f"@p tcgen05.mma.cta_group::2.kind::f16 [$2], da, db, {descriptor}, q;",
        ]
        if step == 0:
            lines.append("setp.eq.u32 q, 0, 0;")
    rewriter.insert_before(op, address_assembly(braced(*lines), arguments))
    for barrier, pred in zip(op.barriers, op.barrier_preds, strict=True):
        _commit(op, barrier, pred, rewriter)
    if op.token is not None and op.token.first_use is not None:
        engine.error(op, "the token of a 2-CTA MMA is used: wait on an mbarrier instead", NO_PAIR)
        return False
    rewriter.erase(op)
    return True


def _commit(op: Operation, barrier: SSAValue, pred: SSAValue | None, rewriter: Rewriter) -> None:
    """Let a barrier in both CTAs track what the first of them has issued."""
    arguments = [barrier]
    guard = ""
    if pred is not None:
        flag = as_integer(pred)
        rewriter.insert_before(op, flag)
        arguments.append(flag.result)
        guard = "setp.ne.and.u32 p, $1, 0, p;"
    text = braced(
        ".reg .pred p, e; .reg .b32 rank, odd, both; .reg .b16 mask;",
        _EVEN_RANK,
        guard,
        *elected(op, arguments, rewriter),
        "shl.b32 both, 3, rank; cvt.u16.u32 mask, both;",
        "@p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
        ".multicast::cluster.b64 [$0], mask;",
    )
    rewriter.insert_before(op, address_assembly(text, arguments))


# -- descriptors ---------------------------------------------------------------------------------


def matrix_operand(type: Attribute, depth_dim: int) -> Operand | None:
    """The descriptor of a buffer of `type` whose dimension `depth_dim` is K."""
    if not isinstance(type, MemDescType) or type.rank != 2:
        return None
    layout = unwrapped(type.encoding)
    if (
        not isinstance(layout, NvmmaSharedEncoding)
        or layout.swizzling_byte_width != _SWIZZLE
        or layout.element_bit_width != 8 * _ELEMENT_BYTES
    ):
        return None
    offsets = linear_of(layout, type.shape)
    if offsets is None:
        return None
    offsets = offsets.invert()

    def units(**coordinates: int) -> int:
        """The distance of an element from the first one, in units of 16 bytes."""
        at = {dim(0): 0, dim(1): 0} | coordinates
        return offsets.apply(at)["offset"] * _ELEMENT_BYTES // 16

    # K is the fast dimension, or runs down the rows.
    is_transposed = layout.order[0] != depth_dim
    depth, across = dim(depth_dim), dim(1 - depth_dim)
    steps = tuple(units(**{depth: k}) for k in range(0, type.shape[depth_dim], _DEPTH))
    row = _SWIZZLE // _ELEMENT_BYTES
    leading = 0
    if is_transposed and type.shape[1 - depth_dim] > row:
        leading = units(**{across: row})
    stride = _GROUP_ROWS * _SWIZZLE // 16
    swizzle_code, version = 2 << 29, 1 << 14
    return Operand(stride | version | swizzle_code, leading << 16, steps, is_transposed)


def _descriptor_of(op: TCGen5MMAOp, a: Operand | None, b: Operand | None) -> int | None:
    """The instruction descriptor of an MMA; None if the shapes or types are not supported."""
    left, right, out = op.a.type, op.b.type, op.d.type
    if a is None or b is None or not isinstance(left, MemDescType):
        return None
    assert isinstance(right, MemDescType)
    assert isinstance(out, MemDescType)
    kind = _KINDS.get(type(left.element_type))
    if kind is None or left.element_type != right.element_type:
        return None
    rows, columns = out.shape
    if rows != _ROWS or left.shape[0] != _ROWS or 2 * right.shape[1] != columns:
        return None
    if not isinstance(out.element_type, Float32Type):
        return None
    return instruction_descriptor(kind, a, b, 2 * rows, columns)


def instruction_descriptor(kind: int, a: Operand, b: Operand, rows: int, columns: int) -> int:
    """Types, orientation and shape of an MMA into f32 (PTX ISA, "tcgen05 kind::f16")."""
    descriptor = 1 << 4 | kind << 7 | kind << 10
    descriptor |= int(a.is_transposed) << 15 | int(b.is_transposed) << 16
    return descriptor | columns // 8 << 17 | rows // 16 << 24
