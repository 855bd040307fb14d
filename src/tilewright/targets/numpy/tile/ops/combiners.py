"""Reductions and scans by a region."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.arg_reduce import is_arg_reduce
from tilewright.dialects.tile.combiners import CombinerOp, ReduceByOp, ScanByOp, single_combiner
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.combiners import summation, ufunc_of
from tilewright.targets.numpy.ops.functions import captured_values, write_lambda
from tilewright.targets.numpy.tile.emitter import TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.ops.tiles import whole
from tilewright.targets.numpy.values import Expr


def _reduce(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ReduceByOp)
    sources, targets = _memory(emitter, op.srcs), _memory(emitter, op.dsts)
    ufunc = _ufunc(emitter, op)
    if ufunc is not None:
        order = summation(ufunc, emitter.element_type(op.srcs[0].type))
        text = f"reduce_each({order}, {ufunc}, {{0}}, {{1}}, {op.axis})"
        emitter.call(text, *sources, *targets)
        return
    largest = is_arg_reduce(op.block)
    options = "" if largest is None else f", largest={largest}"
    _call(emitter, op, "reduce_by", sources, targets, options)


def _scan(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ScanByOp)
    sources, targets = _memory(emitter, op.srcs), _memory(emitter, op.dsts)
    options = "" if op.reverse is None else ", reverse=True"
    ufunc = _ufunc(emitter, op)
    if ufunc is not None:
        emitter.call(f"scan_each({ufunc}, {{0}}, {{1}}, {op.axis}{options})", *sources, *targets)
        return
    _call(emitter, op, "scan_by", sources, targets, options)


def _memory(emitter: TileEmitter, values: Sequence[SSAValue]) -> list[Expr]:
    return [whole(emitter, value) for value in values]


def _ufunc(emitter: TileEmitter, op: CombinerOp) -> str | None:
    single = single_combiner(op.block)
    if single is None:
        return None
    return ufunc_of(single, emitter.element_type(op.srcs[0].type))


def _call(
    emitter: TileEmitter,
    op: CombinerOp,
    name: str,
    sources: Sequence[Expr],
    targets: Sequence[Expr],
    options: str,
) -> None:
    """A call with the combiner as a function of arrays."""
    combine = _combine(emitter, op)
    count = len(sources)
    one = "".join(f"{{{index + 1}}}, " for index in range(count))
    other = "".join(f"{{{index + 1 + count}}}, " for index in range(count))
    emitter.call(
        f"{name}({{0}}, ({one}), ({other}), {op.axis}{options})", combine, *sources, *targets
    )


def _combine(emitter: TileEmitter, op: CombinerOp) -> Expr:
    for value in captured_values(op.combiner):
        emitter.uniform(value, "a value that a combiner uses")
    threads, in_task = emitter.threads, emitter.in_task
    emitter.threads, emitter.in_task, emitter.in_combiner = None, False, True
    found = write_lambda(emitter, op.combiner, 1)
    emitter.threads, emitter.in_task, emitter.in_combiner = threads, in_task, False
    return found


RULES: dict[str, Rule] = {"tile.reduce_by": _reduce, "tile.scan_by": _scan}
