"""The `scf` dialect: loops and branches.

Whether programs can differ in what they do is known from the live axes of bounds and conditions.
Where they cannot, Python's own `for`, `while` and `if` are written; where they can, the same with
the helpers of `support/control.py` around.

What a loop carries is not known before its body is written: a sum that starts as the scalar 0 is a
matrix after one iteration. So the body is written with what is known, and again if it yields more;
the result is cached for nested loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tt.atomics import AtomicRMWOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.carry import Packing, join, widened
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops.arith.integer import is_positive
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.ops.regions import (
    Carried,
    joined_packings,
    packings_of,
    same,
    values_of,
)
from tilewright.targets.numpy.values import Expr, Nest, Scope, Tensor, union


@dataclass(frozen=True)
class _Known:
    """What was found out about a loop."""

    packings: Sequence[Packing]
    differ: bool


def _joined(
    emitter: Emitter, packings: Sequence[Packing], op: Operation, differ: bool
) -> list[Packing]:
    """Packings that also hold what a terminator forwards."""
    values = values_of(emitter, op.operands)
    found = packings_of(emitter, values, differ=differ)
    return [join(old, new) for old, new in zip(packings, found, strict=True)]


def _both(before: _Known | None, start: _Known) -> _Known:
    """What holds for an earlier attempt of the loop around, and for this one."""
    if before is None:
        return start
    packings = [
        join(one, other) for one, other in zip(before.packings, start.packings, strict=True)
    ]
    return _Known(packings, before.differ or start.differ)


def _until_stable(
    emitter: Emitter, op: Operation, start: _Known, attempt: Callable[[_Known], _Known | None]
) -> None:
    """Write a loop, again with what was learned until nothing new is."""
    known: _Known | None = _both(cast("_Known | None", emitter.carried.get(op)), start)
    while known is not None:
        emitter.carried[op] = known
        sites, source_sites = len(emitter.unit.sites), len(emitter.unit.source_sites)
        depth = len(emitter.scopes)
        learned = attempt(known)
        if learned is not None:
            del emitter.unit.sites[sites:]
            del emitter.unit.source_sites[source_sites:]
            del emitter.scopes[depth:]
        known = learned


# Counted loops.


def _for(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ForOp)
    bounds = [emitter.tensor(bound) for bound in op.operands[:3]]
    for bound in bounds:
        require_defined(emitter, bound, "the bound of a loop", ())
    exprs = [bound.expr for bound in bounds]
    if op.unsigned is not None:
        view = f"{{0}}.view({emitter.scalar_type(op.lower_bound).unsigned})"
        exprs = [emitter.pure(view, expr) for expr in exprs]
    differ = union(*exprs) != 0
    inits = values_of(emitter, op.init_args)
    packings = packings_of(emitter, inits, differ=differ)
    if not is_positive(bounds[2].expr):
        source_id = emitter.unit.source_id(op.location)
        emitter.effect(f"{{0}}.advance({source_id}, {{1}}, {{2}}, {{3}})", emitter.control, *exprs)
    emitter.loops += 1
    _until_stable(
        emitter, op, _Known(packings, differ), lambda known: _try_for(emitter, op, exprs, known)
    )
    emitter.loops -= 1


def _try_for(emitter: Emitter, op: ForOp, bounds: Sequence[Expr], known: _Known) -> _Known | None:
    location = op.location
    emitter.location = location
    depth = len(emitter.scopes)
    hints = [hint_of_value(argument) for argument in op.iter_args]
    types = [argument.type for argument in op.iter_args]
    carried = Carried(emitter, types, known.packings, hints, depth)
    inits = carried.fitted(values_of(emitter, op.init_args))
    loop = None
    if known.differ:
        text = "{0}.loop({1}, {2}, {3})"
        loop = emitter.here(text, emitter.control, *bounds, axes=0, rank=0, hint="loop")
    before = carried.assign(inits)
    scope = Scope()
    emitter.scopes.append(scope)
    header, index = _for_header(emitter, op, bounds, loop)
    emitter.define(op.induction_variable, Tensor(index))
    for argument, value in zip(op.iter_args, carried.values(depth), strict=True):
        emitter.define(argument, value)
    emitter.block(op.body_block)
    emitter.location = location
    learned = _joined(emitter, known.packings, op.yield_op, known.differ)
    if not same(learned, known.packings):
        emitter.scopes.pop()
        emitter.scope.lines.remove(before)
        return _Known(learned, known.differ)
    news = carried.fitted(values_of(emitter, op.yield_op.operands))
    wrapper = "{new}" if loop is None else f"{loop.text}.keep({{old}}, {{new}})"
    carried.assign(news, wrapper)
    carried.unify(inits, news)
    emitter.scopes.pop()
    deps = tuple(p.line for p in (*bounds, *([] if loop is None else [loop])) if p.line is not None)
    emitter.scope.lines.append(Nest(header, (), deps, location, is_effect=True, scope=scope))
    for result, value in zip(op.results, carried.values(emitter.depth), strict=True):
        emitter.define(result, value)
    return None


def _for_header(
    emitter: Emitter, op: ForOp, bounds: Sequence[Expr], loop: Expr | None
) -> tuple[str, Expr]:
    """The header, and the induction variable."""
    hint = hint_of_value(op.induction_variable, "k")
    type = emitter.scalar_type(op.induction_variable)
    symbol = emitter.unit.symbol(hint)
    counter = emitter.variable(symbol, 0 if loop is None else 1)
    low, high, step = (bound.text for bound in bounds)
    if loop is not None:
        iterations = loop.text
    else:
        dtype = type.name if op.unsigned is None else type.unsigned
        if not is_positive(emitter.expr(op.operands[2])):
            # A loop that `advance` accepts has no iterations, whatever the step.
            step = f"max({step}, 1)"
        iterations = f"np.arange({low}, {high}, {step}, dtype={dtype})"
    header = f"for {counter.text} in {iterations}:"
    if op.unsigned is not None:
        return header, emitter.pure(f"{{0}}.view({type.name})", counter)
    return header, counter


# Loops with a condition.


def _while(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WhileOp)
    packings = packings_of(emitter, values_of(emitter, op.inits))
    emitter.loops += 1

    def attempt(known: _Known) -> _Known | None:
        with emitter.diverging(known.differ):
            return _try_while(emitter, op, known)

    _until_stable(emitter, op, _Known(packings, False), attempt)
    emitter.loops -= 1


def _try_while(emitter: Emitter, op: WhileOp, known: _Known) -> _Known | None:
    location = op.location
    emitter.location = location
    depth = len(emitter.scopes)
    before, after = op.before_region.block, op.after_region.block
    hints = [hint_of_value(argument) for argument in before.args]
    carried = Carried(emitter, before.arg_types, known.packings, hints, depth)
    inits = carried.fitted(values_of(emitter, op.inits))
    outer = emitter.scope
    scope = Scope()
    emitter.scopes.append(scope)
    for argument, value in zip(before.args, carried.values(depth), strict=True):
        emitter.define(argument, value)
    emitter.block(before)
    emitter.location = location
    condition = emitter.tensor(op.condition_op.operands[0])
    if condition.expr.axes and not known.differ:
        return _Known([widened(packing) for packing in known.packings], True)
    require_defined(emitter, condition, "the condition of a loop", ())
    forwarded = values_of(emitter, op.condition_op.operands[1:])
    results = Carried(
        emitter,
        op.result_types,
        packings_of(emitter, forwarded, differ=known.differ),
        [hint_of_value(result) for result in op.results],
        depth,
    )
    iterations = _while_loop(emitter, op) if known.differ or _reads_memory(before) else None
    keep = f"{iterations.text}.keep({{old}}, {{new}})" if iterations and known.differ else "{new}"
    results.assign(results.fitted(forwarded), keep)
    if iterations is None:
        emitter.effect("if not {0}: break", condition.expr)
    else:
        emitter.effect("if {0}.over({1}): break", iterations, condition.expr)
    for argument, value in zip(after.args, forwarded, strict=True):
        emitter.define(argument, value)
    emitter.block(after)
    emitter.location = location
    learned = _joined(emitter, known.packings, op.yield_op, known.differ)
    if not same(learned, known.packings):
        return _Known(learned, known.differ)
    news = carried.fitted(values_of(emitter, op.yield_op.operands))
    carried.assign(news, keep)
    carried.unify(inits, news)
    emitter.scopes.pop()
    carried.assign(inits)
    if iterations is not None:
        results.clear()
        assert iterations.line is not None
        outer.lines.append(iterations.line)
    outer.lines.append(Nest("while True:", (), (), location, is_effect=True, scope=scope))
    for result, value in zip(op.results, results.values(emitter.depth), strict=True):
        emitter.define(result, value)
    return None


def _while_loop(emitter: Emitter, op: WhileOp) -> Expr:
    text = f"{{0}}.turns({emitter.unit.source_id(op.location)}, {_spins(op)})"
    return emitter.unplaced(text, emitter.control, hint="turns")


_LOOKS = frozenset(("tt.load", "tt.atomic_load", "tt.atomic_cas"))


def _spins(op: WhileOp) -> bool:
    """Whether a loop does nothing but look at memory, or put there what is there."""
    before, after = op.before_region.block, op.after_region.block
    if op.inits or any(each is not after.last_op for each in after.ops):
        return False
    touching = [each for each in before.ops if each.name.startswith(("tt.load", "tt.atomic"))]
    return all(each.name in _LOOKS or _settles(each) for each in touching)


_ONCE = frozenset(("exch", "and", "or", "max", "umax", "min", "umin"))
"""Updates that change nothing if they are made again."""


def _settles(op: Operation) -> bool:
    """Whether an update leaves memory as it is from the second time on."""
    if not isinstance(op, AtomicRMWOp):
        return False
    return op.kind in _ONCE or (op.kind in ("add", "fadd", "xor") and _is_zero(op.val))


def _is_zero(value: SSAValue) -> bool:
    found = constant_value(value)
    if isinstance(found, SplatElementsAttr):
        found = found.scalar
    return isinstance(found, IntegerAttr | FloatAttr) and found.value.data == 0


def _reads_memory(block: Block) -> bool:
    """Whether what a block computes can depend on what other programs do."""
    names = (op.name for each in block.ops for op in walk(each))
    return any(name.startswith(("tt.load", "tt.atomic", "tt.call")) for name in names)


# Branches.


def _if(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, IfOp)
    location = op.location
    condition = emitter.tensor(op.operands[0])
    require_defined(emitter, condition, "the condition of a branch", ())
    emitter.location = location
    differ = condition.expr.axes != 0
    ways = [_way(emitter, region.blocks[0]) for region in op.regions if region.blocks]
    yields = [values_of(emitter, end.operands) for _, end in ways]
    scopes = [scope for scope, _ in ways]
    packings = joined_packings(emitter, list(zip(scopes, yields, strict=True)), differ=differ)
    hints = [hint_of_value(result) for result in op.results]
    carried = Carried(emitter, op.result_types, packings, hints, emitter.depth)
    emitter.location = location
    fork = None
    if differ:
        fork = emitter.here(
            "{0}.fork({1})", emitter.control, condition.expr, axes=0, rank=0, hint="fork"
        )
        if op.results:
            carried.clear()
    for index, ((scope, _), values) in enumerate(zip(ways, yields, strict=True)):
        emitter.scopes.append(scope)
        merges = fork is not None and index > 0
        wrapper = f"{fork.text}.merge({{old}}, {{new}})" if fork and merges else "{new}"
        carried.assign(carried.fitted(values), wrapper)
        emitter.scopes.pop()
        header = _if_header(condition.expr, fork, index)
        deps = condition.expr.line if fork is None else fork.line
        emitter.scope.lines.append(
            Nest(header, (), () if deps is None else (deps,), location, is_effect=True, scope=scope)
        )
    if fork is not None:
        emitter.effect("{0}.join()", fork)
    for result, value in zip(op.results, carried.values(emitter.depth), strict=True):
        emitter.define(result, value)


def _if_header(condition: Expr, fork: Expr | None, index: int) -> str:
    if fork is None:
        return "else:" if index else f"if {condition.text}:"
    return f"if {fork.text}.otherwise():" if index else f"if {fork.text}.then():"


def _way(emitter: Emitter, block: Block) -> tuple[Scope, Operation]:
    """Write one side of a branch; returns its scope and its end."""
    scope = Scope(is_barrier=True)
    emitter.scopes.append(scope)
    emitter.block(block)
    emitter.scopes.pop()
    end = block.last_op
    assert end is not None
    return scope, end


RULES: dict[str, Rule] = {"scf.for": _for, "scf.while": _while, "scf.if": _if}
