"""Addresses and bounds of a block of a tensor in memory.

Along axis d, element r of a block at offset o is at `(o + r) * stride` and in bounds if
`0 <= o + r < extent`. The first part is a scalar for each program, the second one a vector that
does not change while the block moves, so only a scalar is computed in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.targets.numpy.emitter import Emitter
from tilewright.targets.numpy.ops.arith.integer import merged
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.values import EmittedBlock, Expr, Pointer, axis_bit


@dataclass(frozen=True)
class BlockAccess:
    """The lanes and addresses that an op accesses."""

    terms: tuple[Expr, ...]
    mask: tuple[Expr, ...]
    pointer: Pointer
    """What the addresses were made from."""


def block_access(
    emitter: Emitter,
    block: EmittedBlock,
    offsets: Sequence[Expr],
    checked: Sequence[int],
    itemsize: int,
) -> BlockAccess:
    """The block at `offsets`; out of bounds along `checked` axes nothing is accessed."""
    rank = len(block.extents)
    starts = [in_64_bits(emitter, offset) for offset in offsets]
    ranges = [lanes(emitter, extent, axis, rank) for axis, extent in enumerate(block.extents)]
    terms = [to_rank(emitter, term, rank) for term in block.base.terms]
    for start, lane, stride in zip(starts, ranges, block.strides, strict=True):
        step = emitter.pure(f"{{0}} * {itemsize}", in_64_bits(emitter, stride), hint="step")
        terms.append(to_rank(emitter, emitter.pure("{0} * {1}", start, step), rank))
        terms.append(emitter.pure("{0} * {1}", lane, to_rank(emitter, step, rank)))
    mask = [
        within(emitter, starts[axis], ranges[axis], block.shape[axis], rank) for axis in checked
    ]
    return BlockAccess(merged(emitter, tuple(terms)), tuple(mask), block.base)


def lanes(emitter: Emitter, extent: int, axis: int, rank: int) -> Expr:
    """0 … extent-1 along one axis, in 64 bits."""
    if extent == 1:
        return emitter.constant("i64(0)", "i64_0")
    shape = [1] * (rank + 1)
    shape[axis + 1] = extent
    text = f"np.arange({extent}, dtype=i64).reshape({tuple(shape)})"
    return emitter.constant(text, f"lane{axis}_{extent}", axis_bit(axis), rank)


def in_64_bits(emitter: Emitter, expr: Expr) -> Expr:
    """An integer widened."""
    if expr.is_scalar:
        return emitter.pure("i64({0})", expr)
    return emitter.pure("{0}.astype(i64)", expr)


def within(emitter: Emitter, start: Expr, lane: Expr, extent: Expr, rank: int) -> Expr:
    """Which of the lanes from `start` on are inside a tensor of `extent`."""
    start, extent = (to_rank(emitter, expr, rank) for expr in (start, extent))
    return emitter.pure("within({0} + {1}, {2})", start, lane, extent, hint="inside")
