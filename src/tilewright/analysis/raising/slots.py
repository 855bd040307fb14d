"""Which values share a buffer: what a loop carries, the results of branches, GEMMs in place.

SSA tensors are immutable, buffers are not. A loop argument, its start, its yield and the loop's
result are one buffer as long as nothing reads the argument after the yielded value has been
written. Otherwise the yield has a buffer of its own, and the end of the body copies it.

    overwrite(v, S, arg)  may v be written to the buffer S of arg?
      elementwise         all reads of arg are at or before v, and v's own are at equal indices
      GEMM                its accumulator is arg, or a value that may be placed there
      loop                its start is arg, or a constant
      anything else       all reads of arg are before v
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tilewright.analysis.raising.constants import is_zero, splat_attribute
from tilewright.analysis.raising.kinds import Gemm, is_data_tensor, is_elementwise
from tilewright.analysis.raising.values import ValueClass, Values
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tt import FuncOp, HistogramOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.traversal import walk


@dataclass(eq=False)
class Slot:
    """One buffer of the raised kernel."""

    shape: tuple[int, ...]
    element: Attribute
    is_shared: bool = False
    is_transposed: bool = False
    """Rows and columns are swapped in memory."""
    name: str = "t"
    memory_of: Slot | None = None
    """Another one whose memory this is at another time."""

    @property
    def memory(self) -> Slot:
        """The buffer that is allocated for it."""
        return self if self.memory_of is None else self.memory_of.memory


@dataclass
class Slots:
    """The buffer of each value that has one."""

    of: dict[SSAValue, Slot] = field(default_factory=dict[SSAValue, Slot])

    def share(self, value: SSAValue, slot: Slot) -> None:
        """Let `value`, and what shares its buffer, use `slot`."""
        old = self.of.get(value)
        if old is None:
            self.of[value] = slot
            return
        for each in [each for each, its in self.of.items() if its is old]:
            self.of[each] = slot


def assign_slots(function: FuncOp, values: Values) -> Slots:
    return _Assigner(function, values).run()


class _Assigner:
    def __init__(self, function: FuncOp, values: Values) -> None:
        self._function = function
        self._values = values
        self._slots = Slots()

    def run(self) -> Slots:
        for op in walk(self._function):
            match op:
                case ForOp():
                    self._enter(op.iter_args, op.results)
                case WhileOp():
                    self._enter(op.before_region.block.args, ())
                    self._enter(op.after_region.block.args, op.results)
                case IfOp():
                    for result in op.results:
                        self._new(result)
                case _:
                    for result in op.results:
                        if self._values.is_buffer(result):
                            self._new(result)
        loops = [op for op in walk(self._function) if isinstance(op, ForOp | WhileOp)]
        for op in reversed(loops):
            if isinstance(op, ForOp):
                self._join_yields(op)
        for op in loops:
            if isinstance(op, ForOp):
                self._join_inits(op)
        for op in walk(self._function):
            if isinstance(op, IfOp):
                self._join_branches(op)
            elif isinstance(op, Gemm):
                self._join_accumulator(op)
            elif is_elementwise(op):
                self._join_in_place(op)
        return self._slots

    def _new(self, value: SSAValue) -> None:
        if is_data_tensor(value):
            is_shared = self._values.classes.get(value) is ValueClass.SHARED or isinstance(
                value.owner, HistogramOp
            )
            self._slots.of[value] = Slot(
                shape_of(value.type), element_type_of(value.type), is_shared, name=_name(value)
            )

    def _enter(self, arguments: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
        for index, argument in enumerate(arguments):
            self._new(argument)
            if index < len(results) and argument in self._slots.of:
                self._slots.of[results[index]] = self._slots.of[argument]

    # Loops.

    def _join_yields(self, op: ForOp) -> None:
        end = op.body.block.last_op
        assert end is not None
        for argument, value in zip(op.iter_args, end.operands, strict=True):
            slot = self._slots.of.get(argument)
            if slot is None or value is argument or self._slots.of.get(value) is slot:
                continue
            is_once = sum(other is value for other in end.operands) == 1
            if is_once and self._is_own(value) and self._may_overwrite(value, argument):
                self._slots.share(value, slot)
                owner = value.owner
                if isinstance(owner, Gemm) and self._accumulates(owner, argument):
                    self._slots.share(owner.c, slot)

    def _is_own(self, value: SSAValue) -> bool:
        """Whether the value has a buffer that nothing outside refers to."""
        return value in self._slots.of and isinstance(value, OpResult)

    def _accumulates(self, dot: Gemm, argument: SSAValue) -> bool:
        c = dot.c
        return (
            c is not argument
            and self._is_own(c)
            and _uses(c) == 1
            and self._may_overwrite(c, argument)
        )

    def _may_overwrite(self, value: SSAValue, argument: SSAValue) -> bool:
        op = value.owner
        assert isinstance(op, Operation)
        body = _block_of(argument)
        if op.parent is not body:
            return False
        reads = [self._top(anchor, body) for anchor in self._values.anchors[argument]]
        at = self._values.positions[op]
        before = [read for read in reads if read is not op]
        if any(read is None or self._values.positions[read] > at for read in before):
            return False
        own = len(before) != len(reads)
        if isinstance(op, Gemm):
            return op.c is argument or not own
        if is_elementwise(op):
            return not own or _reads_in_place(value, argument, self._values)
        if isinstance(op, ForOp):
            assert isinstance(value, OpResult)
            init = op.init_args[value.index]
            if init is argument:
                return _uses(argument) == 1
            return not own and isinstance(init.owner, Operation) and _is_constant(init)
        return not own

    def _top(self, op: Operation, block: Block) -> Operation | None:
        """The op of `block` that contains `op`."""
        found: Operation | None = op
        while found is not None and found.parent is not block:
            found = found.parent_op()
        return found

    def _join_inits(self, op: ForOp) -> None:
        for init, argument in zip(op.init_args, op.iter_args, strict=True):
            slot = self._slots.of.get(argument)
            if slot is None or init not in self._slots.of or self._slots.of[init] is slot:
                continue
            is_once = _uses(init) == 1 and sum(other is init for other in op.init_args) == 1
            if not is_once or not isinstance(init, OpResult) or init.op.parent is not op.parent:
                continue
            if self._slots.of[init].is_shared:
                continue
            self._slots.share(init, slot)

    # Branches and accumulators.

    def _join_branches(self, op: IfOp) -> None:
        for region in op.regions:
            end = None if not region.blocks else region.block.last_op
            if end is None:
                continue
            for result, value in zip(op.results, end.operands, strict=True):
                slot = self._slots.of.get(result)
                if slot is None or not self._is_own(value) or _uses(value) != 1:
                    continue
                owner = value.owner
                is_plain = not isinstance(owner, ForOp | WhileOp | IfOp)
                if is_plain and isinstance(owner, Operation) and owner.parent is region.block:
                    self._slots.share(value, slot)

    def _join_in_place(self, op: Operation) -> None:
        """An elementwise value overwrites an operand that nothing else reads."""
        slot = self._slots.of.get(op.results[0])
        if (
            slot is None
            or slot.is_shared
            or any(
                its is slot for value, its in self._slots.of.items() if value is not op.results[0]
            )
        ):
            return
        for value in self._values.anchors:
            own = self._slots.of.get(value)
            if own is None or own.is_shared or not isinstance(value, OpResult):
                continue
            is_last = self._is_last_read(op, value)
            is_same = own.shape == slot.shape and own.element == slot.element
            if is_last and is_same and _reads_in_place(op.results[0], value, self._values):
                self._slots.share(op.results[0], own)
                return

    def _is_last_read(self, op: Operation, value: OpResult) -> bool:
        """Whether `op` reads a value of its own block, and nothing reads it later."""
        anchors = self._values.anchors[value]
        if op not in anchors or value.op.parent is not op.parent:
            return False
        at = self._values.positions[op]
        return all(
            anchor.parent is op.parent and self._values.positions[anchor] <= at
            for anchor in anchors
        )

    def _join_accumulator(self, op: Gemm) -> None:
        slot, c = self._slots.of.get(op.d), op.c
        if slot is None or is_zero(c) or not self._is_own(c) or _uses(c) != 1:
            return
        owner = c.owner
        own = self._slots.of[c]
        if own is not slot and isinstance(owner, Operation) and owner.parent is op.parent:
            if any(its is own for value, its in self._slots.of.items() if value is not c):
                return
            self._slots.share(c, slot)


def _uses(value: SSAValue) -> int:
    return sum(1 for _ in value.uses)


def _block_of(argument: SSAValue) -> Block:
    assert isinstance(argument, BlockArgument)
    return argument.block


def _is_constant(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and splat_attribute(owner) is not None


def _reads_in_place(value: SSAValue, argument: SSAValue, values: Values) -> bool:
    """Whether `value` is computed from `argument` at equal indices only."""
    work: list[SSAValue] = [value]
    seen: set[SSAValue] = set()
    while work:
        current = work.pop()
        if current in seen or current is argument:
            continue
        seen.add(current)
        owner = current.owner
        if not isinstance(owner, Operation):
            continue
        if current is not value and values.is_buffer(current):
            continue
        if is_elementwise(owner):
            work += owner.operands
        elif argument in _reachable(current, values):
            return False
    return True


def _reachable(value: SSAValue, values: Values) -> set[SSAValue]:
    """Buffers and arguments that an expression reads."""
    found: set[SSAValue] = set()
    work = [value]
    while work:
        current = work.pop()
        if current in found:
            continue
        found.add(current)
        owner = current.owner
        if isinstance(owner, Operation) and not (
            current is not value and values.is_buffer(current)
        ):
            work += owner.operands
    return found


def _name(value: SSAValue) -> str:
    return value.name_hint or "t"
