"""Turn on-chip buffers into circular buffers in L1.

    %A_s = tile.alloc : 32x32xbf16   ->   %A_s = tile.alloc {tt.cb = {index = 0, pages = 2, ...}}

A buffer has one producer and one consumer (`separate-buffers`), and its contents a known end
(`liveness`). Page counts are in `buffer_sizes`. Indices 0.. are loads in the order of the
arguments, then known contents, 16.. stores, 24.. intermediates. A GEMM accumulates in DST where
the block fits, see `strategies`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr, bf16, f16
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.blocks import ConstantTileOp, ElementwiseOp, ReleaseOp
from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp, ReduceOp, buffer_type
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import L1_TENSORS, chip_of, functions, get, put
from tilewright.passes.tenstorrent.block_ops import zero_fill
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_sizes import (
    EFFORTS,
    Effort,
    Plans,
    Sizing,
    k_loops_of,
    total_bytes,
    users_of,
)
from tilewright.passes.tenstorrent.buffer_uses import buffers_written, is_block_op, role_of
from tilewright.passes.tenstorrent.circular_buffers import (
    CONSTANT,
    K_LOOP,
    BufferPlan,
    format_of_buffer,
    set_plan,
)
from tilewright.passes.tenstorrent.dst_instructions import bits_of
from tilewright.passes.tenstorrent.dst_programs import dst_program
from tilewright.passes.tenstorrent.k_loops import ensure_epilogue, epilogue_of
from tilewright.passes.tenstorrent.liveness import live_at_start, release_buffers
from tilewright.passes.tenstorrent.positions import EXTENTS
from tilewright.passes.tenstorrent.reports import NotSupported, reporting

TWO_EXPONENTS = "TW7021"
OVER_BUDGET = "TW7050"
TOO_MANY = "TW7051"
COMPUTE = "tt.compute"

FIRST_OUTPUT, FIRST_INTERMEDIATE = 16, 24


@dataclass(frozen=True)
class LowerCircularBuffers(Pass):
    """Size and index the circular buffers of a core."""

    name = "lower-circular-buffers"

    l1_budget: int = 0
    """Bytes that circular buffers may take; 0 for what the chip has."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for program in [op for op in walk(function) if isinstance(op, CoreProgramOp)]:
                with reporting(engine):
                    _Lowering(function, program, self.l1_budget).run()


def _check_exponents(plans: Plans) -> None:
    """Refuse tiles of float16 beside tiles of bfloat16: the unpackers of a core are configured for
    one width of exponents, and the vendor's host refuses such a program."""
    halves = [each for each in plans if element_type_of(each.result.type) == f16]
    others = [each for each in plans if element_type_of(each.result.type) == bf16]
    if halves and others:
        raise NotSupported(
            halves[0],
            f"'{halves[0].buffer_name}' has float16 tiles and '{others[0].buffer_name}' bfloat16 "
            "tiles: circular buffers of one program have exponents of one width, float32 besides; "
            "use one of the two types in the kernel",
            TWO_EXPONENTS,
        )


def prepare(program: CoreProgramOp) -> None:
    """Give every K loop its epilogue, every constant its tile and all contents an end."""
    for loop in k_loops_of(program):
        ensure_epilogue(loop)
    _add_constants(program)
    _initialise(program)
    release_buffers(program)


def first_fit(sizing: Sizing, budget: int) -> tuple[Effort | None, Plans]:
    """The least effort for which the buffers fit, None if there is none, and their sizes."""
    plans: Plans = {}
    for effort in EFFORTS:
        plans = sizing.plans(effort)
        if total_bytes(plans) <= budget:
            return effort, plans
    return None, plans


