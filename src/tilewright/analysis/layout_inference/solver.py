"""Infers layouts: those that instructions dictate, those that follow, and those left free.

1. *Strict*: user-specified layouts; accumulators and operands of GEMMs.
2. *Common*: what follows. A loop that accesses every element of a fragment once is run by the
   owners of the elements; a fragment is owned by the threads that run the iterations that access
   it; a reduction leaves its results in all threads that owned an element.
3. *Free*: of the loops without a layout, one distributes its iterations over threads such that
   what follows from it is cheapest (`free_layouts`); then 2 again.

In the end every access is checked: a thread that reads an element must own it, and all owners of an
element that is written must write it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.copies.copy_instructions import is_seen_otherwise, plain_box_columns
from tilewright.analysis.layout_inference import (
    amd_gemms,
    amd_storage,
    gemm_instructions,
    nvidia_gemms,
    swizzles,
)
from tilewright.analysis.layout_inference.accesses import (
    Depends,
    FragmentAccess,
    Iterations,
    accesses_in,
    loop_shape,
)
from tilewright.analysis.layout_inference.agreement import (
    CONFLICT,
    UNREPRESENTABLE,
    UNRESOLVED,
    Failed,
    LayoutConflict,
    Loop,
)
from tilewright.analysis.layout_inference.amd_storage import OperandStorage
from tilewright.analysis.layout_inference.bank_conflicts import avoids_conflicts
from tilewright.analysis.layout_inference.describe import name_of
from tilewright.analysis.layout_inference.exchange import is_exchange, is_interleaved
from tilewright.analysis.layout_inference.feasible import Infeasible
from tilewright.analysis.layout_inference.free_layouts import FreeLayouts
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.relations import (
    dependent_access,
    transpose,
)
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.shares import infeasible
from tilewright.analysis.layout_inference.staged_results import staged_results
from tilewright.analysis.layout_inference.swizzles import Swizzle
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.analysis.layout_inference.tensor_memory import (
    fragment_table,
    is_move,
    layout_of,
    move_of,
    sides,
)
from tilewright.dialects.amd.ops import matrix_core
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    AtomicOp,
    CopyOp,
    GemmOp,
    ParallelOp,
    ReduceOp,
    ScanOp,
    Space,
    Tcgen05GemmOp,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip

SHAPE = "TW3003"
SLOWER, ROUNDED = "TW3006", "TW3007"
EVEN = "use thread counts and extents that are powers of two, or multiples of each other"


@dataclass
class Solver(FreeLayouts):
    """Layouts of one kernel."""

    shared: dict[SSAValue, Swizzle | OperandStorage] = field(
        default_factory=dict[SSAValue, "Swizzle | OperandStorage"]
    )
    requests: dict[SSAValue, list[amd_storage.Request]] = field(
        default_factory=dict[SSAValue, list[amd_storage.Request]]
    )
    """How GEMMs of an AMD GPU read buffers."""
    gemms: dict[GemmOp, GemmPlan] = field(default_factory=dict[GemmOp, GemmPlan])

    def solve(self) -> LayoutPlan | None:
        """The plan; None if something was reported."""
        try:
            self._collect()
            self._strict()
            self._propagate()
            while (loop := self._undecided()) is not None:
                self._decide_freely(loop)
                self._propagate()
            self._avoid_conflicts()
            self._check()
        except Failed:
            return None
        return LayoutPlan(
            self.fragments,
            {loop.op: loop.table for loop in self.loops if loop.table is not None},
            self.shared,
            self.gemms,
            {value: name_of(value) for value in (*self.fragments, *self.shared)},
        )

    # -- what there is -----------------------------------------------------------------------

    def _collect(self) -> None:
        for op in walk(self.kernel):
            if isinstance(op, ParallelOp):
                self.loops.append(self._loop(op))
            elif isinstance(op, (ReduceOp, ScanOp)):
                self.reductions.append(op)

    def _loop(self, op: ParallelOp) -> Loop:
        shape = loop_shape(op)
        if shape is None:
            raise self._failure(
                op,
                UNRESOLVED,
                "T.Parallel has an extent that is a run-time value: distributing iterations over "
                "threads requires constant extents",
                "loop over a tile of constant size and guard the body: "
                "for i in T.Parallel(128): if bx * 128 + i < n: ...",
            )
        try:
            accesses = accesses_in(op, Iterations(op, shape))
        except Depends as error:
            access = dependent_access(op, shape)
            name = name_of(base_of(access.memref))
            self.clash = LayoutConflict(op, base_of(access.memref), "the index is data-dependent")
            raise self._failure(
                access,
                UNREPRESENTABLE,
                f"fragment '{name}' is indexed by a run-time value: the owning thread must be "
                "known at compile time",
                f"T.copy({name}, shared) with shared = T.alloc_shared(...), and index the copy",
            ) from error
        return Loop(op, shape, accesses)

    # -- strict ------------------------------------------------------------------------------

    def _strict(self) -> None:
        for op in walk(self.kernel):
            if isinstance(op, AllocOp) and isinstance(op.layout, FragmentAttr):
                table = Table.from_map(op.layout.data)
                self._check_threads(op, table)
                self._give(op.result, table, op)
        for op in walk(self.kernel):
            if isinstance(op, GemmOp):
                self._gemm(op)
            elif isinstance(op, Tcgen05GemmOp):
                self._tensor_memory_gemm(op)
            elif isinstance(op, CopyOp) and is_move(op):
                self._move(op)
        for op in walk(self.kernel):
            # Threads then write the source of a TMA store to shared memory without bank conflicts.
            if isinstance(op, CopyOp) and not is_move(op):
                self._swizzle(base_of(op.src), bit_width(element_type_of(op.src.type)))
            elif isinstance(op, AtomicOp) and not op.is_element and op.value is not None:
                self._swizzle(base_of(op.value), bit_width(element_type_of(op.value.type)))
            # TMA copies a wide tile in several boxes, and only a swizzled layout is box after box.
            elif isinstance(op, AsyncCopyOp) and op.is_bulk:
                bits = bit_width(element_type_of(op.src.type))
                if plain_box_columns(shape_of(op.src.type), bits) is None:
                    self._swizzle(base_of(op.dst), bits)
        for buffer in staged_results(self.kernel, {base_of(op.c) for op in self.gemms}):
            self._swizzle(buffer, bit_width(element_type_of(buffer.type)))

    def _check_threads(self, op: AllocOp, table: Table) -> None:
        """A user-specified layout has no more threads than the block."""
        if not any(True for _ in op.result.uses):
            return
        count = threads_of(_user(op.result)).count
        if table.num_threads > count:
            raise self._failure(
                op,
                UNREPRESENTABLE,
                f"layout of '{op.buffer_name}' uses threads 0 to {table.num_threads - 1}, but "
                f"only {count} threads run",
                f"use T.Kernel(..., threads={table.num_threads}), or a forward_thread_fn with "
                f"values below {count}",
            )

    def _gemm(self, op: GemmOp) -> None:
        try:
            gemm_plan = gemm_instructions.choose(op, threads_of(op), self.gpu, wgmma=self.wgmma)
        except Infeasible as error:
            raise self._failure(op, SHAPE, str(error), error.help) from error
        self.gemms[op] = gemm_plan
        if gemm_plan.reason is not None and self.gpu == 90:
            self.engine.remark(op, f"wgmma not used, mma.sync instead: {gemm_plan.reason}", SLOWER)
        rounded = gemm_instructions.rounding(op, self.gpu)
        if rounded is not None:
            self.engine.remark(op, rounded.message, ROUNDED).note(None, f"help: {rounded.help}")
        table = gemm_instructions.accumulator(op, gemm_plan, self.gpu)
        self._give(base_of(op.c), table, op)
        for operand, is_a in ((op.a, True), (op.b, False)):
            if space_of(operand.type) is Space.FRAGMENT:
                table = gemm_instructions.operand(op, gemm_plan, self.gpu, is_a=is_a)
                transposed = (op.transpose_a if is_a else op.transpose_b) is not None
                self._give(base_of(operand), transpose(table) if transposed else table, op)
            elif isinstance(self.gpu, Chip):
                self._request(op, operand, gemm_plan, self.gpu, is_a=is_a)
            else:
                is_wide = gemm_plan.instruction == "wgmma"
                step = nvidia_gemms.apart(op, gemm_plan, is_a=is_a) if is_wide else None
                self._swizzle(base_of(operand), bit_width(element_type_of(op.a.type)), step)

    def _tensor_memory_gemm(self, op: Tcgen05GemmOp) -> None:
        """Operands in shared memory have the widest swizzle that their descriptors allow."""
        for operand in (op.a, op.b):
            space = space_of(operand.type)
            if space is not None and space.is_shared:
                self._swizzle(base_of(operand), bit_width(element_type_of(operand.type)))

    def _move(self, op: CopyOp) -> None:
        """A fragment that is moved to or from tensor memory has the layout of the instruction."""
        part, fragment = sides(op)
        alloc, threads = base_of(part).owner, threads_of(op)
        assert isinstance(alloc, AllocOp)
        rows, width = shape_of(fragment.type)[-2:]
        try:
            move = move_of(rows, width, layout_of(alloc), threads)
        except NotALayout as error:
            raise self._failure(
                op, UNREPRESENTABLE, f"tensor memory cannot be copied like this: {error}", None
            ) from error
        self._give(base_of(fragment), fragment_table(rows, width, move, threads), op)

    def _request(
        self, op: GemmOp, operand: SSAValue, plan: GemmPlan, chip: Chip, *, is_a: bool
    ) -> None:
        """Give a buffer in LDS the layout that suits all GEMMs so far."""
        if not amd_storage.is_free(operand):
            return
        buffer = base_of(operand)
        core = matrix_core(amd_gemms.instruction_of(op, plan, chip))
        axis = amd_storage.axis_of_k(op, is_a=is_a)
        requests = self.requests.setdefault(buffer, [])
        requests.append(amd_storage.Request(axis, core, plan.k_width))
        storage = amd_storage.storage_of(buffer, requests, chip)
        if storage is not None:
            self.shared[buffer] = storage

    def _swizzle(self, buffer: SSAValue, bits: int, step: int | None = None) -> None:
        """Give a buffer the widest swizzle that all its uses support."""
        swizzle = self._fitting(buffer, bits, step)
        held = self.shared.get(buffer)
        if swizzle is not None and (not isinstance(held, Swizzle) or swizzle.width < held.width):
            self.shared[buffer] = swizzle

    def _fitting(self, buffer: SSAValue, bits: int, step: int | None = None) -> Swizzle | None:
        """The widest swizzle that a buffer can have; None if its layout is given or plain."""
        owner = buffer.owner
        if isinstance(self.gpu, Chip) or not isinstance(owner, AllocOp) or owner.layout is not None:
            return None
        if len(shape_of(buffer.type)) < 2 or is_seen_otherwise(buffer):
            return None
        *_, rows, columns = shape_of(buffer.type)
        return swizzles.for_matrix(rows, columns, bits, step)

    def _avoid_conflicts(self) -> None:
        """Swizzle what TMA fills and threads then read from few banks."""
        for op in walk(self.kernel):
            if not isinstance(op, AsyncCopyOp) or not op.is_bulk:
                continue
            buffer = base_of(op.dst)
            if buffer in self.shared or space_of(buffer.type) is not Space.SHARED:
                continue
            swizzle = self._fitting(buffer, bit_width(element_type_of(buffer.type)))
            if swizzle is not None and avoids_conflicts(buffer, swizzle, self.loops):
                self.shared[buffer] = swizzle

    # -- the end -----------------------------------------------------------------------------

    def _check(self) -> None:
        for op in walk(self.kernel):
            if isinstance(op, AllocOp) and self._lacks_layout(op):
                self._replicate(op)
        for op in self.reductions:
            if isinstance(op, ReduceOp):
                self._check_reduction(op)
        for loop in self.loops:
            for access in loop.accesses:
                self._check_access(loop, access)
        for op in walk(self.kernel):
            if isinstance(op, CopyOp) and is_exchange(op):
                self._check_exchange(op)
        self._intern_tables()
        for buffer, table in self.fragments.items():
            self._check_formula(buffer, table)
        for loop in self.loops:
            self._check_share(loop)

    def _intern_tables(self) -> None:
        """Make equal layouts one object: its formulas are then computed once."""
        known: dict[Table, Table] = {}
        for buffer, table in self.fragments.items():
            self.fragments[buffer] = known.setdefault(table, table)
        for loop in self.loops:
            if loop.table is not None:
                loop.table = known.setdefault(loop.table, loop.table)

    def _check_exchange(self, op: CopyOp) -> None:
        """What lanes cannot exchange goes through shared memory."""
        source, target = base_of(op.src), base_of(op.dst)
        if is_interleaved(self.fragments[source], self.fragments[target], self.gpu):
            return
        self.clash = LayoutConflict(op, target, "a GEMM reads elements in threads of other waves")
        raise self._failure(
            op,
            CONFLICT,
            f"conflicting layouts for '{name_of(target)}': its elements are computed in threads "
            "that do not own them",
            None,
        )

    def _check_formula(self, buffer: SSAValue, table: Table) -> None:
        """Generated code must be able to compute the owner and the register of an element."""
        try:
            table.as_map()
        except NotALayout as error:
            origin = self.origins[buffer]
            if isinstance(origin, ParallelOp | ReduceOp):
                self.clash = LayoutConflict(origin, buffer, str(error))
            raise self._failure(
                origin,
                UNREPRESENTABLE,
                f"layout of '{name_of(buffer)}' that follows from this op cannot be computed: "
                f"{error}",
                EVEN,
            ) from error

    def _check_share(self, loop: Loop) -> None:
        """Generated code must be able to compute the iterations of a thread and their registers."""
        assert loop.table is not None
        failing = infeasible(loop.op, loop.table, loop.accesses, self.fragments)
        if failing is None:
            return
        error, access = failing
        if access is not None:
            self.clash = self._blamed(loop, access, str(error))
        raise self._failure(
            loop.op,
            UNREPRESENTABLE,
            f"loop cannot be distributed over {threads_of(loop.op).count} threads: {error}",
            EVEN,
        ) from error

    def _blamed(self, loop: Loop, access: FragmentAccess, reason: str) -> LayoutConflict | None:
        """The loop to stage a fragment for: not one that walks the fragment in its own order."""
        buffer = access.buffer
        origin = self.origins[buffer]
        if access.is_in_order and isinstance(origin, ParallelOp):
            return LayoutConflict(origin, buffer, reason)
        is_copy = access.is_in_order and len(loop.accesses) == 1
        return None if is_copy else LayoutConflict(loop.op, buffer, reason)

    def _lacks_layout(self, op: AllocOp) -> bool:
        is_used = any(True for _ in op.result.uses)
        return op.space is Space.FRAGMENT and op.result not in self.fragments and is_used

    def _replicate(self, op: AllocOp) -> None:
        """A fragment that no loop accesses as a whole: every thread owns all of it."""
        threads = threads_of(_user(op.result))
        self._give(op.result, Table.everywhere(shape_of(op.result.type), threads.count), op)


def _user(value: SSAValue) -> Operation:
    return next(iter(value.uses)).operation
