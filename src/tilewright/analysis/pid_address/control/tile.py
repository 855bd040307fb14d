"""Control flow of the tile language: blocks are programs, parallel iterations are lanes.

tile.kernel       its indices are program ids; of several kernels one is analysed at a time
tile.parallel     its indices are lanes, of every access inside
tile.pipeline     a loop like ``scf.for`` with step 1
tile.persistent   a loop over the tiles that one worker visits
tile.ws           every role runs
gpu.thread_id     an iteration of a loop over the threads of the block
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address.control.loops import enter_loop
from tilewright.analysis.pid_address.control.regions import run_region
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.integers import total
from tilewright.analysis.pid_address.transfer.tile import mixed
from tilewright.analysis.pid_address.values import Integer
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.tile import AssumeOp, KernelOp, ParallelOp, PersistentOp, PipelineOp, WsOp
from tilewright.ir.traversal import walk

MAX_LANES = 1 << 20
"""Iterations of a parallel loop along one dimension that become lanes."""
THREADS = "threads"


def run_kernel(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, KernelOp)
    if scope.machine.tile_kernel is not op:
        return scope
    inner = scope
    counts = [mixed(scope, count) for count in op.grid]
    scope.machine.tile_grid = [count.expr for count in counts]
    pids: list[Integer] = []
    for pid, count in zip(scope.atoms.pids, counts, strict=False):
        inner = inner.knowing(inner.ctx.compare("<", pid, count.expr))
        pids.append(Integer(pid, pid, basis=count.basis))
    run_region(_threads(inner, op), op.body, pids)
    return scope


def _threads(scope: Scope, op: KernelOp) -> Scope:
    """The body, once for each thread where the kernel reads the thread index."""
    queried = [one for one in walk(op) if isinstance(one, ThreadIdOp)]
    axes = sorted({"xyz".index(one.dimension.data.value) for one in queried})
    for axis in axes:
        extents = op.thread_extents or ()
        count = scope.space.const(extents[axis] if axis < len(extents) else 1)
        loop, scope = enter_loop(scope, f"{THREADS}.{'xyz'[axis]}", count)
        counter = scope.space.of_atom(loop.counter)
        for one in queried:
            if "xyz".index(one.dimension.data.value) == axis:
                scope.set(one.results[0], Integer(counter, counter))
    return scope


def thread_id(scope: Scope, op: Operation) -> Scope:
    """Set when the kernel was entered; elsewhere nothing is known of it."""
    if op.results[0] not in scope.env:
        scope.set_unknown(op, scope.atoms.unsupported | scope.atoms.any_pid)
    return scope


def run_parallel(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, ParallelOp)
    extents = [mixed(scope, extent) for extent in op.extents]
    body, indices = scope, list[Integer]()
    for argument, extent in zip(op.arguments, extents, strict=True):
        limit = body.ctx.range(extent.expr).hi
        if limit is None or limit > MAX_LANES:
            loop, body = enter_loop(body, scope.machine.name(argument), extent.expr, extent.basis)
            index = body.space.of_atom(loop.counter)
        else:
            count = max(limit, 1)
            index = body.atoms.lane(len(body.lane_shape), count)
            body = replace(body, lane_shape=(*body.lane_shape, count))
            body = body.under(body.ctx.compare("<", index, extent.expr), extent.basis)
        indices.append(Integer(index, index))
    run_region(body, op.body, indices)
    return scope


def run_pipeline(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, PipelineOp)
    lower, upper = mixed(scope, op.lower), mixed(scope, op.upper)
    trips = scope.ctx.maximum(0, upper.expr - lower.expr)
    name = scope.machine.name(op.induction_variable)
    loop, body = enter_loop(scope, name, trips, lower.basis | upper.basis)
    counter = scope.space.of_atom(loop.counter)
    index = total(body, op.induction_variable, lower, Integer(counter, counter))
    run_region(body, op.body, [index])
    return scope


def run_persistent(scope: Scope, op: Operation) -> Scope:
    """Tile index ``iteration * wave + index``, split into digits as the op defines."""
    assert isinstance(op, PersistentOp)
    ctx = scope.ctx
    domain = [mixed(scope, extent).expr for extent in op.domain]
    wave, index = mixed(scope, op.wave_size), scope.integer(op.index)
    group = ctx.maximum(1, ctx.minimum(op.group_size, domain[-1]))
    radices = [ctx.ceil_div(domain[-1], group), *domain[:-1], group]
    count = scope.space.one
    for radix in radices:
        count = count * radix
    trips = ctx.maximum(0, ctx.ceil_div(count - index.expr, wave.expr))
    loop, body = enter_loop(scope, "tile", trips, wave.basis | index.basis)
    linear = scope.space.of_atom(loop.counter) * wave.expr + index.expr
    body = body.under(body.ctx.compare("<", linear, count))
    digits: list[Poly] = []
    for radix in reversed(radices):
        digits.insert(0, body.ctx.mod(linear, radix))
        linear = body.ctx.fdiv(linear, radix)
    coordinates = [*digits[1:-1], digits[0] * group + digits[-1]]
    for coordinate, extent in zip(coordinates, domain, strict=True):
        body = body.under(body.ctx.compare("<", coordinate, extent))
    basis = wave.basis | index.basis
    run_region(
        body, op.body, [Integer(coordinate, coordinate, basis=basis) for coordinate in coordinates]
    )
    return scope


def run_roles(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, WsOp)
    for body in op.bodies:
        run_region(scope, body)
    return scope


def assume(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, AssumeOp)
    return scope.knowing(scope.formula(op.operands[0]).formula)
