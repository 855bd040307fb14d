"""`lower-tmem`: tensor memory is part of Blackwell's tensor cores, and takes what they take.

Other architectures have none (TW4003). There, a GEMM has 64 or 128 rows, of a pair of blocks 128
for each; its columns are a multiple of 16 (of 32 for a pair), and K one of 32 bytes. Operands in
shared memory are whole matrices, or sub-tiles of whole patterns of a swizzle, and a pair is two
adjacent blocks of a cluster (TW3054).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference import swizzles
from tilewright.analysis.layout_inference.swizzles import Swizzle
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, RegionOp, Space, Tcgen05GemmOp, kernel_of, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.tensor_memory import is_of_pair
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name, arch_of

NO_TENSOR_MEMORY, NO_INSTRUCTION = "TW4003", "TW3054"
_ARCHITECTURES = range(100, 120)
"""sm_120 has the tensor cores of Ampere."""
_STEP_BITS, _MAX_COLUMNS = 256, 256


@dataclass(frozen=True)
class LowerTmem(Pass):
    """Refuse tensor memory where there is none, and GEMMs that its tensor cores cannot do."""

    name = "lower-tmem"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, AllocOp) and op.space is Space.TMEM:
                if amd_chip_of(op) is not None or arch_of(op) not in _ARCHITECTURES:
                    text = f"tensor memory requires sm_100, the target is {arch_name(op)}"
                    engine.error(op, text, NO_TENSOR_MEMORY).note(None, _suggest_fix(op))
            elif isinstance(op, Tcgen05GemmOp):
                problem = _shape_problem(op) or _operand_problem(op)
                if problem is not None:
                    message, fix = problem
                    diagnostic = engine.error(
                        op, f"tcgen05 has no instruction for this GEMM: {message}", NO_INSTRUCTION
                    )
                    diagnostic.note(None, f"help: {fix}")
            if is_of_pair(op) and not _is_in_pairs(op):
                engine.error(
                    op, "use_2cta requires clusters of two blocks along x", NO_INSTRUCTION
                ).note(None, "help: launch with T.ClusterKernel(..., cluster_dims=2)")


def _suggest_fix(op: AllocOp) -> str:
    shape = ", ".join(map(str, shape_of(op.result.type)))
    return (
        f"help: compile for cuda:sm_100a, or keep the accumulator in registers: "
        f"T.alloc_fragment(({shape}), '{element_type_of(op.result.type)}')"
    )


def _is_in_pairs(op: Operation) -> bool:

    kernel = kernel_of(op)
    extents = None if kernel is None else kernel.cluster_extents
    return extents is not None and prod(extents) % 2 == 0 and extents[0] % 2 == 0


_Problem = tuple[str, str]


def _shape_problem(op: Tcgen05GemmOp) -> _Problem | None:
    m, n, k = op.mnk
    rows = (128,) if op.is_scaled or op.two_cta is not None else (64, 128)
    shown = " or ".join(map(str, rows))
    if m not in rows:
        return f"M = {m}, expected {shown}", f"use tiles of {shown} rows"
    step = 32 if op.two_cta is not None else 16 if m == 128 else 8
    if n % step or (n > _MAX_COLUMNS and n % _MAX_COLUMNS):
        return (
            f"N = {n} is not a multiple of {step} up to {_MAX_COLUMNS}",
            "use tiles of a power of two of columns",
        )
    depth = _STEP_BITS // bit_width(element_type_of(op.a.type))
    if k % depth:
        return f"K = {k} is not a multiple of {depth}", f"make K of the tiles a multiple of {depth}"
    return None


def _operand_problem(op: Tcgen05GemmOp) -> _Problem | None:
    for letter, value, is_k_major in (
        ("A", op.a, op.transpose_a is None),
        ("B", op.b, op.transpose_b is not None),
    ):
        space = space_of(value.type)
        if space is not None and space.is_shared:
            problem = _shared_problem(letter, value, is_k_major=is_k_major)
            if problem is not None:
                return problem
    return None


def _shared_problem(letter: str, value: SSAValue, *, is_k_major: bool) -> _Problem | None:
    bits = bit_width(element_type_of(value.type))
    owner = base_of(value).owner
    if isinstance(owner, AllocOp) and owner.layout is not None:
        return f"{letter} has a user-specified layout", "remove it from T.annotate_layout"
    if isinstance(value.owner, ViewOp):
        return f"{letter} is a view of another buffer", "T.copy it to a buffer of its own"
    if not is_k_major and bits > 16:
        return (
            f"elements of {bits} bits of {letter} must be contiguous along K",
            f"transpose {letter}",
        )
    stored = value.owner.base if isinstance(value.owner, RegionOp) else value
    rows, columns = shape_of(stored.type)[-2:]
    swizzle = swizzles.for_matrix(rows, columns, bits)
    if swizzle is None:
        return (
            f"no swizzle fits {rows} x {columns} elements of {bits} bits of {letter}",
            "use rows of a multiple of 32 bytes, and a multiple of 8 rows",
        )
    if isinstance(value.owner, RegionOp) and not _begins_with_pattern(value.owner, swizzle):
        return (
            f"{letter} is a sub-tile that does not consist of whole patterns of "
            f"{swizzles.ATOM_ROWS} x {swizzle.pattern_columns} elements",
            "begin and end it at multiples of them, known at compile time",
        )
    return None


def _begins_with_pattern(op: RegionOp, swizzle: Swizzle) -> bool:
    units = (swizzles.ATOM_ROWS, swizzle.pattern_columns)
    return all(extent == 1 for extent in op.extents[:-2]) and all(
        isinstance(bound, int) and bound % unit == 0
        for bounds in (op.offsets[-2:], op.extents[-2:])
        for bound, unit in zip(bounds, units, strict=True)
    )
