"""Loops and branches.

Scalars stay values: ``iter_args`` and results. Tensors are in buffers, which the body updates.
Pointers are gone: addresses are functions of the counters. A loop counts its iterations from 0, so
that counters of the address analysis are the loop's own index::

    scf.for %k = %lo to %hi step %s      scf.for %t = 0 to ceildiv(%hi - %lo, %s)
                                           %k = %lo + %t * %s
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.affine import Atom
from tilewright.analysis.raising.kinds import SchedulableGemm, is_data_tensor, is_scalar
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.arith import AddiOp, CeildivsiOp, IndexCastOp, MaxsiOp, MuliOp, SubiOp
from tilewright.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from tilewright.dialects.tile import PipelineOp
from tilewright.ir.interfaces import constant_value
from tilewright.passes.raising.builder import INDEX
from tilewright.passes.raising.groups import flush
from tilewright.passes.raising.moves import accesses_of, assign
from tilewright.passes.raising.state import Raising

EmitOps = Callable[[Raising, Iterable[Operation]], None]


def _integer(value: SSAValue) -> int | None:
    found = constant_value(value)
    data = getattr(getattr(found, "value", None), "data", None)
    return data if isinstance(data, int) else None


def _moves(
    state: Raising, targets: Sequence[SSAValue], sources: Sequence[SSAValue]
) -> list[tuple[Slot, SSAValue]]:
    """What goes into the buffers of `targets`."""
    found: list[tuple[Slot, SSAValue]] = []
    for target, source in zip(targets, sources, strict=True):
        slot = state.slot(target)
        if is_data_tensor(target) and slot is not None:
            found.append((slot, source))
    return found


def _scalars(targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> list[SSAValue]:
    return [source for target, source in zip(targets, sources, strict=True) if is_scalar(target)]


def _bind(state: Raising, targets: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """Scalars among `targets`, in order, are `values`."""
    for target, value in zip((each for each in targets if is_scalar(each)), values, strict=True):
        value.name_hint = target.name_hint
        state.scalars[target] = value


# for


def emit_for(state: Raising, op: ForOp, emit: EmitOps) -> None:
    assign(state, op, _moves(state, op.iter_args, op.init_args))
    flush(state)
    trips = _trip_count(state, op)
    stages = state.plan.loops[op].stages
    body = op.body.block
    steps = state.plan.loops[op].steps
    carried_args = [each for at, each in enumerate(op.iter_args) if at not in steps]
    inits = [] if stages else _scalars(carried_args, _without(op.init_args, steps))
    loop: PipelineOp | ForOp
    if stages:
        loop = PipelineOp(0, trips, num_stages=stages)
    else:
        zero, one = state.at.index(0), state.at.index(1)
        loop = ForOp(zero, trips, one, [state.scalar(init) for init in inits])
    inner = state.at.inside(loop.body.block)
    outside = state.move_to(inner)
    counter, *carried = loop.body.block.args
    counter.name_hint = "t"
    symbol = state.plan.addresses.counters.get(op)
    if symbol is not None:
        state.symbols.counters[symbol] = counter
    if not stages:
        _bind(state, carried_args, carried)
    _bind_variable(state, op, counter)
    for position in steps:
        _bind_step(state, op, position, counter, op.iter_args[position])
    end = body.last_op
    assert end is not None
    last = _trailing_gemms(body)
    moves = _moves(state, op.iter_args, end.operands)
    before = [] if _reads_any(state, last, moves) else _independent(moves, last)
    emit(state, [each for each in body.ops if each not in last])
    state.on_behalf_of(end)
    assign(state, end, before)
    flush(state)
    emit(state, last)
    state.on_behalf_of(end)
    assign(state, end, [move for move in moves if move not in before])
    flush(state)
    if inits:
        left = _without(end.operands, steps)
        yielded = [state.scalar(each) for each in _scalars(carried_args, left)]
        inner.add(YieldOp(yielded))
    state.move_to(outside)
    state.on_behalf_of(op)
    outside.add(loop)
    if not stages:
        _bind(state, _without(op.results, steps), loop.results)
    if steps:
        made = state.at.value(MaxsiOp(trips, state.at.index(0)))
        for position in steps:
            _bind_step(state, op, position, made, op.results[position])


def _without(values: Sequence[SSAValue], left_out: Container[int]) -> list[SSAValue]:
    return [each for position, each in enumerate(values) if position not in left_out]


def _bind_step(state: Raising, op: ForOp, position: int, count: SSAValue, target: SSAValue) -> None:
    """A loop-carried integer that grows by a step: its value after `count` iterations."""
    if target.first_use is None:
        return
    at, step = state.at, state.plan.loops[op].steps[position]
    distance = at.value(MuliOp(at.from_index(count, target.type), state.scalar(step)))
    value = at.value(AddiOp(state.scalar(op.init_args[position]), distance))
    value.name_hint = target.name_hint
    state.scalars[target] = value


def _trailing_gemms(body: Block) -> list[Operation]:
    """The GEMMs that end an iteration: nothing else of it uses their results."""
    found: list[Operation] = []
    for op in reversed([*body.ops][:-1]):
        if not isinstance(op, SchedulableGemm):
            break
        found.insert(0, op)
    return found


def _reads_any(
    state: Raising, gemms: Sequence[Operation], moves: Sequence[tuple[Slot, SSAValue]]
) -> bool:
    """Whether GEMMs use a buffer that a carried value goes to, their own accumulators excepted."""
    slots = {
        slot for slot, value in moves if value.owner not in gemms and state.slot(value) is not slot
    }
    reads, _ = accesses_of(state, [(operand, False) for op in gemms for operand in op.operands])
    used = {slot for _, slot, _ in reads} | {state.slot(op.results[0]) for op in gemms}
    return bool(slots & used)


def _independent(
    moves: Sequence[tuple[Slot, SSAValue]], gemms: Sequence[Operation]
) -> list[tuple[Slot, SSAValue]]:
    return [(slot, value) for slot, value in moves if value.owner not in gemms]


def _trip_count(state: Raising, op: ForOp) -> SSAValue:
    at = state.at
    upper = at.to_index(state.scalar(op.upper_bound))
    lower, step = _integer(op.lower_bound), _integer(op.step)
    if lower != 0:
        upper = at.value(SubiOp(upper, at.to_index(state.scalar(op.lower_bound))))
    if step != 1:
        upper = at.value(CeildivsiOp(upper, at.to_index(state.scalar(op.step))))
    return upper


def _bind_variable(state: Raising, op: ForOp, counter: SSAValue) -> None:
    at, variable = state.at, op.induction_variable
    type = variable.type
    value = counter if type == INDEX else at.value(IndexCastOp(counter, type))
    if _integer(op.step) != 1:
        value = at.value(MuliOp(value, state.scalar(op.step)))
    if _integer(op.lower_bound) != 0:
        value = at.value(AddiOp(value, state.scalar(op.lower_bound)))
    value.name_hint = variable.name_hint
    state.scalars[variable] = value


# if


def emit_if(state: Raising, op: IfOp, emit: EmitOps) -> None:
    flush(state)
    types = [result.type for result in op.results if is_scalar(result)]
    regions = [
        _branch(state, op, region, emit) for region in op.regions if region.first_block is not None
    ]
    if len(regions) < 2 and (types or any(is_data_tensor(each) for each in op.results)):
        raise AssertionError("a branch with results has both sides")
    state.on_behalf_of(op)
    made = IfOp(state.scalar(op.condition), types, *regions)
    state.at.add(made)
    _bind(state, op.results, made.results)


def _branch(state: Raising, op: IfOp, region: Region, emit: EmitOps) -> Region:
    block = Block()
    inner = state.at.inside(block)
    outside = state.move_to(inner)
    emit(state, region.block.ops)
    end = region.block.last_op
    assert end is not None
    state.on_behalf_of(end)
    assign(state, end, _moves(state, op.results, end.operands))
    flush(state)
    inner.add(YieldOp([state.scalar(each) for each in _scalars(op.results, end.operands)]))
    state.move_to(outside)
    return Region(block)


# while


def emit_while(state: Raising, op: WhileOp, emit: EmitOps) -> None:
    before, after = op.before_region.block, op.after_region.block
    assign(state, op, _moves(state, before.args, op.operands))
    flush(state)
    inits = [state.scalar(each) for each in _scalars(before.args, op.operands)]
    types = [result.type for result in op.results if is_scalar(result)]
    symbol = state.plan.addresses.counters.get(op)
    is_counted = symbol is not None and symbol in state.plan.counters
    if is_counted:
        inits, types = [*inits, state.at.index(0)], [*types, INDEX]
    loop = WhileOp(inits, types)
    inner = state.at.inside(loop.before_region.block)
    outside = state.move_to(inner)
    counter = _count(state, symbol, loop.before_region.block) if is_counted else []
    _bind(state, before.args, _first(loop.before_region.block.args, counter))
    emit(state, before.ops)
    condition = before.last_op
    assert isinstance(condition, ConditionOp)
    assign(state, condition, _moves(state, after.args, condition.arguments))
    flush(state)
    forwarded = [state.scalar(each) for each in _scalars(after.args, condition.arguments)]
    inner.add(ConditionOp(state.scalar(condition.condition), [*forwarded, *counter]))
    inner = outside.inside(loop.after_region.block)
    state.move_to(inner)
    counter = _count(state, symbol, loop.after_region.block) if is_counted else []
    _bind(state, after.args, _first(loop.after_region.block.args, counter))
    emit(state, after.ops)
    end = after.last_op
    assert end is not None
    assign(state, end, _moves(state, before.args, end.operands))
    flush(state)
    yielded = [state.scalar(each) for each in _scalars(before.args, end.operands)]
    following = [inner.value(AddiOp(each, inner.index(1))) for each in counter]
    inner.add(YieldOp([*yielded, *following]))
    state.move_to(outside)
    state.on_behalf_of(op)
    outside.add(loop)
    _bind(state, op.results, _first(loop.results, counter))


def _count(state: Raising, symbol: Atom | None, block: Block) -> list[SSAValue]:
    """The counter of a loop with a condition: its last argument, on which addresses depend."""
    counter = block.args[-1]
    counter.name_hint = "t"
    assert symbol is not None
    state.symbols.counters[symbol] = counter
    return [counter]


def _first(values: Sequence[SSAValue], counter: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The values without the counter, which comes last."""
    return values[: len(values) - len(counter)]
