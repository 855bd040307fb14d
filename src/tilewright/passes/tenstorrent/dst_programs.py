"""The body of an element-wise op as a sequence of instructions on DST slots.

    exp(x * 1.5 - s)      copy x -> 0 ; unary_scalar mul 0, 1.5 ; bcast add col zero, s -> 1
                          binary_dst sub 0, 1 -> 0 ; unary exp 0

Two tiles of circular buffers under add, sub or mul go through the FPU; a repeated row, column or
element enters through an FPU broadcast, with a tile of zeros as the other operand where none fits.
Everything else is computed by the SFPU in DST. Slots are assigned while the expression is walked,
the operand that needs more of them first (Sethi and Ullman), and reused after the last use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, i1, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.tensix.blocks import ElementwiseOp
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.dst_functions import (
    BINARY,
    COMMUTES,
    FPU,
    INTEGER_BINARY,
    SAME,
    SCALAR,
    UNARY,
    comparison,
    integer_comparison,
    no_intrinsic,
)
from tilewright.passes.tenstorrent.dst_instructions import (
    ZERO,
    Binary,
    Copy,
    DstProgram,
    Fill,
    Fpu,
    Instruction,
    Scalar,
    Typecast,
    Unary,
    Where,
    bits_of,
)
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tenstorrent.scalar_words import word_of

MASK = "tt.mask"
"""A test of a mask against 0, whose result is the mask itself."""
_FRESH_SLOTS = 4
"""Slots of the smallest section; an FPU multiplication does not use more of them."""


def dst_program(
    op: ElementwiseOp, given: dict[int, int] | None = None, busy: Iterable[int] = ()
) -> DstProgram:
    """The program of an element-wise op for one tile.

    `given` are inputs that are in a slot already, `busy` slots that hold other tiles.
    """
    return _Planner(op, given or {}, busy={*busy}).run()


@dataclass
class _Planner:
    op: ElementwiseOp
    given: dict[int, int]
    made: list[Instruction] = field(default_factory=list[Instruction])
    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Values in DST."""
    uses: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    needs: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    busy: set[int] = field(default_factory=set[int])
    written: set[int] = field(default_factory=set[int])
    max_slots: int = 0

    def run(self) -> DstProgram:
        results = list(self.op.results_of_body)
        for value in results:
            self._count(value)
        elements = list(self.op.elements)
        for position, slot in self.given.items():
            self.busy.add(slot)
            self.slots[elements[position]] = slot
        self.max_slots = len(self.busy)
        for position, slot in self.given.items():
            if not self.uses.get(elements[position]):
                self.busy.discard(slot)
        slots = [self._owned(each) for each in results]
        return DstProgram(tuple(self.made), tuple(slots), self.max_slots)

    def _count(self, value: SSAValue) -> None:
        self.uses[value] = self.uses.get(value, 0) + 1
        if self.uses[value] == 1:
            for operand in _operands(value):
                self._count(operand)

    # -- slots ---------------------------------------------------------------------------------

    def _free(self) -> int:
        slot = 0
        while slot in self.busy:
            slot += 1
        self.busy.add(slot)
        self.written.add(slot)
        self.max_slots = max(self.max_slots, len(self.busy), slot + 1)
        return slot

    def _fresh(self) -> int | None:
        """A slot that nothing was written to in this section: `mul` of the FPU adds to its slot."""
        if self.given:
            return None  # other tiles of the section may have used any slot
        slot = max((*self.busy, *self.written), default=-1) + 1
        if slot >= _FRESH_SLOTS:
            return None
        self.busy.add(slot)
        self.written.add(slot)
        self.max_slots = max(self.max_slots, slot + 1)
        return slot

    def _use(self, value: SSAValue, slot: int) -> bool:
        """One use of a value less; whether it was the last, so that its slot is free."""
        self.uses[value] -= 1
        if self.uses[value] > 0 and self._is_retained(value):
            return False
        self.busy.discard(slot)
        self.slots.pop(value, None)
        return True

    def _is_retained(self, value: SSAValue) -> bool:
        return value in self.slots

    def _evaluate(self, value: SSAValue) -> int:
        """The slot that holds `value`; a leaf is loaded for every use."""
        if value in self.slots:
            return self.slots[value]
        uniform = _scalar_of(value)
        if uniform is not None:
            slot = self._free()
            self.made.append(_fill(slot, value, uniform))
            return slot
        if isinstance(value, BlockArgument):
            return self._load(value)
        slot = self._compute(value)
        if self.uses[value] > 1:
            self.slots[value] = slot
        return slot

    def _load(self, value: BlockArgument) -> int:
        position = value.index - 2
        if value.block is not self.op.body.block or position < 0:
            raise NotSupported(
                self.op,
                "the value of an element depends on its position in the block: only comparisons "
                "of loop indices are supported",
            )
        slot = self._free()
        kind = self.op.kinds[position]
        if kind != "tile" and value.type == i32:
            raise NotSupported(
                self.op,
                f"'{name_of(self.op.inputs[position])}' is repeated along an axis, and the target "
                "repeats floats only: use float32",
            )
        if kind == "tile":
            self.made.append(Copy(position, slot))
        else:
            self.made.append(Fpu("add", ZERO, position, slot, kind))
        return slot

    def _owned(self, value: SSAValue) -> int:
        """A slot with `value` that may be overwritten."""
        slot = self._evaluate(value)
        if self._use(value, slot) or not self._is_retained(value):
            self.busy.add(slot)
            return slot
        copy = self._free()
        self.made.append(Binary("max_int" if value.type == i32 else "max", slot, slot, copy))
        return copy

    # -- instructions --------------------------------------------------------------------------

    def _compute(self, value: SSAValue) -> int:
        op = value.owner
        assert isinstance(op, Operation)
        name = op.name
        if name in SAME or MASK in op.attributes:
            return self._owned(op.operands[0])
        if name in UNARY:
            slot = self._owned(op.operands[0])
            self.made.append(Unary(UNARY[name], slot))
            return slot
        if op.results[0].type == i32 and name in INTEGER_BINARY:
            function = INTEGER_BINARY[name]
            return self._on_slots(
                tuple(op.operands), lambda slots, out: Binary(function, slots[0], slots[1], out)
            )
        if name == "arith.cmpi":
            function = integer_comparison(op)
            slot = self._on_slots(
                tuple(op.operands), lambda slots, out: Binary(function, slots[0], slots[1], out)
            )
            self.made.append(Typecast("i32", "f32", slot))
            return slot
        if name in _CONVERSIONS and i32 in (op.operands[0].type, op.results[0].type):
            return self._convert(op)
        if name == "math.log2":
            slot = self._owned(op.operands[0])
            self.made += [Unary("log", slot), Scalar("mul", slot, bits_of(1 / math.log(2)))]
            return slot
        if name in BINARY and op.results[0].type != i32:
            return self._binary(op, BINARY[name])
        if name == "arith.cmpf":
            return self._binary(op, comparison(op))
        if name == "arith.select":
            return self._select(op)
        if name == "arith.xori" and _constant(op.operands[1]) in (1.0, -1.0):
            slot = self._owned(op.operands[0])
            self.made.append(Scalar("rsub", slot, bits_of(1.0)))
            return slot
        if name == "math.fma":
            return self._fma(op)
        raise NotSupported(op, no_intrinsic(op))

    def _binary(self, op: Operation, function: str) -> int:
        left, right = op.operands
        found = self._on_fpu(function, left, right)
        if found is None:
            found = self._with_scalar(function, left, right)
        if found is not None:
            return found
        return self._on_slots(
            (left, right), lambda slots, out: Binary(function, slots[0], slots[1], out)
        )

    def _on_fpu(self, function: str, left: SSAValue, right: SSAValue) -> int | None:
        """Both operands from circular buffers, one of them possibly repeated."""
        if function not in FPU.values() or not (self._is_leaf(left) and self._is_leaf(right)):
            return None
        one, other = self._position(left), self._position(right)
        kinds = self.op.kinds
        if kinds[one] != "tile" and kinds[other] == "tile" and function in COMMUTES:
            one, other = other, one
        if kinds[one] != "tile":
            return None
        slot = self._free() if function != "mul" else self._fresh()
        if slot is None:
            return None
        for each in (left, right):
            self.uses[each] -= 1
        dim = None if kinds[other] == "tile" else kinds[other]
        self.made.append(Fpu(function, one, other, slot, dim))
        return slot

    def _is_leaf(self, value: SSAValue) -> bool:
        return (
            isinstance(value, BlockArgument)
            and value.block is self.op.body.block
            and value.index >= 2
            and value not in self.slots
            and isinstance(value.type, AnyFloat)
        )

    def _position(self, value: SSAValue) -> int:
        assert isinstance(value, BlockArgument)
        return value.index - 2

    def _with_scalar(self, function: str, left: SSAValue, right: SSAValue) -> int | None:
        one, other = _scalar_of(left), _scalar_of(right)
        if other is None and one is not None:
            if function in COMMUTES:
                left, right, one, other = right, left, other, one
            elif function == "sub":
                return self._scalar("rsub", right, one)
            elif function == "div" and one == 1.0:
                slot = self._owned(right)
                self.made.append(Unary("recip", slot))
                return slot
        if other is None:
            return None
        if function == "max" and other == 0:
            slot = self._owned(left)
            self.made.append(Unary("relu", slot))
            return slot
        if function == "div" and isinstance(other, SSAValue):
            return None  # a division by a scalar multiplies by the reciprocal, which the host has
        return self._scalar(function, left, other) if function in SCALAR else None

    def _scalar(self, function: str, value: SSAValue, scalar: float | SSAValue) -> int:
        slot = self._owned(value)
        bits = scalar if isinstance(scalar, SSAValue) else bits_of(scalar)
        self.made.append(Scalar(function, slot, bits))
        return slot

    def _select(self, op: Operation) -> int:
        format = "i32" if op.results[0].type == i32 else "f32"
        return self._on_slots(
            tuple(op.operands), lambda slots, out: Where(slots[0], slots[1], slots[2], out, format)
        )

    def _convert(self, op: Operation) -> int:
        """Between int32 and floats; a condition is a float."""
        source, target = (
            "i32" if each == i32 else "f32" for each in (op.operands[0].type, op.results[0].type)
        )
        is_known = {op.operands[0].type, op.results[0].type} <= {i1, i32} or any(
            isinstance(each, AnyFloat) for each in (op.operands[0].type, op.results[0].type)
        )
        if not is_known:
            raise NotSupported(op, no_intrinsic(op))
        slot = self._owned(op.operands[0])
        self.made.append(Typecast(source, target, slot))
        return slot

    def _fma(self, op: Operation) -> int:
        """``a * b + c`` as two instructions; the multiplication may go through the FPU."""
        left, right, third = op.operands
        slot = self._on_fpu("mul", left, right)
        if slot is None:
            slot = self._with_scalar("mul", left, right)
        if slot is None:
            slot = self._on_slots(
                (left, right), lambda slots, out: Binary("mul", slots[0], slots[1], out)
            )
        other = self._evaluate(third)
        self._use(third, other)
        self.made.append(Binary("add", slot, other, slot))
        return slot

    def _need(self, value: SSAValue) -> int:
        """How many slots the evaluation of a value takes, as a tree."""
        found = self.needs.get(value)
        if found is None:
            operands = [each for each in _operands(value) if _scalar_of(each) is None]
            needs = sorted((self._need(each) for each in operands), reverse=True)
            found = max((need + position for position, need in enumerate(needs)), default=1)
            self.needs[value] = found
        return found

    def _on_slots(
        self, values: Sequence[SSAValue], make: Callable[[Sequence[int], int], Instruction]
    ) -> int:
        """An instruction on operands in DST; the result goes to the slot of one that is free."""
        order = sorted(range(len(values)), key=lambda n: (-self._need(values[n]), n))
        slots = [0] * len(values)
        for position in order:
            slots[position] = self._evaluate(values[position])
        freed: list[int] = []
        for value, slot in zip(values, slots, strict=True):
            if self._use(value, slot) and slot not in freed:
                freed.append(slot)
        out = min(freed) if freed else self._free()
        self.busy.add(out)
        self.made.append(make(slots, out))
        return out


def _operands(value: SSAValue) -> Sequence[SSAValue]:
    owner = value.owner
    return owner.operands if isinstance(owner, Operation) else ()


def _constant(value: SSAValue) -> float | None:
    found = constant_value(value)
    if isinstance(found, FloatAttr):
        return float(found.value.data)
    if isinstance(found, IntegerAttr):
        return float(found.value.data)
    return None


_CONVERSIONS = ("arith.sitofp", "arith.fptosi", "arith.extui", "arith.uitofp")


def _fill(slot: int, value: SSAValue, uniform: float | SSAValue) -> Fill:
    """Fill a slot with what is the same in all elements."""
    if value.type == i32:
        bits = uniform if isinstance(uniform, SSAValue) else int(uniform) & 0xFFFFFFFF
        return Fill(slot, bits, "i32")
    return Fill(slot, uniform if isinstance(uniform, SSAValue) else bits_of(uniform))


def _scalar_of(value: SSAValue) -> float | SSAValue | None:
    """What is the same in all elements: a constant or the word of a run-time scalar."""
    constant = _constant(value)
    return word_of(value) if constant is None else constant
