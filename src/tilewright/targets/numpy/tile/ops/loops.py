"""Loops: parallel ones over arrays, serial ones as Python loops.

`tile.pipeline` has the results of the serial loop, so it is one. Branches and loops of the `scf`
dialect are written by the pointer level's rules; where their conditions differ between iterations
those switch iterations off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile.loops import ParallelOp, PersistentOp, PipelineOp
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.emitter import Emitter, Rule, symbol_text
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops.scf import RULES as SCF_RULES
from tilewright.targets.numpy.tile.emitter import LANE, TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.patterns import properties_of
from tilewright.targets.numpy.values import Expr, Tensor


def _parallel(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ParallelOp)
    emitter.step()
    outer = emitter.lanes
    extents = [emitter.uniform(extent, "the extent of a parallel loop") for extent in op.extents]
    properties = properties_of(op)
    options = "" if outer is None else f", outer={outer.text}"
    options += ", watch=True" if properties.watched else ""
    listed = ", ".join(expr.text for expr in extents)
    deps = [*extents, *([] if outer is None else [outer])]
    lanes = emitter.statement(f"rt.parallel({listed}{options})", *deps, hint="lanes")
    arguments = op.body.block.args
    indices = emitter.several(
        ("*" if len(arguments) == 1 else "") + "{0}.indices",
        [lanes],
        [(LANE, 0)] * len(arguments),
        is_pure=False,
    )
    for argument, expr in zip(arguments, indices, strict=True):
        emitter.unit.hints[int(expr.text.strip("\0"))] = hint_of_value(argument, "i")
        emitter.define(argument, Tensor(expr))
    saved = _lifted(emitter, op, lanes) if outer is not None else {}
    with emitter.iterating(lanes, properties):
        copies = [(each, *_privatised(emitter, each, lanes)) for each in properties.private]
        emitter.block(op.body.block)
        emitter.location = op.location
        for value, before, own in copies:
            emitter.effect("settle({0}, {1}, {2})", lanes, before, own)
            emitter.memory[value] = before
            emitter.private.discard(value)
    for value, tensor in saved.items():
        emitter.define(value, tensor)


def _privatised(emitter: TileEmitter, value: SSAValue, lanes: Expr) -> tuple[Expr, Expr]:
    """Give each iteration its own copy of a thread's buffer."""
    before = emitter.buffer(value)
    if value in emitter.private:
        raise emitter.unsupported(
            "a thread-bound loop writes a buffer that is private to the enclosing thread",
            "allocate the buffer inside the loop",
        )
    own = emitter.statement("private({0}, {1})", lanes, before, hint="mine")
    emitter.memory[value] = own
    emitter.private.add(value)
    return before, own


def _lifted(emitter: TileEmitter, op: ParallelOp, lanes: Expr) -> dict[SSAValue, Tensor]:
    """Values of the loop around, with axes for the inner one; returns what they were."""
    saved: dict[SSAValue, Tensor] = {}
    for each in walk(op):
        for operand in each.operands:
            value = emitter.values.get(operand)
            if operand in saved or operand in op.body.block.args or not isinstance(value, Tensor):
                continue
            if value.expr.axes:
                saved[operand] = value

    def lifted(expr: Expr) -> Expr:
        return emitter.pure("{0}.lift({1})", lanes, expr)

    for operand, value in saved.items():
        shadows = emitter.shadow_map(value, lifted)
        emitter.define(operand, Tensor(lifted(value.expr), shadows=shadows))
    return saved


def _pipeline(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, PipelineOp)
    low = emitter.uniform(op.lower, "the bound of a pipeline")
    high = emitter.uniform(op.upper, "the bound of a pipeline")
    symbol = emitter.unit.symbol(hint_of_value(op.induction_variable, "k"))
    emitter.loops += 1
    with emitter.nested(
        f"for \0{symbol}\0 in np.arange({low.text}, {high.text}, dtype=i64):", low, high
    ):
        emitter.define(op.induction_variable, Tensor(emitter.variable(symbol, 0)))
        emitter.block(op.body.block)
        emitter.location = op.location
    emitter.loops -= 1