@dataclass
class _Lowering:
    function: FuncOp
    program: CoreProgramOp
    l1_budget: int

    def run(self) -> None:
        chip = chip_of(self.function)
        prepare(self.program)
        self.sizing = Sizing(self.function, self.program)
        budget = self.l1_budget or chip.cb_budget_bytes
        shards: list[tuple[str, int]] = get(self.function, L1_TENSORS) or []
        effort, plans = first_fit(self.sizing, budget - sum(size for _, size in shards))
        if effort is None:
            raise NotSupported(self.program, self._too_large(plans, shards, budget), OVER_BUDGET)
        _check_exponents(plans)
        for alloc, plan in self._numbered(plans, chip).items():
            set_plan(alloc, plan)
        self._annotate()

    def _too_large(self, plans: Plans, shards: list[tuple[str, int]], budget: int) -> str:
        rows = [
            f"{alloc.buffer_name} {plan.pages} x {format_of_buffer(alloc.result).tile_bytes}"
            for alloc, plan in plans.items()
            if not plan.is_in_place
        ]
        rows += [f"shard of {name} {size}" for name, size in shards]
        needed = total_bytes(plans) + sum(size for _, size in shards)
        what, change = "circular buffers", "use smaller blocks"
        if shards:
            what, change = "circular buffers and shards", f"{change}, or keep a tensor in DRAM"
        chip = chip_of(self.function)
        limit = f"available on {chip.name}"
        if self.l1_budget:
            limit = f"allowed by tt.l1_budget ({chip.name} has {chip.cb_budget_bytes} B)"
            change += ", or raise the budget"
        return f"L1: {needed} B needed for {what}, {budget} B {limit}: {' | '.join(rows)}; {change}"

    def _annotate(self) -> None:
        strategy, chosen = "blocks", (1, 1)
        for loop, plan in self.sizing.k_loops.items():
            strategy, chosen = plan.strategy, plan.subblock
            put(
                loop,
                K_LOOP,
                {"strategy": strategy, "subblock": list(chosen), "steps": plan.steps},
            )
        put(
            self.function,
            COMPUTE,
            {
                "strategy": strategy,
                "subblock": list(chosen),
                "dst_tiles": self.sizing.slots,
                "fp32_dest_acc": self.sizing.fp32,
            },
        )

    def _numbered(self, plans: Plans, chip: ChipSpec) -> Plans:
        arguments = list(self.function.body.block.args)

        def order(alloc: AllocOp) -> tuple[int, int]:
            copies = [op for op in users_of(alloc.result) if isinstance(op, CopyOp)]
            tensors = [base_of(value) for op in copies for value in op.operands]
            used = [n for n, each in enumerate(arguments) if any(each is t for t in tensors)]
            return min(used, default=len(arguments)), list(plans).index(alloc)

        groups: dict[int, list[AllocOp]] = {0: [], 1: [], 2: [], 3: []}
        for alloc in sorted(plans, key=order):
            groups[_group(alloc, plans[alloc])].append(alloc)
        if len(plans) > chip.circular_buffers:
            raise NotSupported(
                self.program,
                f"{len(plans)} circular buffers needed, {chip.circular_buffers} available on "
                f"{chip.name}: use fewer buffers",
                TOO_MANY,
            )
        taken: set[int] = set()
        found: Plans = {}
        for group, first in ((0, 0), (1, 0), (2, FIRST_OUTPUT), (3, FIRST_INTERMEDIATE)):
            for alloc in groups[group]:
                index = _free_index(first, taken, chip.circular_buffers)
                taken.add(index)
                found[alloc] = replace(plans[alloc], index=index)
        return found


# -- known contents, contents before the first write ---------------------------------------------


def _add_constants(program: CoreProgramOp) -> None:
    required: dict[tuple[str, Attribute], Operation] = {}
    # An epilogue finds the accumulator in DST, where the FPU cannot add a broadcast to it.
    accumulators = {epilogue_of(loop): loop.acc for loop in k_loops_of(program)}
    for op in walk(program):
        if isinstance(op, ReduceOp):
            required.setdefault(("scaler", element_type_of(op.src.type)), op)
        elif isinstance(op, ElementwiseOp) and _needs_zero(op, accumulators.get(op)):
            for value, kind in zip(op.inputs, op.kinds, strict=True):
                if kind != "tile":
                    required.setdefault(("zero", element_type_of(value.type)), op)
    first = program.body_block.first_op
    assert first is not None
    for (what, element), op in required.items():
        alloc = AllocOp(buffer_type(element, (32, 32), Space.SHARED), name=f"{what}_tile")
        alloc.attributes[EXTENTS] = integers_attr((32, 32))
        alloc.attributes[CONSTANT] = StringAttr(what)
        pattern, value = ("scaler", 1.0) if what == "scaler" else ("constant", 0.0)
        fill = ConstantTileOp(alloc.result, pattern, bits_of(value))
        Rewriter().insert_before(first, [alloc, fill], op)
        last = program.body_block.last_op
        assert last is not None
        Rewriter().insert_before(last, ReleaseOp(alloc.result), op)


def _initialise(program: CoreProgramOp) -> None:
    """Contents that a loop may leave without having written them."""
    (loop,) = [op for op in program.body_block.ops if isinstance(op, ForOp)]
    for buffer in live_at_start(program):
        writers = [
            use.operation
            for use in buffer.uses
            if is_block_op(use.operation) and buffer in buffers_written(use.operation)
        ]
        if any(role_of(op) is not Role.COMPUTE for op in writers):
            raise NotSupported(
                next(iter(writers), program),
                f"'{name_of(buffer)}' is loaded in a loop and read after it, and the loop may "
                "have no iteration: load it again after the loop",
            )
        first = loop.body.block.first_op
        assert first is not None
        Rewriter().insert_before(first, zero_fill(buffer), next(iter(writers), loop))


# -- indices and totals ----------------------------------------------------------------------------


def _group(alloc: AllocOp, plan: BufferPlan) -> int:
    if CONSTANT in alloc.attributes:
        return 1
    if plan.producer == Role.READER.value:
        return 0
    return 2 if plan.consumer == Role.WRITER.value else 3


def _free_index(first: int, taken: set[int], limit: int) -> int:
    candidates = [*range(first, limit), *range(first)]
    return next(index for index in candidates if index not in taken)


def _needs_zero(op: ElementwiseOp, accumulator: SSAValue | None) -> bool:
    """Whether a broadcast input is copied to DST, which the FPU does by adding it to zeros."""
    given = {} if accumulator is None else {list(op.inputs).index(accumulator): 0}
    return dst_program(op).needs_zero or dst_program(op, given).needs_zero
