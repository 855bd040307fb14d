"""Chains of ops that only rearrange elements become one op.

    view(splat x)                    splat x, of the last type
    broadcast(broadcast x)           broadcast x
    convert_layout(convert_layout x) convert_layout x
    reshape(reshape x)               reshape x, free to reorder if either was
    trans(trans x)                   trans x, by the composed permutation

The last op's type holds the layout that its users expect, so it is preserved. A reshape that
requests an efficient or a sliced layout was put there for that layout and stays.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation

from tilewright.dialects.folding.constants import defined_by
from tilewright.dialects.folding.shape import permutation_of
from tilewright.ir.rewrite import AnyPattern, FunctionPattern, Rewriter

_VIEWS_OF_SPLATS = (
    "tt.broadcast",
    "tt.expand_dims",
    "tt.reshape",
    "tt.trans",
    "ttg.convert_layout",
)
_IDEMPOTENT = ("tt.broadcast", "ttg.convert_layout", "tt.bitcast")
_PINNED = ("efficient_layout", "require_sliced")


def _splat_at_once(op: Operation, rewriter: Rewriter) -> None:
    splat = defined_by(op.operands[0], "tt.splat")
    if splat is None or _is_pinned(op):
        return
    new = type(splat).create(operands=splat.operands, result_types=op.result_types)
    rewriter.replace_op(op, new)


def _do_once(op: Operation, rewriter: Rewriter) -> None:
    inner = defined_by(op.operands[0], op.name)
    if inner is None or inner.properties or inner.attributes:
        return
    op.operands = inner.operands
    rewriter.modified(op)


def _reshape_once(op: Operation, rewriter: Rewriter) -> None:
    inner = defined_by(op.operands[0], "tt.reshape")
    if inner is None or _is_pinned(op) or _is_pinned(inner):
        return
    op.operands = inner.operands
    if "allow_reorder" in inner.properties:
        op.properties["allow_reorder"] = inner.properties["allow_reorder"]
    rewriter.modified(op)


def _transpose_once(op: Operation, rewriter: Rewriter) -> None:
    inner = defined_by(op.operands[0], "tt.trans")
    outer_order = permutation_of(op)
    inner_order = None if inner is None else permutation_of(inner)
    if inner is None or outer_order is None or inner_order is None:
        return
    op.operands = inner.operands
    order = [inner_order[dimension] for dimension in outer_order]
    op.properties["order"] = DenseArrayBase.from_list(i32, order)
    rewriter.modified(op)


def _is_pinned(op: Operation) -> bool:
    return any(name in op.properties for name in _PINNED)


SHAPE_PATTERNS: list[AnyPattern] = [
    FunctionPattern(_splat_at_once, _VIEWS_OF_SPLATS, benefit=1),
    FunctionPattern(_do_once, _IDEMPOTENT, benefit=1),
    FunctionPattern(_reshape_once, ("tt.reshape",), benefit=1),
    FunctionPattern(_transpose_once, ("tt.trans",), benefit=1),
]
