"""Refuse kernels that rely on an order of reads and writes of one tensor which cores do not keep.

The reader of a core runs ahead of its writer. In one block

    T.copy(a, A[0, 0])        a read after a write finds the old elements: nothing makes the
    T.copy(A[0, 0], b)        reader wait for the writer

    T.copy(B[0, 0], b)        a write after a read is safe if what is written depends on this
    T.copy(A[0, 0], a)        read or on a later one, since the reader works in program order;
    T.copy(b, A[0, 0])        here it does not, so `a` may receive the new elements

Accesses that are disjoint, or that overlap only in one iteration of the loops around both and there
in the safe order, are allowed: updating a tensor in place is the common case.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.tensors.write_overlap import Overlap, WriteOverlap
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp, KernelOp
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.tile.mixed import known
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import (
    buffers_read,
    buffers_written,
    is_block_op,
    role_of,
)

ORDER = "TW7031"


@dataclass(frozen=True)
class CheckTensorOrder(Pass):
    """Report reads and writes of a tensor whose order reader and writer do not keep."""

    name = "check-tensor-order"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                _Check(kernel, engine).run()


@dataclass(eq=False)
class _Check:
    kernel: KernelOp
    engine: DiagnosticEngine
    positions: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Ops in program order."""
    producers: dict[SSAValue, list[Operation]] = field(
        default_factory=dict[SSAValue, list[Operation]]
    )

    def run(self) -> None:
        loads: list[tuple[CopyOp, AccessedRegion]] = []
        stores: list[tuple[CopyOp, AccessedRegion]] = []
        for position, op in enumerate(walk(self.kernel)):
            self.positions[op] = position
            for buffer in buffers_written(op) if is_block_op(op) else ():
                self.producers.setdefault(buffer, []).append(op)
            if isinstance(op, CopyOp) and role_of(op) is Role.READER:
                loads.append((op, _in_dram(reads(op))))
            elif isinstance(op, CopyOp) and role_of(op) is Role.WRITER:
                stores.append((op, _in_dram(writes(op))))
        overlaps = WriteOverlap(self.kernel)
        for store in stores:
            for load in loads:
                found = overlaps.overlap(load, store)
                if found is not Overlap.NEVER and self._refused(load, store, found):
                    break

    def _refused(
        self,
        load: tuple[CopyOp, AccessedRegion],
        store: tuple[CopyOp, AccessedRegion],
        overlap: Overlap,
    ) -> bool:
        """Report two accesses that may overlap and are not ordered; whether they are such."""
        (read, region), (write, _) = load, store
        name = name_of(region.base)
        is_first = self.positions[read] < self.positions[write]
        repeats = overlap is Overlap.POSSIBLE and _common_loop(read, write) is not None
        if not is_first or repeats:
            self.engine.error(
                read,
                f"'{name}' is read after the same block has written it"
                f"{' in an earlier iteration' if is_first else ''}, and the reader of a core does "
                "not wait for the writer: keep the values in a buffer, or write to another tensor",
                ORDER,
            ).note(write, "written here")
            return True
        if self._follows(write, read):
            return False
        self.engine.error(
            write,
            f"'{name}' is written after the same block has read it, but what is written does not "
            "depend on that read or a later one, so the writer of the core may be ahead of the "
            f"reader: load what is written after '{name}', or write to another tensor",
            ORDER,
        ).note(read, "read here")
        return True

    def _follows(self, write: CopyOp, read: CopyOp) -> bool:
        """Whether what `write` stores depends on `read`, or on a load that comes after it."""
        seen: set[SSAValue] = set()
        pending: list[SSAValue] = [*buffers_read(write)]
        while pending:
            buffer = pending.pop()
            if buffer in seen:
                continue
            seen.add(buffer)
            for op in self.producers.get(buffer, ()):
                if not _is_executed(op, write, read):
                    continue
                is_load = isinstance(op, CopyOp) and role_of(op) is Role.READER
                if is_load and self.positions[op] >= self.positions[read]:
                    return True
                pending.extend(buffers_read(op))
        return False


def _in_dram(regions: list[AccessedRegion]) -> AccessedRegion:
    (found,) = (each for each in regions if each.space is Space.GLOBAL)
    return found


def _common_loop(one: Operation, other: Operation) -> ForOp | None:
    around = one.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        if isinstance(around, ForOp) and around.is_ancestor(other):
            return around
        around = around.parent_op()
    return None


def _is_executed(op: Operation, write: Operation, read: Operation) -> bool:
    """Whether `op` is executed wherever `write` and `read` are: it is in no branch, and in no loop
    that may be empty, without one of them."""
    around = op.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        if not around.is_ancestor(write) and not around.is_ancestor(read):
            if isinstance(around, IfOp):
                return False
            if isinstance(around, ForOp) and not _runs(around):
                return False
        around = around.parent_op()
    return True


def _runs(loop: ForOp) -> bool:
    lower, upper = known(loop.lower_bound), known(loop.upper_bound)
    return isinstance(lower, int) and isinstance(upper, int) and lower < upper
