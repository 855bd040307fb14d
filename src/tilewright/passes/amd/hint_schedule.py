"""`hint-schedule`: how the compiler is to interleave matrix instructions with accesses to memory.

In the main loop of a GEMM, by `mode`::

    priority    amd.setprio 1; MMAs; amd.setprio 0      waves with MMAs first, of those on a SIMD
    groups      amd.sched_group mfma count(4)           a few MMAs, then the accesses that are due,
                amd.sched_group lds_read count(2) ...   spread evenly over the iteration
    iglp        amd.iglp 0                              the compiler's own pattern

No mode changes a result. Which one is faster has to be measured; none is the default. A main loop
contains matrix instructions and is not unrolled; loops in it that are unrolled count with their
trip counts, as the scheduler sees their copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright.dialects.amd.matrix import MatrixCoreOp
from tilewright.dialects.amd.moves import BufferLoadOp, BufferStoreOp
from tilewright.dialects.amd.schedule import IglpOp, SchedGroupOp, SetPrioOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import Space, names, space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_trip_count
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

MODES = ("none", "priority", "groups", "iglp")
_STEPS = 16
"""Groups of MMAs that an iteration is divided into at most."""
_ACCESSES = ("vmem_read", "lds_write", "lds_read")
"""In this order within a step: what takes longest first."""


@dataclass(frozen=True)
class HintSchedule(Pass):
    """Insert scheduling hints in loops with matrix instructions."""

    name = "hint-schedule"

    mode: str = "none"
    """``none``, ``priority``, ``groups`` or ``iglp``."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}, expected one of {', '.join(MODES)}")

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if self.mode == "none":
            return
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                for loop in list(main_loops(function)):
                    self._hint(loop.body.block)

    def _hint(self, body: Block) -> None:
        rewriter = Rewriter()
        matrix = [op for op in body.ops if _has_matrix(op)]
        first, last, end = matrix[0], matrix[-1], body.last_op
        assert end is not None
        if self.mode == "priority":
            rewriter.insert_before(first, SetPrioOp(1))
            rewriter.insert_after(last, SetPrioOp(0))
        elif self.mode == "iglp":
            start = body.first_op
            assert start is not None
            rewriter.insert_before(start, IglpOp(0), first)
        else:
            hints: list[Operation] = [SchedGroupOp(kind, n) for kind, n in _groups(_counts(body))]
            rewriter.insert_before(end, hints, last)


def _has_matrix(op: Operation) -> bool:
    return any(isinstance(each, MatrixCoreOp) for each in walk(op))


def main_loops(function: FuncOp) -> Iterator[ForOp]:
    """Innermost loops that stay loops, of those around matrix instructions."""
    found: dict[ForOp, None] = {}
    for op in walk(function):
        if not isinstance(op, MatrixCoreOp):
            continue
        around = op.parent_op()
        while around is not None and not _stays(around):
            around = around.parent_op()
        if isinstance(around, ForOp):
            found[around] = None
    yield from found


def _stays(op: Operation) -> bool:
    return isinstance(op, ForOp) and not _is_unrolled(op)


def _is_unrolled(loop: ForOp) -> bool:
    return names.UNROLL in loop.attributes and constant_trip_count(*loop.operands[:3]) is not None


def _counts(block: Block) -> Counter[str]:
    """Instructions of each kind in one iteration."""
    found: Counter[str] = Counter()
    for op in block.ops:
        if isinstance(op, MatrixCoreOp):
            found["mfma"] += 1
        elif (kind := _kind_of(op)) is not None:
            found[kind] += 1
        for region in op.regions:
            trips = (constant_trip_count(*op.operands[:3]) if isinstance(op, ForOp) else 1) or 1
            for inner in region.blocks:
                for kind, count in _counts(inner).items():
                    found[kind] += trips * count
    return found


def _kind_of(op: Operation) -> str | None:
    if isinstance(op, (MoveOp, BufferLoadOp, BufferStoreOp)):
        source, target = space_of(op.src.type), space_of(op.dst.type)
    elif isinstance(op, LoadOp):
        source, target = space_of(op.memref.type), None
    elif isinstance(op, StoreOp):
        source, target = None, space_of(op.memref.type)
    else:
        return None
    if source is not None and source.is_shared:
        return "lds_read"
    if target is not None and target.is_shared:
        return "lds_write"
    return "vmem_read" if source is Space.GLOBAL else None


def _groups(counts: Counter[str]) -> Iterator[tuple[str, int]]:
    """MMAs in steps, and after each the accesses that are due by then."""
    total = counts["mfma"]
    steps = min(total, _STEPS)
    for step in range(steps):
        yield "mfma", _share(total, steps, step)
        for kind in _ACCESSES:
            due = _share(counts[kind], steps, step)
            if due:
                yield kind, due


def _share(total: int, steps: int, step: int) -> int:
    return total * (step + 1) // steps - total * step // steps
