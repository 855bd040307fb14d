"""Reductions and scans by their combiner.

One op on two elements that ``tile.reduce`` or ``tile.scan`` has is their kind; any other
arithmetic, on several tensors too, becomes the region of ``tile.reduce_by`` or ``tile.scan_by``.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.analysis.raising.kinds import TERMINATORS, is_elementwise
from tilewright.dialects.tt import ReduceOp, ScanOp


@dataclass(frozen=True)
class ReduceKind:
    name: str
    propagates_nan: bool = False


_REDUCE = {
    "arith.addf": ReduceKind("sum"),
    "arith.addi": ReduceKind("sum"),
    "arith.maxnumf": ReduceKind("max"),
    "arith.maxsi": ReduceKind("max"),
    "arith.maximumf": ReduceKind("max", True),
    "arith.minnumf": ReduceKind("min"),
    "arith.minsi": ReduceKind("min"),
    "arith.minimumf": ReduceKind("min", True),
    "arith.andi": ReduceKind("bitand"),
    "arith.ori": ReduceKind("bitor"),
    "arith.xori": ReduceKind("bitxor"),
}
_SCAN = {"arith.addf": "sum", "arith.addi": "sum", "arith.maxnumf": "max", "arith.maxsi": "max"}


def reduce_kind(op: ReduceOp) -> ReduceKind | None:
    """The reduction that ``tile.reduce`` has; None if there is none."""
    combiner = op.single_combiner
    return None if combiner is None else _REDUCE.get(combiner.name)


def scan_kind(op: ScanOp) -> str | None:
    combiner = op.single_combiner
    return None if combiner is None else _SCAN.get(combiner.name)


def foreign_op(op: ReduceOp | ScanOp) -> Operation | None:
    """The first op of a combiner that does more than compute."""
    for inner in op.combiner.walk():
        is_plain = is_elementwise(inner) or inner.name in ("arith.constant", *TERMINATORS)
        if not is_plain:
            return inner
    return None