def _persistent(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, PersistentOp)
    domain = [emitter.uniform(extent, "a domain") for extent in op.domain]
    wave = emitter.uniform(op.wave_size, "a wave")
    index = emitter.uniform(op.index, "the index of a worker")
    arguments = op.body.block.args
    symbols = [emitter.unit.symbol(hint_of_value(argument, "tile")) for argument in arguments]
    names = ", ".join(f"\0{symbol}\0" for symbol in symbols) + ("," if len(symbols) == 1 else "")
    header = (
        f"for {names} in persistent({emitter.listed(domain)}, {wave.text}, {index.text}, "
        f"{op.group_size}):"
    )
    emitter.loops += 1
    with emitter.nested(header, *domain, wave, index):
        for argument, symbol in zip(arguments, symbols, strict=True):
            emitter.define(argument, Tensor(emitter.variable(symbol, 0)))
        emitter.block(op.body.block)
        emitter.location = op.location
    emitter.loops -= 1


# Control flow that may differ between iterations.


def _diverging(name: str, condition: Callable[[Operation], list[SSAValue]]) -> Rule:
    def rule(base: Emitter, op: Operation) -> None:
        emitter = tile(base)
        exprs = [emitter.tensor(value).expr for value in condition(op)]
        differ = any(expr.axes for expr in exprs)
        is_parallel = emitter.in_combiner or (emitter.lanes or emitter.threads) is not None
        if differ and not is_parallel:
            raise emitter.unsupported("divergent control flow outside a parallel loop")
        emitter.divergence += differ
        SCF_RULES[name](emitter, op)
        emitter.divergence -= differ

    return rule


_plain_for = _diverging("scf.for", lambda op: list(cast("ForOp", op).operands[:3]))


_plain_if = _diverging("scf.if", lambda op: [cast("IfOp", op).operands[0]])
_WAITS = ("nv.mbarrier.wait", "nv.bar", "nv.cp_async.wait", "nv.wgmma.wait", "tile.sync")


def _if(base: Emitter, op: Operation) -> None:
    """Threads that diverge and then wait, perhaps for each other, run concurrently."""
    emitter = tile(base)
    assert isinstance(op, IfOp)
    threads, condition = emitter.threads, emitter.tensor(op.operands[0]).expr
    if (
        threads is None
        or emitter.lanes is not None
        or not condition.axes
        or op.results
        or not any(each.name in _WAITS for each in walk(op))
    ):
        _plain_if(base, op)
        return
    ways = emitter.statements("{0}.parted({1})", threads, condition, hints=["some", "others"])
    texts: list[str] = []
    for lanes, region in zip(ways, op.regions, strict=True):
        if not region.blocks:
            continue
        symbol = emitter.unit.symbol("way")
        emitter.location = op.location
        state = emitter.threads, emitter.control, emitter.divergence
        emitter.threads, emitter.control, emitter.divergence = lanes, lanes, 0
        with emitter.nested(f"def {symbol_text(symbol)}():", lanes, is_function=True):
            emitter.step()
            emitter.block(region.block)
        emitter.threads, emitter.control, emitter.divergence = state
        texts.append(f"({lanes.text}.name, {symbol_text(symbol)}, active_threads({lanes.text}))")
    emitter.location = op.location
    emitter.effect(f"yield from rt.roles({', '.join(texts)})", *ways)


def _for(base: Emitter, op: Operation) -> None:
    if "tile.thread_binding" not in op.attributes:
        _plain_for(base, op)
        return
    emitter = tile(base)
    assert isinstance(op, ForOp)
    threads = emitter.threads
    if threads is None or op.results:
        raise emitter.unsupported("a thread-bound loop is not supported here", "use T.Parallel")
    binding = op.attributes["tile.thread_binding"]
    axis = "xyz".index(binding.data[-1]) if isinstance(binding, StringAttr) else 0
    index = emitter.pure(f"thread_index({{0}}, {axis})", threads, axes=LANE, rank=0)
    low, high = (emitter.expr(value) for value in (op.lower_bound, op.upper_bound))
    emitter.define(op.induction_variable, Tensor(emitter.pure("{0} + {1}", index, low)))
    inside = emitter.pure("{0} + {1} < {2}", index, low, high, hint="inside")
    fork = emitter.here("{0}.fork({1})", threads, inside, axes=0, rank=0, hint="fork")
    emitter.divergence += 1
    with emitter.nested(f"if {fork.text}.then():", fork):
        emitter.block(op.body_block)
        emitter.location = op.location
    emitter.divergence -= 1
    emitter.effect("{0}.join()", fork)


RULES: dict[str, Rule] = {
    "tile.parallel": _parallel,
    "tile.pipeline": _pipeline,
    "tile.persistent": _persistent,
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": SCF_RULES["scf.while"],
}
