"""Launches and roles: functions inside the function of the module.

    def kernel(bx, by):             rt.launch(kernel, (gx, gy), (128,))
        ...
        def producer(): ...         yield from rt.roles(("producer", producer, 128), …)

Kernels with more than one legal order of events, and all roles, are generators. Consecutive
roles in the IR run concurrently: no task waits between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.analysis.threads.thread_dependence import names_threads
from tilewright.dialects.gpu import DimensionOp
from tilewright.dialects.nv import MBarrierArriveOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.kernel import KernelOp, kernel_of
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.emitter import Emitter, Rule, symbol_text
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.tile.emitter import LANE, TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.ops.sync import warp_argument
from tilewright.targets.numpy.tile.patterns import PER_THREAD
from tilewright.targets.numpy.values import Expr, Tensor


def _kernel(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, KernelOp)
    grid = [emitter.uniform(extent, "a grid") for extent in op.grid]
    arguments = op.body.block.args
    function = emitter.unit.symbol("kernel")
    symbols = [
        emitter.unit.symbol(hint_of_value(a, f"b{'xyz'[n]}")) for n, a in enumerate(arguments)
    ]
    header = f"def {symbol_text(function)}({', '.join(symbol_text(symbol) for symbol in symbols)}):"
    threads = op.thread_extents or (1,)
    with emitter.nested(header, is_function=True):
        for argument, symbol in zip(arguments, symbols, strict=True):
            emitter.define(argument, Tensor(emitter.variable(symbol, 0)))
        if emitter.unit.is_concurrent:
            emitter.in_task = True
            emitter.step()
        with_threads(emitter, op.body.block, threads, outside_roles=True)
        emitter.in_task = False
    emitter.location = op.location
    options = ""
    if op.raster is not None:
        options += f", raster=({op.raster.data.order!r}, {op.raster.data.panel})"
    if op.cluster_extents is not None:
        options += f", cluster={op.cluster_extents}"
    if any(_waits_for_blocks(each) for each in walk(op)):
        options += ", together=True"
    elif any(_reaches_out(each) for each in walk(op)):
        options += ", pairs=True"
    written = [emitter.buffer(base) for base in _written(op) if base in emitter.memory]
    if written:
        options += f", written={emitter.listed(written)}"
    text = f"rt.launch({symbol_text(function)}, {emitter.listed(grid)}, {threads}{options})"
    emitter.effect(text, *grid, *written)


def _written(op: KernelOp) -> list[SSAValue]:
    """Tensors from outside of a kernel that it writes."""
    found = dict.fromkeys(region.base for region in writes(op) if region.space is Space.GLOBAL)
    return [base for base in found if not op.is_ancestor(base.owner)]


def _reaches_out(op: Operation) -> bool:
    """Whether a block uses memory or barriers of another block of its cluster there."""
    if isinstance(op, MBarrierArriveOp):
        return op.cta is not None
    if op.name == "nv.clc.try_cancel":
        return True
    return op.name.startswith("tile.tcgen05_") and "two_cta" in op.properties


def _waits_for_blocks(op: Operation) -> bool:
    """Whether a block waits for other blocks there."""
    if op.name.startswith("nv.cluster.wait"):
        return True
    return isinstance(op, SyncOp) and op.scope.data in ("grid", "cluster")


def with_threads(
    emitter: TileEmitter, block: Block, threads: Sequence[int], *, outside_roles: bool
) -> None:
    """Write a block; over its threads if it names them."""
    state = emitter.threads, emitter.control, emitter.divergence
    named = [op for op in block.ops if not (outside_roles and isinstance(op, WsOp))]
    if any(names_threads(op) for op in named):
        extents = ", ".join(str(extent) for extent in reversed(tuple(threads)))
        lanes = emitter.statement(f"rt.parallel({extents})", hint="threads")
        emitter.threads, emitter.control, emitter.divergence = lanes, lanes, 0
    emitter.block(block)
    emitter.threads, emitter.control, emitter.divergence = state


def _ws(base: Emitter, op: Operation) -> None:
    """Roles, with those of the ops that follow directly; only pure ops may occur between them."""
    emitter = tile(base)
    assert isinstance(op, WsOp)
    if emitter.lanes is not None or emitter.divergence:
        raise emitter.unsupported(
            "T.ws is not supported inside a parallel loop or a divergent branch"
        )
    texts: list[str] = []
    whole: list[tuple[Role, SSAValue]] = []
    kernel = kernel_of(op)
    threads = prod((kernel.thread_extents if kernel is not None else None) or (1,))
    for each in _row(emitter, op):
        for role, region in zip(each.roles, each.regions, strict=True):
            symbol, owned = _role(emitter, each, role, region.block)
            texts.append(f"({role.name!r}, {symbol_text(symbol)}, {role.num_threads})")
            if each.is_custom and role.num_threads == threads:
                whole += [(role, value) for value in owned]
    emitter.location = op.location
    emitter.effect(f"yield from rt.roles({', '.join(texts)})")
    for role, value in whole:
        emitter.effect(f"give_back({{0}}, {role.ranges!r})", emitter.memory[value])


def _row(emitter: TileEmitter, first: WsOp) -> list[WsOp]:
    """Concurrent roles; values computed between them are emitted before."""
    row, between = [first], list[Operation]()
    current = first.next_op
    while current is not None and (isinstance(current, WsOp) or _is_plain(current)):
        if isinstance(current, WsOp):
            for each in between:
                emitter.op(each)
            emitter.written.update(between)
            emitter.written.add(current)
            between.clear()
            row.append(current)
        else:
            between.append(current)
        current = current.next_op
    return row


def _is_plain(op: Operation) -> bool:
    """Whether it does not matter when an op runs."""
    return not op.regions and is_side_effect_free(op)


def _role(emitter: TileEmitter, op: WsOp, role: Role, block: Block) -> tuple[int, list[SSAValue]]:
    """The function of a role, and what of its threads it works on."""
    symbol = emitter.unit.symbol(role.name)
    emitter.location = op.location
    state = emitter.threads, emitter.control
    emitter.threads, emitter.control = None, emitter.runtime
    with emitter.nested(f"def {symbol_text(symbol)}():", is_function=True):
        emitter.step()
        saved = _own_buffers(emitter, block, role if op.is_custom else None)
        emitter.first_thread = role.ranges[0][0] if op.is_custom else 0
        with_threads(emitter, block, (role.num_threads,), outside_roles=False)
        emitter.first_thread = 0
        emitter.memory.update(saved)
    emitter.threads, emitter.control = state
    return symbol, [value for value in saved if value not in emitter.private]


def _own_buffers(emitter: TileEmitter, block: Block, role: Role | None) -> dict[SSAValue, Expr]:
    """Give the threads of a role their own thread-private buffers; returns the previous ones.

    Threads of a user-written role preserve them for the next role.
    """
    saved: dict[SSAValue, Expr] = {}
    for op in block.ops:
        for each in walk(op):
            for operand in each.operands:
                space = space_of(operand.type)
                if operand in saved or space not in PER_THREAD or operand not in emitter.memory:
                    continue
                saved[operand] = emitter.memory[operand]
    for value, expr in saved.items():
        hint = value.name_hint or "own"
        is_preserved = role is not None and value not in emitter.private
        text = f"own({{0}}, {role.ranges!r})" if role is not None and is_preserved else "{0}.copy()"
        emitter.memory[value] = emitter.statement(text, expr, hint=hint)
    return saved


# Threads.


def _thread_id(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    lanes = emitter.threads
    if lanes is None or emitter.lanes is not None:
        raise emitter.unsupported(
            "the thread index is not available inside T.Parallel", "use the loop index"
        )
    axis = _axis(op)
    text = f"thread_index({{0}}, {axis}, {emitter.first_thread})"
    expr = emitter.pure(text, lanes, axes=LANE, rank=0, hint=f"t{'xyz'[axis]}")
    emitter.define(op.results[0], Tensor(expr))


def _about(what: str) -> Rule:
    """A number of the launch along one of its dimensions."""

    def rule(base: Emitter, op: Operation) -> None:
        emitter = tile(base)
        text = f"i64((*rt.{what}, 1, 1, 1)[{_axis(op)}])"
        expr = emitter.here(text, axes=0, rank=0, hint=what)
        emitter.define(op.results[0], Tensor(expr))

    return rule


def _axis(op: Operation) -> int:
    """The dimension an id is about: x, y or z."""
    assert isinstance(op, DimensionOp)
    return "xyz".index(op.dimension.data.value)


def _cluster_rank(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    expr = emitter.here("rt.cluster_rank()", axes=0, rank=0, hint="rank")
    emitter.define(op.results[0], Tensor(expr))


def _elect(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert emitter.threads is not None, "a block that elects a thread names them"
    text = f"elected({{0}}{warp_argument(op)})"
    expr = emitter.pure(text, emitter.threads, axes=LANE, rank=0, hint="elected")
    emitter.define(op.results[0], Tensor(expr))


RULES: dict[str, Rule] = {
    "tile.kernel": _kernel,
    "tile.ws": _ws,
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _about("block"),
    "gpu.block_dim": _about("threads"),
    "gpu.grid_dim": _about("grid"),
    "nv.cluster.rank": _cluster_rank,
    "nv.elect": _elect,
}
