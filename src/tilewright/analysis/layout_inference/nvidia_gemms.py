"""NVIDIA: the MMA instruction of a GEMM, how warps share its result, and the layouts of operands.

Rules: docs/design/layouts.md#gemm-instructions. A condition that a faster instruction fails is
text, so that the remark about the slower one can give the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.copies.copy_instructions import is_seen_otherwise
from tilewright.analysis.layout_inference import feasible, swizzles
from tilewright.analysis.layout_inference.feasible import M_UNIT, N_UNIT
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.scopes import GROUP, Threads
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AllocOp, GemmOp, RegionOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.layouts.hardware.wgmma import widest_wgmma

_WGMMA_ROWS = 64
_TF32_BITS, _FLOAT32_BITS = 10, 23
"""Explicit mantissa bits."""


def choose(op: GemmOp, threads: Threads, arch: int, *, wgmma: bool = True) -> GemmPlan:
    """The instruction and the partition for a GEMM; raises `Infeasible`."""
    a = element_type_of(op.a.type)
    m, n, _ = op.mnk
    reason = _why_not_wgmma(op, threads, arch, wgmma)
    if reason is None:
        warps = partition(m, n, threads.warps, op.policy.data, by_groups=True)
        if warps is None:
            reason = f"{m} x {n} cannot be split over {threads.warps // 4} warp groups"
        else:
            columns = widest_wgmma(n // warps[1], isinstance(a, IntegerType))
            if columns is None:
                reason = f"{n // warps[1]} columns per warp group are not a multiple of 8"
            else:
                found = GemmPlan("wgmma", warps, (_WGMMA_ROWS, columns, 256 // bit_width(a)))
                reason = _why_not_apart(op, found)
                if reason is None:
                    return found
    return _mma(op, threads, arch, reason)


@dataclass(frozen=True)
class Rounding:
    """The precision that a GEMM loses on tensor cores, and how to retain it."""

    message: str
    help: str


def rounding(op: GemmOp) -> Rounding | None:
    """Which operand bits are ignored; None if none are.

    Tensor cores take float32 as tf32 (PTX ISA, "Alternate floating-point data formats"): the
    exponent of float32 with the mantissa of float16. The 13 low mantissa bits are ignored.
    """
    if not isinstance(element_type_of(op.a.type), Float32Type) or op.precision is not None:
        return None  # a precision that the kernel requests is no surprise
    m, n, k = op.mnk
    return Rounding(
        f"float32 operands are rounded to tf32: tensor cores read {_TF32_BITS} of {_FLOAT32_BITS} "
        f"mantissa bits, a relative error of up to 1/{2**_TF32_BITS} per operand; the accumulator "
        "is float32",
        f"for full precision (many times slower) use loops instead of T.gemm: for i, j in "
        f"T.Parallel({m}, {n}): for k in T.serial({k}): C[i, j] += A[i, k] * B[k, j]",
    )


def apart(op: GemmOp, plan: GemmPlan, *, is_a: bool) -> int | None:
    """How many elements of a row in shared memory an instruction takes, if not the whole row.

    The operand of an instruction begins where the pattern of a swizzle begins, so a row is divided
    into whole patterns. Rows along K, `wgmma`'s own order, need no division.
    """
    m, n, _ = op.mnk
    rows, columns, _ = plan.shape
    if is_a:
        return rows if op.transpose_a is not None and rows < m else None
    return columns if op.transpose_b is None and columns < n else None


def _why_not_apart(op: GemmOp, plan: GemmPlan) -> str | None:
    for operand, is_a in ((op.a, True), (op.b, False)):
        space = space_of(operand.type)
        step = apart(op, plan, is_a=is_a)
        if step is None or space is None or not space.is_shared:
            continue
        rows, columns = _stored_matrix(operand)
        if (
            swizzles.for_matrix(rows, columns, bit_width(element_type_of(operand.type)), step)
            is None
        ):
            return f"no swizzle has a row of {step} columns, which each wgmma needs"
    return None


def _mma(op: GemmOp, threads: Threads, arch: int, reason: str | None) -> GemmPlan:
    m, n, k = op.mnk
    a = element_type_of(op.a.type)
    feasible.check_types(a, element_type_of(op.c.type), arch)
    feasible.check_threads(threads.count)
    depth = feasible.depth_for(a, k)
    policy = op.policy.data
    warps = partition(m, n, threads.warps, policy, by_groups=False)
    if warps is None:
        raise feasible.too_small(
            m,
            n,
            threads.warps,
            lambda few: partition(m, n, few, policy, by_groups=False) is not None,
        )
    return GemmPlan("mma", warps, (M_UNIT, N_UNIT, depth), reason)


def partition(
    m: int, n: int, warps: int, policy: str, *, by_groups: bool
) -> tuple[int, int] | None:
    """Warps along rows and columns: as square as possible, or all on one side."""
    step = 4 if by_groups else 1
    rows = _WGMMA_ROWS // 4 if by_groups else M_UNIT
    candidates = [
        (down, warps // down)
        for down in range(step, warps + 1, step)
        if warps % down == 0 and m % (down * rows) == 0 and n % (warps // down * N_UNIT) == 0
    ]
    if not candidates:
        return None
    if policy == "full_row" or (by_groups and policy == "square"):
        # Wide instructions read the rows of A less often: groups share rows before columns.
        return max(candidates)
    if policy == "full_col":
        return min(candidates)
    return min(candidates, key=lambda each: (abs(m / each[0] - n / each[1]), -each[0]))


_HALVES = (Float16Type, BFloat16Type)
_EIGHTS = (Float8E4M3FNType, Float8E5M2Type)


def _why_not_wgmma(op: GemmOp, threads: Threads, arch: int, allowed: bool) -> str | None:
    """The first condition of ``wgmma`` that does not hold."""
    a, b = element_type_of(op.a.type), element_type_of(op.b.type)
    m, _, k = op.mnk
    if not allowed:
        return "wgmma is disabled by an option"
    if arch != 90:
        return f"the target sm_{arch} has no wgmma"
    if m < _WGMMA_ROWS or m % _WGMMA_ROWS:
        return f"M = {m} is not a multiple of {_WGMMA_ROWS}"
    if threads.count % GROUP or threads.first % GROUP:
        return f"{threads.count} threads from thread {threads.first} on are not whole warp groups"
    for operand in (op.a, op.b):
        problem = _why_no_descriptor(operand)
        if problem is not None:
            return problem
    b_space = space_of(op.b.type)
    if b_space is None or not b_space.is_shared:
        return "operand B is not in shared memory"
    a_space = space_of(op.a.type)
    if a_space is Space.FRAGMENT and op.transpose_a is not None:
        return "operand A is a transposed fragment"
    if a != b and not (isinstance(a, _EIGHTS) and isinstance(b, _EIGHTS)):
        return f"the operand types differ: '{a}' and '{b}'"
    return _why_not_types(op, a, k)


def _why_no_descriptor(operand: SSAValue) -> str | None:
    """Why no ``wgmma`` descriptor can describe an operand in shared memory."""
    space = space_of(operand.type)
    if space is None or not space.is_shared:
        return None
    owner = base_of(operand).owner
    if isinstance(owner, AllocOp) and owner.layout is not None:
        return "wgmma does not support the user-specified layout of an operand"
    if isinstance(operand.owner, ViewOp) and not _merges_rows(operand.owner):
        return "an operand is another view of a buffer"
    if is_seen_otherwise(base_of(operand)):
        return "an operand is also viewed with another element type and therefore not swizzled"
    rows, columns = _stored_matrix(operand)
    bits = bit_width(element_type_of(operand.type))
    swizzle = swizzles.for_matrix(rows, columns, bits)
    if swizzle is None:
        return f"no swizzle fits {rows} x {columns} elements of {bits} bits in shared memory"
    if isinstance(operand.owner, RegionOp) and not _begins_with_pattern(operand.owner, swizzle):
        return (
            f"an operand is a sub-tile of a buffer that does not consist of whole patterns of "
            f"{swizzles.ATOM_ROWS} x {swizzle.pattern_columns} elements"
        )
    return None


def _merges_rows(op: ViewOp) -> bool:
    """Whether a view has the rows of all matrices of a buffer as one matrix.

    The patterns of a swizzle follow each other in the order of the rows only if one is as wide as
    the matrix.
    """
    before, after = shape_of(op.source.type), shape_of(op.result.type)
    element = element_type_of(op.source.type)
    if len(before) < 2 or len(after) != 2 or element != element_type_of(op.result.type):
        return False
    rows, columns = before[-2:]
    swizzle = swizzles.for_matrix(rows, columns, bit_width(element))
    return columns == after[-1] and swizzle is not None and swizzle.pattern_columns == columns


def _stored_matrix(operand: SSAValue) -> tuple[int, int]:
    """Rows and columns of the matrix in memory that an operand is, or is a sub-tile of."""
    owner = operand.owner
    stored = owner.base if isinstance(owner, RegionOp) else operand
    rows, columns = shape_of(stored.type)[-2:]
    return rows, columns


def _begins_with_pattern(op: RegionOp, swizzle: swizzles.Swizzle) -> bool:
    """Whether a region of one matrix begins and ends where patterns of its swizzle do."""
    if not all(extent == 1 for extent in op.extents[:-2]):
        return False
    units = (swizzles.ATOM_ROWS, swizzle.pattern_columns)
    return all(
        isinstance(bound, int) and bound % unit == 0
        for bounds in (op.offsets[-2:], op.extents[-2:])
        for bound, unit in zip(bounds, units, strict=True)
    )


def _why_not_types(op: GemmOp, a: Attribute, k: int) -> str | None:
    c = element_type_of(op.c.type)
    depth = 256 // bit_width(a) if bit_width(a) else 0
    is_known = isinstance(a, (*_HALVES, *_EIGHTS, Float32Type)) or a == IntegerType(8)
    if not is_known:
        return f"wgmma does not support operands of '{a}'"
    if not isinstance(c, Float32Type) and not (a == IntegerType(8) and c == IntegerType(32)):
        return f"wgmma does not accumulate in '{c}' for these operands"
    if k % depth:
        return f"K = {k} is not a multiple of {depth}"
    if not isinstance(a, _HALVES) and (op.transpose_a is not None or op.transpose_b is None):
        return f"operands of '{a}' must be contiguous along K (transpose_B=True)"
    return None


# -- layouts -----------------------------------------------------------------------------------


def accumulator(shape: tuple[int, int], plan: GemmPlan) -> Table:
    """The layout of the accumulator."""
    i, j = np.indices(shape, dtype=np.int64)
    down, across = plan.warps
    if plan.instruction == "wgmma":
        groups = plan.groups
        rows, columns = shape[0] // groups[0], shape[1] // groups[1]
        n = plan.shape[1]
        group = i // rows * groups[1] + j // columns
        y, x = i % rows, j % columns
        thread = group * GROUP + y % 64 // 16 * NVIDIA_WARP + y % 8 * 4 + x % 8 // 2
        inside = x % 2 + 2 * (y // 8 % 2) + 4 * (x % n // 8)
        register = (y // 64 * (columns // n) + x // n) * (n // 2) + inside
    else:
        rows, columns = shape[0] // down, shape[1] // across
        warp = i // rows * across + j // columns
        y, x = i % rows, j % columns
        thread = warp * NVIDIA_WARP + y % 8 * 4 + x % 8 // 2
        inside = x % 2 + 2 * (y // 8 % 2)
        register = (y // 16 * (columns // 8) + x // 8) * 4 + inside
    return Table(thread[..., None], register)


def operand_a(shape: tuple[int, int], bits: int, plan: GemmPlan) -> Table:
    """A in registers: every warp (group) that has the row holds it."""
    i, j = np.indices(shape, dtype=np.int64)
    width = 32 // bits
    depth = plan.shape[2]
    down, across = plan.warps
    if plan.instruction == "wgmma":
        groups = plan.groups
        rows = shape[0] // groups[0]
        y = i % rows
        lane = y % 64 // 16 * NVIDIA_WARP + y % 8 * 4 + j // width % 4
        base = (i // rows * groups[1])[..., None] + np.arange(groups[1])
        owners = base * GROUP + lane[..., None]
        tile = y // 64
    else:
        rows = shape[0] // down
        y = i % rows
        lane = y % 8 * 4 + j // width % 4
        base = (i // rows * across)[..., None] + np.arange(across)
        owners = base * NVIDIA_WARP + lane[..., None]
        tile = y // 16
    inside = j % width + width * (y // 8 % 2) + 2 * width * (j % depth // (4 * width))
    registers = (tile * (shape[1] // depth) + j // depth) * (depth * 16 // NVIDIA_WARP) + inside
    return Table.of(_whole(owners), registers)


def operand_b(shape: tuple[int, int], bits: int, plan: GemmPlan) -> Table:
    """B (rows along K) in registers, for ``mma``: every warp that has the column holds it."""
    i, j = np.indices(shape, dtype=np.int64)
    width = 32 // bits
    depth = plan.shape[2]
    down, across = plan.warps
    columns = shape[1] // across
    x = j % columns
    lane = x % 8 * 4 + i // width % 4
    base = np.arange(down) * across + (j // columns)[..., None]
    owners = base * NVIDIA_WARP + lane[..., None]
    inside = i % width + width * (i % depth // (4 * width))
    registers = (x // 8 * (shape[0] // depth) + i // depth) * (depth * 8 // NVIDIA_WARP) + inside
    return Table.of(_whole(owners), registers)


def _whole(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=np.int64)
