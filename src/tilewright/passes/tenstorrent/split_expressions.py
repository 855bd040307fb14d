"""Split element-wise ops whose expressions need more slots than a section of DST has.

    y = (a*b + c*d) * (e*f + g*h)     ->     s = a*b + c*d ;  y = s * (e*f + g*h)

A part of the expression is computed first, into a circular buffer of its own, so that what remains
needs fewer slots. Of all parts that fit, the one that leaves the smallest remainder is taken, and
the remainder is split again until it fits.

A conversion to fewer bits is such a part too, whatever the expression needs: DST holds fp32, and
only packing rounds. ``y = x - bf16(x)`` is zero without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import chip_of
from tilewright.passes.tenstorrent.dst_programs import dst_program
from tilewright.passes.tenstorrent.positions import EXTENTS
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tile.clone_ops import copy_op

_Choice: TypeAlias = tuple[tuple[int, int], AllocOp, ElementwiseOp, ElementwiseOp]
"""Size of the remainder, the buffer, the part and the remainder."""
_WIDE = (f32, i32)


def split_expressions(function: FuncOp) -> None:
    """Split every element-wise op until its parts fit into a section of DST."""
    chip = chip_of(function)
    ops = list(walk(function))
    is_wide = any(
        isinstance(op, AllocOp) and element_type_of(op.result.type) in _WIDE for op in ops
    )
    for op in ops:
        if isinstance(op, ElementwiseOp):
            wide = is_wide or any(_has_f32(each) for each in op.body.block.ops)
            limit = chip.dst_tiles(fp32_dest_acc=wide, full_sync=False)
            pending = [op]
            while pending:
                each = pending.pop()
                pending += _split_rounded(each) or _split(each, limit)


def _has_f32(op: Operation) -> bool:
    return any(result.type == f32 for result in op.results)


def _split(op: ElementwiseOp, limit: int) -> list[ElementwiseOp]:
    """Compute a part of `op` before it; what may have to be split again."""
    if _slots(op) <= limit:
        return []
    best: _Choice | None = None
    before = _size(op)
    for value in _candidates(op):
        alloc = _buffer(op, value)
        part, rest = _part(op, value, alloc.result), _rest(op, value, alloc.result)
        size = _size(rest)
        if _slots(part) <= limit and size < (before if best is None else best[0]):
            _discard(best)
            best = size, alloc, part, rest
        else:
            _discard((size, alloc, part, rest))
    if best is not None:
        _replace(op, best)
    return [] if best is None else [best[3]]


def _replace(op: ElementwiseOp, choice: _Choice) -> None:
    """Put a part and the remainder in place of `op`."""
    _, alloc, part, rest = choice
    owner = op.outputs[0].owner
    assert isinstance(owner, AllocOp)
    rewriter = Rewriter()
    rewriter.insert_after(owner, alloc, op)
    rewriter.insert_before(op, part)
    rewriter.replace_op(op, rest, ())


_MONOTONE = (
    *("arith.extf", "arith.truncf", "arith.maxnumf", "arith.maximumf", "arith.minnumf"),
    *("arith.minimumf", "arith.negf", "math.absf"),
)
"""Ops that commute with rounding, with constants as other operands."""


def _split_rounded(op: ElementwiseOp) -> list[ElementwiseOp]:
    """Compute a value that is rounded before `op`; what may have to be split again."""
    for each in op.body.block.ops:
        if isinstance(each, TruncfOp) and _is_lossy(each) and not _is_packed(each.results[0], op):
            value = each.results[0]
            alloc = _buffer(op, value)
            part, rest = _part(op, value, alloc.result), _rest(op, value, alloc.result)
            _replace(op, ((0, 0), alloc, part, rest))
            return [rest, part]
    return []


def _is_lossy(op: TruncfOp) -> bool:
    wide = op.operands[0].owner
    return not (isinstance(wide, ExtfOp) and wide.operands[0].type == op.results[0].type)


def _is_packed(value: SSAValue, op: ElementwiseOp, type: Attribute | None = None) -> bool:
    """Whether everything that depends on a rounded value is the same if only packing rounds it."""
    type = value.type if type is None else type
    for use in value.uses:
        user = use.operation
        if isinstance(user, TileYieldOp):
            if element_type_of(op.outputs[use.index].type) != type:
                return False
        elif user.name not in _MONOTONE or not (
            all(each is value or constant_value(each) is not None for each in user.operands)
            and _is_packed(user.results[0], op, type)
        ):
            return False
    return True


def _size(op: ElementwiseOp) -> tuple[int, int]:
    """Slots, and ops of the body."""
    return _slots(op), len(list(op.body.block.ops))


def _discard(found: _Choice | None) -> None:
    if found is not None:
        _, alloc, part, rest = found
        for each in (rest, part, alloc):
            each.erase()


def _slots(op: ElementwiseOp) -> int:
    """The slots of DST that an op needs; 0 if a later pass reports it."""
    try:
        found = dst_program(op).slots
        for position, buffer in enumerate(op.inputs):
            if any(isinstance(use.operation, MatmulKLoopOp) for use in buffer.uses):
                found = max(found, dst_program(op, {position: 0}).slots)
    except NotSupported:
        return 0
    return found


def _candidates(op: ElementwiseOp) -> list[SSAValue]:
    """The intermediate results of an expression."""
    return [
        result
        for each in op.body.block.ops
        for result in each.results
        if isinstance(result.type, AnyFloat)
        and constant_value(result) is None
        and result not in op.results_of_body
    ]


def _buffer(op: ElementwiseOp, value: SSAValue) -> AllocOp:
    """A buffer for the elements of `value`."""
    like = op.outputs[0]
    owner = like.owner
    assert isinstance(owner, AllocOp)
    shape = shape_of(like.type)
    made = AllocOp(buffer_type(value.type, shape, Space.SHARED), name=f"{owner.buffer_name}_part")
    made.attributes[EXTENTS] = owner.attributes[EXTENTS]
    return made


def _part(op: ElementwiseOp, value: SSAValue, buffer: SSAValue) -> ElementwiseOp:
    """The op that computes `value`."""
    return _rebuilt(op, [value], [buffer], {})


def _rest(op: ElementwiseOp, value: SSAValue, buffer: SSAValue) -> ElementwiseOp:
    """The op that computes everything else, with `value` as an input."""
    return _rebuilt(op, op.results_of_body, list(op.outputs), {value: buffer})


def _rebuilt(
    op: ElementwiseOp,
    results: Iterable[SSAValue],
    outputs: list[SSAValue],
    known: dict[SSAValue, SSAValue],
) -> ElementwiseOp:
    """An op that computes some values of `op`, with the inputs and the arithmetic they need."""
    results = list(results)
    required = _required(results, known)
    positions = [n for n, element in enumerate(op.elements) if element in required]
    inputs = [*(op.inputs[n] for n in positions), *known.values()]
    kinds = [*(op.kinds[n] for n in positions), *("tile" for _ in known)]
    made = ElementwiseOp(op.block_tiles, inputs, kinds, outputs)
    values: dict[SSAValue, SSAValue] = dict(zip(op.indices, made.indices, strict=True))
    olds = [*(op.elements[n] for n in positions), *known]
    values.update(zip(olds, made.elements, strict=True))
    for each in op.body.block.ops:
        if any(result in required and result not in known for result in each.results):
            made.body.block.add_op(copy_op(each, values))
    made.body.block.add_op(TileYieldOp([values.get(each, each) for each in results]))
    return made


def _required(results: list[SSAValue], known: dict[SSAValue, SSAValue]) -> set[SSAValue]:
    """The values that `results` depend on, up to those that are known."""
    found: set[SSAValue] = set()
    pending = list(results)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if value not in known and isinstance(owner, Operation):
            pending += owner.operands
    return found
