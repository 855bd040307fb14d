"""`raise-thread-ranges`: a branch for a range of threads that holds tile operations is a role.

    if tx < 128:                        tile.ws custom role "group0" threads(0 to 128) {
        T.copy(A, A_shared)        ->     tile.copy %A, %A_shared }
    else:                               tile.ws custom role "group1" threads(128 to 256) {
        T.gemm(...)                       tile.gemm ... }

A tile operation is distributed over the threads that reach it. In a branch taken by a range of
whole warps these are the threads of a role, as ``T.ws`` declares them. Conditions are comparisons
of the thread index, or of a warp number, with constants, their conjunctions, and ``else``; branches
inside ``else`` are roles beside the first. What else a conjunction requires, the same for all
threads, is a branch inside of the role (``if rank == 0 and tx < 64``); then ``else`` must name
other threads. Branches without tile operations stay as they are: each thread runs its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.analysis.threads.thread_dependence import is_by_thread
from tilewright.dialects.arith import AndiOp, CmpiOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile import (
    CopyOp,
    FillOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    PipelineOp,
    ReduceByOp,
    ReduceOp,
    Role,
    ScaledGemmOp,
    ScanByOp,
    ScanOp,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
    WsOp,
    YieldOp,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import is_inside, walk
from tilewright.passes.tile.clone_ops import copy_op

_DISTRIBUTED = (
    *(CopyOp, FillOp, GemmOp, ParallelOp, PipelineOp, ScaledGemmOp),
    *(ReduceByOp, ReduceOp, ScanByOp, ScanOp),
    *(Tcgen05CommitOp, Tcgen05CopyScalesOp, Tcgen05GemmOp, TransposeScalesOp),
)
_CASTS = frozenset(("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"))
_DIVISIONS = frozenset(("arith.divsi", "arith.divui", "arith.floordivsi"))
_WARP_GROUP = 128

_EQ, _LT, _LE, _GT, _GE = 0, 2, 3, 4, 5
"""Predicates of ``arith.cmpi``; the unsigned ones follow in the same order."""
_UNSIGNED = 4


@dataclass(frozen=True)
class _Range:
    """Threads from `start` up to, and without, `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        return max(0, self.stop - self.start)

    def both(self, other: _Range) -> _Range:
        return _Range(max(self.start, other.start), min(self.stop, other.stop))

    def without(self, other: _Range) -> _Range | None:
        """The rest, if that is one range."""
        if other.start <= self.start:
            return _Range(max(self.start, other.stop), self.stop)
        return _Range(self.start, other.start) if other.stop >= self.stop else None


@dataclass(frozen=True)
class _Condition:
    """Threads for which a condition holds, if the same values for all threads do."""

    threads: _Range
    uniform: tuple[SSAValue, ...] = ()

    def both(self, other: _Condition) -> _Condition:
        return _Condition(self.threads.both(other.threads), self.uniform + other.uniform)


@dataclass(frozen=True)
class _Roles:
    """What a choice becomes."""

    branches: tuple[tuple[_Condition, Block], ...]
    values: tuple[Operation, ...] = ()
    """Ops before a nested choice, whose results its branches may use."""


@dataclass(frozen=True)
class RaiseThreadRanges(Pass):
    """Make branches for ranges of threads roles, where tile operations need it."""

    name = "raise-thread-ranges"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in [op for op in walk(module) if isinstance(op, KernelOp)]:
            threads = kernel.thread_extents or ()
            if any(extent != 1 for extent in threads[1:]):
                continue  # the index along one axis does not name a thread
            for choice in list(_outermost(kernel)):
                _raise(choice, _Range(0, kernel.num_threads or 0))


def needs_roles(module: ModuleOp) -> bool:
    """Whether a branch of some threads has tile operations."""
    return any(
        isinstance(op, IfOp) and _threads_of(op.condition, 1 << 30) is not None and _is_shared(op)
        for op in walk(module)
    )


def _outermost(kernel: KernelOp) -> Iterator[IfOp]:
    """Branches by the thread index, outside of roles and of loops over elements."""
    stack: list[Operation] = list(kernel.body.block.ops)
    while stack:
        op = stack.pop(0)
        if isinstance(op, IfOp) and _threads_of(op.condition, 1 << 30) is not None:
            yield op
        elif not isinstance(op, WsOp | ParallelOp):
            stack += [
                each for region in op.regions for block in region.blocks for each in block.ops
            ]


def _raise(choice: IfOp, all_threads: _Range) -> None:
    roles = _roles_of(choice, all_threads)
    if roles is None or not any(_has_tile_ops(block) for _, block in roles.branches):
        return
    warp = warp_size_of(choice)
    if any(each.threads.start % warp or each.threads.stop % warp for each, _ in roles.branches):
        return  # reported by check-divergent-code, with what would help
    rewriter = Rewriter()
    for op in roles.values:
        op.detach()
        rewriter.insert_before(choice, op)
    for taken, block in roles.branches:
        threads = taken.threads
        last = block.last_op
        if last is None or last is block.first_op:
            continue  # nothing but the end
        rewriter.erase(last)
        body = Region(Block([YieldOp()]))
        end = body.block.last_op
        assert end is not None
        for op in list(block.ops):
            op.detach()
            body.block.insert_op_before(op, end)
        _compute_inside(body.block)
        if taken.uniform:
            body = Region(_guarded(body, taken.uniform))
        role = Role(_name(threads), ((threads.start, threads.stop),))
        rewriter.insert_before(choice, WsOp([role], [body], custom=True))
    condition = choice.condition
    rewriter.erase(choice)
    for value in (condition, *(op.results[0] for op in reversed(roles.values) if op.results)):
        _erase_unused(value, rewriter)


def _guarded(body: Region, conditions: Sequence[SSAValue]) -> Block:
    """A block that runs the body where all of the conditions hold."""
    inner = body.detach_block(body.block)
    end = inner.last_op
    assert end is not None  # a body is ended
    end.detach()
    inner.add_op(ScfYieldOp())
    outer = Block()
    holds = conditions[0]
    for each in conditions[1:]:
        outer.add_op(both := AndiOp(holds, each))
        holds = both.results[0]
    outer.add_op(IfOp(holds, [], Region(inner)))
    outer.add_op(end)
    return outer


def _erase_unused(value: SSAValue, rewriter: Rewriter) -> None:
    """Code outside of roles that does not need the thread index is the same for all threads."""
    op = value.owner
    if not isinstance(op, Operation) or op.parent is None or not is_side_effect_free(op):
        return
    if any(result.first_use is not None for result in op.results):
        return
    operands = list(op.operands)
    rewriter.erase(op)
    for operand in operands:
        _erase_unused(operand, rewriter)


def _compute_inside(block: Block) -> None:
    """Compute what a role uses of its threads' indices by its threads: others have other ones."""
    values: dict[SSAValue, SSAValue] = {}
    first = block.first_op
    assert first is not None  # a body is ended
    rewriter = Rewriter()
    for op in [each for top in block.ops for each in walk(top)]:
        for position, operand in enumerate(op.operands):
            if not is_inside(operand, block) and is_by_thread(operand):
                _copy_before(first, operand, values, rewriter)
                op.operands[position] = values[operand]


def _copy_before(
    first: Operation, value: SSAValue, values: dict[SSAValue, SSAValue], rewriter: Rewriter
) -> None:
    """Compute `value` again before `first`, from the thread index on."""
    op = value.owner
    if value in values or not isinstance(op, Operation) or not is_by_thread(value):
        return
    if op.regions or not is_side_effect_free(op):
        values[value] = value  # one that was loaded stays as it is
        return
    for operand in op.operands:
        _copy_before(first, operand, values, rewriter)
    rewriter.insert_before(first, copy_op(op, values))


def _name(threads: _Range) -> str:
    """As ``T.ws`` names whole warp groups."""
    if threads.start % _WARP_GROUP or threads.stop % _WARP_GROUP:
        return f"threads{threads.start}_{threads.stop}"
    groups = range(threads.start // _WARP_GROUP, threads.stop // _WARP_GROUP)
    return "group" + "_".join(map(str, groups))


def _roles_of(choice: IfOp, threads: _Range) -> _Roles | None:
    """The roles that a choice is; None if its threads are not ranges, or values come out."""
    condition = _threads_of(choice.condition, threads.stop)
    if condition is None or choice.results:
        return None
    condition = _Condition(threads.both(condition.threads), condition.uniform)
    taken = condition.threads
    found = ((condition, choice.then_region.block),) if taken.start < taken.stop else ()
    block = choice.else_region.first_block
    if block is None:
        return _Roles(found)
    rest = None if condition.uniform else threads.without(taken)
    # Threads on both sides, or some of the same ones: `else` must name others.
    is_open = rest is None
    rest = threads if rest is None else rest
    inner = _only_choice(block)
    nested = None if inner is None else _roles_of(inner, rest)
    if is_open and (
        nested is None or any(each.threads.both(taken).size for each, _ in nested.branches)
    ):
        return None  # some of these threads run both, in different blocks
    if nested is not None:
        computed = tuple(op for op in block.ops if op is not inner and op is not block.last_op)
        return _Roles(found + nested.branches, computed + nested.values)
    return _Roles((*found, (_Condition(rest), block)) if rest.size else found)


def _only_choice(block: Block) -> IfOp | None:
    """The branch that is all a block does, besides computing values."""
    effects = [
        op
        for op in block.ops
        if op is not block.last_op and (op.regions or not is_side_effect_free(op))
    ]
    only = effects[0] if len(effects) == 1 else None
    return only if isinstance(only, IfOp) else None


def _is_shared(choice: IfOp) -> bool:
    return any(isinstance(op, _DISTRIBUTED) for op in walk(choice))


def _has_tile_ops(block: Block) -> bool:
    return any(isinstance(op, _DISTRIBUTED) for each in block.ops for op in walk(each))


def _threads_of(condition: SSAValue, count: int) -> _Condition | None:
    """The threads for which `condition` holds, if it compares their index with constants."""
    owner = condition.owner
    if isinstance(owner, AndiOp):
        sides = [_side(each, count) for each in owner.operands]
        if sides[0] is None or sides[1] is None:
            return None
        found = sides[0].both(sides[1])
        return None if len(found.uniform) == _terms(condition) else found
    threads = _compared(condition, count)
    return None if threads is None else _Condition(threads)


def _side(condition: SSAValue, count: int) -> _Condition | None:
    """One side of a conjunction: threads, or a value that is the same for all of them."""
    found = _threads_of(condition, count)
    if found is not None:
        return found
    return None if is_by_thread(condition) else _Condition(_Range(0, count), (condition,))


def _terms(condition: SSAValue) -> int:
    owner = condition.owner
    return sum(map(_terms, owner.operands)) if isinstance(owner, AndiOp) else 1


def _compared(condition: SSAValue, count: int) -> _Range | None:
    owner = condition.owner
    if not isinstance(owner, CmpiOp):
        return None
    predicate = owner.predicate.value.data
    predicate -= _UNSIGNED if predicate > _GE else 0
    left, right = owner.operands
    if _unit_of_thread(right) is not None:
        left, right = right, left
        predicate = {_LT: _GT, _LE: _GE, _GT: _LT, _GE: _LE}.get(predicate, predicate)
    bound, unit = constant_value(right), _unit_of_thread(left)
    if unit is None or not isinstance(bound, IntegerAttr):
        return None
    value = bound.value.data
    found = {
        _EQ: _Range(value * unit, (value + 1) * unit),
        _LT: _Range(0, value * unit),
        _LE: _Range(0, (value + 1) * unit),
        _GT: _Range((value + 1) * unit, count),
        _GE: _Range(value * unit, count),
    }.get(predicate)
    return None if found is None else found.both(_Range(0, count))


def _unit_of_thread(value: SSAValue) -> int | None:
    """How many threads share a value that counts them: 1 for their index, 32 for a warp's."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in _CASTS:
        owner = owner.operands[0].owner
    if isinstance(owner, ThreadIdOp) and owner.dimension.data.value == "x":
        return 1
    if isinstance(owner, Operation) and owner.name in _DIVISIONS:
        divisor, inner = constant_value(owner.operands[1]), _unit_of_thread(owner.operands[0])
        if inner is not None and isinstance(divisor, IntegerAttr) and divisor.value.data > 0:
            return inner * divisor.value.data
    return None
