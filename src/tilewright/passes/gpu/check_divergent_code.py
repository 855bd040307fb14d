"""`check-divergent-code`: code in divergent branches must not need a block barrier.

    if tx < 48:
        S[tx] = X[tx]
        y = S[47 - tx]          # written by another thread: all of them have to be done

A block barrier is required between the two lines, but inside the `if` it would wait for threads
that never arrive. This is an error, found by evaluating for every thread which elements of a shared
buffer it writes and reads under the condition. If the condition is data-dependent, it is a warning,
as only one thread may take the branch. Code with an explicit barrier is not checked, nor are
accesses with run-time indices.

A tile operation is shared among all threads that run the kernel, or the role. In code that some of
them do not run, their share would not be done: that is an error, too; so is a store that the user
gives to TMA, for which one of all threads is picked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import ARITHMETIC, SAME
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.threads.thread_dependence import is_by_thread
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    FillOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    ReduceByOp,
    ReduceOp,
    ScaledGemmOp,
    ScanByOp,
    ScanOp,
    Space,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine, resolve
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

BARRIER_NOT_REACHED, INCOMPLETE = "TW4072", "TW4073"
_MAX_ITERATIONS = 256
"""Iterations of loops inside the code that are evaluated."""
_BARRIERS = frozenset(("gpu.barrier", "nv.bar", "nv.mbarrier.wait", "tile.sync"))

_SHARED_WORK = (
    *(CopyOp, FillOp, GemmOp, ParallelOp, ScaledGemmOp),
    *(ReduceByOp, ReduceOp, ScanByOp, ScanOp),
    *(Tcgen05CommitOp, Tcgen05CopyScalesOp, Tcgen05GemmOp, TransposeScalesOp),
)
_API_NAMES = {
    "tile.copy": "T.copy",
    "tile.fill": "T.fill",
    "tile.gemm": "T.gemm",
    "tile.scaled_gemm": "a scaled GEMM",
    "tile.parallel": "T.Parallel",
    "tile.reduce": "a reduction",
    "tile.reduce_by": "a reduction",
    "tile.scan": "a scan",
    "tile.scan_by": "a scan",
    "tile.tcgen05_gemm": "T.tcgen05_gemm",
    "tile.tcgen05_commit": "T.tcgen05_mma_arrive",
    "tile.tcgen05_copy_scales": "T.tcgen05_cp_warpx4",
    "tile.transpose_scales": "T.tcgen05_sf_warp_transpose",
}

Integers: TypeAlias = NDArray[np.int64]

_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)
"""By the number of the predicate; signed, then unsigned."""


class Unknown(Exception):
    """A value that is unknown at compile time."""


@dataclass(frozen=True)
class CheckDivergentCode(Pass):
    """Report divergent code that would need a block barrier."""

    name = "check-divergent-code"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for op in _divergent(kernel):
                if not _shares_are_lost(op, engine):
                    _check(op, kernel, engine)


def _divergent(kernel: KernelOp) -> Iterator[IfOp]:
    """The outermost choices that threads take differently."""
    stack: list[Operation] = list(kernel.body.block.ops)
    while stack:
        op = stack.pop(0)
        if isinstance(op, IfOp) and is_by_thread(op.condition):
            yield op
            continue
        stack += [inner for region in op.regions for block in region.blocks for inner in block.ops]


def _shares_are_lost(choice: IfOp, engine: DiagnosticEngine) -> bool:
    """Report a tile operation that only some threads would do their share of."""
    found = next((op for op in walk(choice) if _is_for_all(op)), None)
    if found is None:
        return False
    why = (
        (
            "TMA store in a divergent branch: T.tma_copy elects the issuing thread among all "
            "threads of the block, and that thread may not reach it"
        )
        if isinstance(found, AsyncCopyOp)
        else (
            f"{_API_NAMES.get(found.name, 'a tile operation')} in a divergent branch: the "
            "work is distributed over all threads of the block, but only some of them reach "
            "it"
        )
    )
    diagnostic = engine.error(found, why, INCOMPLETE)
    diagnostic.note(choice, "only some threads take this branch")
    diagnostic.note(
        None,
        "help: move it out of the if, so that all threads reach it; if only some warps must do it, "
        "compare the thread index with multiples of the warp size, as in `if tx < 64:`, or use "
        "`with T.ws(0):` (threads 0 to 127)",
    )
    return True


def _is_for_all(op: Operation) -> bool:
    """Whether all threads have to come to an op: those that share it, or one that they pick."""
    if isinstance(op, AsyncCopyOp):
        return op.is_bulk and space_of(op.dst.type) is Space.GLOBAL
    return isinstance(op, _SHARED_WORK)


@dataclass(frozen=True)
class PerThreadAccess:
    """The elements of a buffer that each thread accesses: a row of element indices per thread."""

    op: LoadOp | StoreOp
    elements: Integers
    is_run: NDArray[np.bool_]
    """Which threads come here, or may."""
    is_certain: bool
    """Whether it does not depend on data."""

    @property
    def is_write(self) -> bool:
        return isinstance(self.op, StoreOp)


def _check(choice: IfOp, kernel: KernelOp, engine: DiagnosticEngine) -> None:
    if any(op.name in _BARRIERS for op in walk(choice)):
        return
    by_buffer: dict[SSAValue, list[PerThreadAccess]] = {}
    for op in walk(choice):
        if isinstance(op, (LoadOp, StoreOp)):
            space = space_of(op.memref.type)
            if space is not None and space.is_shared:
                try:
                    access = _access(op, choice, kernel)
                except Unknown:
                    continue
                by_buffer.setdefault(base_of(op.memref), []).append(access)
    for buffer, accesses in by_buffer.items():
        if _report_first(buffer, accesses, choice, engine):
            return


def _report_first(
    buffer: SSAValue, accesses: list[PerThreadAccess], choice: IfOp, engine: DiagnosticEngine
) -> bool:
    for write in (each for each in accesses if each.is_write):
        for other in accesses:
            found = _conflict(write, other)
            if found is not None:
                _report(buffer, write, other, found, choice, engine)
                return True
    return False


def _conflict(write: PerThreadAccess, other: PerThreadAccess) -> tuple[int, int, int] | None:
    """Two threads and the element that the first writes and the second accesses."""
    owner: dict[int, int] = {}
    for thread in np.flatnonzero(write.is_run):
        for element in sorted(set(write.elements[thread].ravel().tolist())):
            owner.setdefault(element, int(thread))
    for thread in np.flatnonzero(other.is_run):
        for element in sorted(set(other.elements[thread].ravel().tolist())):
            writer = owner.get(element)
            if writer is None:
                continue
            if writer != int(thread) and not (other.is_write and other.op is write.op):
                return writer, int(thread), element
    return None


def _report(
    buffer: SSAValue,
    write: PerThreadAccess,
    other: PerThreadAccess,
    found: tuple[int, int, int],
    choice: IfOp,
    engine: DiagnosticEngine,
) -> None:
    writer, thread, element = found
    name = buffer.owner.buffer_name if isinstance(buffer.owner, AllocOp) else "a shared buffer"
    point = ", ".join(map(str, np.unravel_index(element, shape_of(write.op.memref.type))))
    what = "written" if other.is_write else "read"
    count = int(np.sum(write.is_run))
    is_certain = write.is_certain and other.is_certain
    emit = engine.error if is_certain else engine.warning
    reached = (
        f"only {count} of {len(write.is_run)} threads reach it"
        if is_certain
        else "not all threads reach it"
    )
    diagnostic = emit(
        other.op,
        f"data race on {name}[{point}]: written by thread {writer}, {what} by thread "
        f"{thread}; a block barrier is required between them, but {reached}",
        BARRIER_NOT_REACHED,
    )
    diagnostic.note(write.op, f"'{name}' is written here")
    diagnostic.note(choice, "the other threads do not take this branch")
    diagnostic.note(None, f"help: {_suggest_fix(write, other, choice)}")


def _suggest_fix(write: PerThreadAccess, other: PerThreadAccess, choice: IfOp) -> str:
    position = resolve(choice.location).primary
    where = f" of line {position.line}" if position is not None else ""
    loop = _loop_around(other.op, choice) or _loop_around(write.op, choice)
    if loop is not None:
        return (
            f"move the loop out of the if{where}, and put the write and the read into "
            "separate ifs inside it, so that all threads reach the barrier between them"
        )
    return (
        f"end the if{where} after the write and start a second if with the same "
        "condition, so that all threads reach the barrier between them"
    )


def _loop_around(op: Operation, end: Operation) -> ForOp | None:
    current = op.parent_op()
    while current is not None and current is not end:
        if isinstance(current, ForOp):
            return current
        current = current.parent_op()
    return None


# -- numbers of all threads ----------------------------------------------------------------------


def _access(op: LoadOp | StoreOp, choice: IfOp, kernel: KernelOp) -> PerThreadAccess:
    threads = kernel.num_threads or 0
    loops = _loops_between(op, choice)
    evaluator = _Evaluator(threads, loops)
    shape = shape_of(op.memref.type)
    flat = np.zeros(evaluator.shape, dtype=np.int64)
    for size, index in zip(shape, op.indices, strict=True):
        flat = flat * size + np.broadcast_to(evaluator.of(index), evaluator.shape)
    return PerThreadAccess(op, flat.reshape(threads, -1), *evaluator.where(op, choice))


def _loops_between(op: Operation, choice: IfOp) -> list[tuple[ForOp, range]]:
    found: list[tuple[ForOp, range]] = []
    total = 1
    current = op.parent_op()
    while current is not None and current is not choice:
        if isinstance(current, ForOp):
            bounds = (current.lower_bound, current.upper_bound, current.step)
            known = [constant_value(each) for each in bounds]
            values = [each.value.data for each in known if isinstance(each, IntegerAttr)]
            if len(values) < len(bounds):
                raise Unknown
            iterations = range(*values)
            total *= max(len(iterations), 1)
            if total > _MAX_ITERATIONS:
                raise Unknown
            found.append((current, iterations))
        current = current.parent_op()
    return found


class _Evaluator:
    """Values for all threads (axis 0) and all iterations of the enclosing loops."""

    def __init__(self, threads: int, loops: list[tuple[ForOp, range]]) -> None:
        self.shape = (threads, *(len(iterations) for _, iterations in loops))
        self._threads = np.arange(threads, dtype=np.int64).reshape(-1, *(1 for _ in loops))
        self._known: dict[SSAValue, Any] = {}
        for axis, (loop, iterations) in enumerate(loops):
            line = [1] * len(self.shape)
            line[axis + 1] = len(iterations)
            values = np.asarray(iterations, dtype=np.int64).reshape(line)
            self._known[loop.body.block.args[0]] = values

    def of(self, value: SSAValue) -> Any:
        """Raises `Unknown` for run-time values."""
        if value in self._known:
            return self._known[value]
        found = self._known[value] = self._computed(value)
        return found

    def _computed(self, value: SSAValue) -> Any:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        owner = value.owner
        if isinstance(owner, ThreadIdOp):
            return self._threads
        if not isinstance(owner, Operation):
            raise Unknown
        if owner.name in SAME:
            return self.of(owner.operands[0])
        if isinstance(owner, CmpiOp):
            first, second = (self.of(each) for each in owner.operands)
            return _COMPARISONS[owner.predicate.value.data](first, second)
        if owner.name not in ARITHMETIC:
            raise Unknown
        return ARITHMETIC[owner.name](*(self.of(each) for each in owner.operands))

    def where(self, op: Operation, choice: IfOp) -> tuple[NDArray[np.bool_], bool]:
        """Which threads come to `op`, or may, and whether that is certain."""
        result = np.ones(self.shape[0], dtype=np.bool_)
        is_certain = True
        inner, current = op, op.parent_op()
        while current is not None:
            if isinstance(current, IfOp):
                try:
                    holds = np.broadcast_to(self.of(current.condition), self.shape)
                except Unknown:
                    holds = np.ones(self.shape, dtype=np.bool_)
                    is_certain = False
                else:
                    if inner.parent_region() is current.else_region:
                        holds = ~holds
                result &= holds.reshape(self.shape[0], -1).any(axis=1)
            if current is choice:
                break
            inner, current = current, current.parent_op()
        return result, is_certain
