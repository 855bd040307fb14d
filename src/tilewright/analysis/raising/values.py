"""Which tensor values become buffers, and which are computed where they are used.

    EXPRESSION   an index, a mask, a constant; a value with one use; a cheap one
    FRAGMENT     a buffer in registers: carried, result of a GEMM, reduction or scan, several uses
    SHARED       a buffer in shared memory: loaded, and every use is an operand of a GEMM

A tensor is computed at its *anchors*: the ops that store it, reduce it, or keep it in a buffer of
their own. An expression reads its buffers and its memory at its anchors, later than where it is
written in the source; so a load is an expression only if nothing in between may write its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.arg_reduce import is_arg_reduce
from tilewright.analysis.raising.kinds import (
    EFFECTS,
    STRUCTURAL,
    WRITES,
    Gemm,
    is_data_tensor,
    is_elementwise,
    is_heavy,
)
from tilewright.analysis.raising.tasks import completing_waits
from tilewright.analysis.raising.views import may_be_same
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tt import (
    AtomicRMWOp,
    FuncOp,
    GatherOp,
    LoadOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    TransOp,
)
from tilewright.dialects.type_utils import rank_of
from tilewright.ir.traversal import walk

MAX_CHEAP_OPS = 4
"""Ops that are computed again rather than stored in a buffer."""


class ValueClass(Enum):
    EXPRESSION = "expression"
    FRAGMENT = "fragment"
    SHARED = "shared"


_LOADS = ("tt.load", "tt.descriptor_load")


@dataclass
class Values:
    """The class of every tensor value, and where expressions are computed."""

    classes: dict[SSAValue, ValueClass] = field(default_factory=dict[SSAValue, ValueClass])
    anchors: dict[SSAValue, dict[Operation, None]] = field(
        default_factory=dict[SSAValue, dict[Operation, None]]
    )
    positions: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def is_buffer(self, value: SSAValue) -> bool:
        return self.classes.get(value) in (ValueClass.FRAGMENT, ValueClass.SHARED)


def classify_values(
    function: FuncOp,
    bases: Mapping[Operation, str],
    stored: AbstractSet[SSAValue] = frozenset(),
) -> Values:
    """Decide for every tensor of a kernel.

    `bases` names the memory of each access; `stored` are tensors that are stored as whole tiles.
    """
    return _Classifier(function, bases, stored).run()


class _Classifier:
    def __init__(
        self, function: FuncOp, bases: Mapping[Operation, str], stored: AbstractSet[SSAValue]
    ) -> None:
        self._function = function
        self._ops = list(walk(function))
        self._bases = bases
        self._stored = stored
        self._found = Values(positions={op: at for at, op in enumerate(self._ops)})
        self._gemms = [
            op
            for op in self._ops
            if isinstance(op, Gemm) and isinstance(op.parent_op(), ForOp | WhileOp)
        ]
        self._costs: dict[SSAValue, int | None] = {}
        """Ops of the expression; None if it loads or is dear."""
        self._index_like: dict[SSAValue, bool] = {}
        self._write_positions = [
            (self._found.positions[op], op)
            for op in self._ops
            if op.name in WRITES or op.name in EFFECTS
        ]

    def run(self) -> Values:
        for op in self._ops:
            for result in op.results:
                if is_data_tensor(result):
                    self._costs[result] = self._cost(op)
                    self._index_like[result] = self._is_index_like(op)
        waits = completing_waits(self._function)
        for op in reversed(self._ops):
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        if is_data_tensor(argument):
                            self._found.classes[argument] = ValueClass.FRAGMENT
                            self._anchor(argument)
            for result in op.results:
                if is_data_tensor(result):
                    self._anchor(result)
                    self._found.classes[result] = self._class_of(op, result)
        for op, wait in waits.items():
            self._extend(op.operands[0], op, wait)
        return self._found

    def _extend(self, value: SSAValue, gemm: Operation, wait: Operation | None) -> None:
        """A GEMM in flight reads its operand until its wait, or to the end of the block."""
        block = gemm.parent
        assert block is not None
        end = wait or block.last_op
        if value in self._found.anchors and end is not None:
            self._found.anchors[value][end] = None

    # Cost.

    def _cost(self, op: Operation) -> int | None:
        if op.name in STRUCTURAL:
            return self._sum(op.operands)
        if not is_elementwise(op):
            return None if op.name in _LOADS else 0
        inner = self._sum(op.operands)
        return None if inner is None or is_heavy(op) else inner + 1

    def _sum(self, operands: Iterable[SSAValue]) -> int | None:
        costs = [self._costs.get(operand, 0) for operand in operands]
        return None if None in costs else sum(cost or 0 for cost in costs)

    def _is_index_like(self, op: Operation) -> bool:
        """Whether the value consists of indices, constants and scalars."""
        if op.name not in STRUCTURAL and not is_elementwise(op):
            return False
        tensors = [operand for operand in op.operands if is_data_tensor(operand)]
        return not is_heavy_float(op) and all(self._index_like.get(each, False) for each in tensors)

    # Anchors.

    def _anchor(self, value: SSAValue) -> None:
        anchors: dict[Operation, None] = {}
        for use in value.uses:
            user = use.operation
            results = [result for result in user.results if is_data_tensor(result)]
            expressions = [
                result
                for result in results
                if self._found.classes.get(result) is ValueClass.EXPRESSION
            ]
            if results and len(expressions) == len(results) and not user.regions:
                for result in expressions:
                    anchors.update(self._found.anchors[result])
            else:
                anchors[user] = None
        self._found.anchors[value] = anchors

    # Classes.

    def _class_of(self, op: Operation, value: SSAValue) -> ValueClass:
        if op.name == "arith.constant" or op.name == "ub.poison":
            return ValueClass.EXPRESSION
        if op.name == "tt.load" and is_volatile(op):
            return ValueClass.FRAGMENT
        if op.name in _LOADS and feeds_gemms_only(value):
            return ValueClass.SHARED
        if isinstance(op, TransOp) and _is_shared_operand(op):
            return ValueClass.EXPRESSION
        if self._is_required(value):
            return ValueClass.FRAGMENT
        if op.name in _LOADS or op.name == "tt.descriptor_gather":
            return self._class_of_load(op, value)
        if op.name in STRUCTURAL:
            return ValueClass.EXPRESSION
        if not is_elementwise(op):
            if isinstance(op, GatherOp):
                return self._class_of_single(op, value)
            return ValueClass.FRAGMENT
        if self._index_like[value]:
            return ValueClass.EXPRESSION
        cost = self._costs[value]
        if cost is not None and cost <= MAX_CHEAP_OPS and self._in_block(op, value):
            return ValueClass.EXPRESSION
        return self._class_of_single(op, value)

    def _class_of_single(self, op: Operation, value: SSAValue) -> ValueClass:
        anchors = self._found.anchors[value]
        is_single = len(anchors) <= 1 and self._in_block(op, value)
        return ValueClass.EXPRESSION if is_single else ValueClass.FRAGMENT

    def _in_block(self, op: Operation, value: SSAValue) -> bool:
        return all(anchor.parent is op.parent for anchor in self._found.anchors[value])

    def _is_required(self, value: SSAValue) -> bool:
        """Whether some use needs a buffer."""
        if value in self._stored:
            return True
        for use in value.uses:
            user = use.operation
            if isinstance(user, ScanOp | Gemm):
                return True
            # Of a greatest or least element, the indices are computed where they are compared.
            if isinstance(user, ReduceOp) and not (
                use.index == 1 and is_arg_reduce(user.combiner) is not None
            ):
                return True
            if isinstance(user, GatherOp) and use.index == 0:
                return True
            if user.name in ("scf.yield", "scf.condition", "tt.print"):
                return True
            if user.name == "scf.while":
                return True
        return False

    def _class_of_load(self, op: Operation, value: SSAValue) -> ValueClass:
        found = self._class_of_single(op, value)
        if found is ValueClass.FRAGMENT:
            return found
        (anchor,) = [*self._found.anchors[value]] or [op]
        start, end = self._found.positions[op], self._found.positions[anchor]
        if any(start < at < end for at, _ in self._write_positions):
            return ValueClass.FRAGMENT
        if anchor.regions or (is_vector_load(op) and self._arrives_during_gemm(op, end)):
            return ValueClass.FRAGMENT
        if self._conflicts(op, anchor):
            return ValueClass.FRAGMENT
        return ValueClass.EXPRESSION

    def _arrives_during_gemm(self, load: Operation, end: int) -> bool:
        """Whether a load comes before the first GEMM of an iteration, and its use after it.

        Later, results of GEMMs take the registers that it would need.
        """
        gemms = [self._found.positions[op] for op in self._gemms if op.parent is load.parent]
        return bool(gemms) and self._found.positions[load] < gemms[0] < end

    def _conflicts(self, load: Operation, anchor: Operation) -> bool:
        """Whether iterations of one loop could read what others write."""
        one, other = self._bases.get(load), self._bases.get(anchor)
        if anchor.name not in WRITES or not may_be_same(one, other):
            return False
        if isinstance(load, LoadOp) and isinstance(anchor, StoreOp | AtomicRMWOp):
            return load.ptr is not anchor.ptr
        return True


def is_vector_load(op: Operation) -> bool:
    """Whether an op loads one dimension of numbers, which takes few registers."""
    return (
        isinstance(op, LoadOp)
        and is_data_tensor(op.result)
        and rank_of(op.result.type) == 1
        and not is_volatile(op)
    )


def is_volatile(op: Operation) -> bool:
    return isinstance(op, LoadOp) and bool(op.is_volatile.value.data)


def is_heavy_float(op: Operation) -> bool:
    return (is_heavy(op) and not op.name.startswith("arith.")) or op.name == "arith.divf"


def _is_shared_operand(op: TransOp) -> bool:
    """Whether a transposition is of a loaded operand: the GEMM reads it transposed."""
    source = op.src.owner
    if isinstance(source, TransOp):
        return feeds_gemms_only(op.src) and _is_shared_operand(source)
    return isinstance(source, Operation) and source.name in _LOADS and feeds_gemms_only(op.src)


def feeds_gemms_only(value: SSAValue) -> bool:
    """Whether every use is operand A or B of a GEMM, perhaps transposed."""
    if rank_of(value.type) != 2 or value.first_use is None:
        return False
    for use in value.uses:
        user = use.operation
        if isinstance(user, Gemm):
            if use.index > 1:
                return False
        elif not (isinstance(user, TransOp) and feeds_gemms_only(user.result)):
            return False
    return True
