"""The host's side of a kernel, read out of the IR into plain steps (`steps`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StridedLayoutAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import TensorMapOp
from tilewright.dialects.simt import LaunchOp, StrideOp
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.interfaces import constant_value
from tilewright.targets.cxx.errors import CannotEmit
from tilewright.targets.host.steps import Operand, Step

NOT_ON_HOST = "TW6213"
"""Host code of a kernel, outside of `T.Kernel`, that no launch can do."""
SAME = frozenset(
    (
        "arith.index_cast",
        "arith.index_castui",
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "memref.collapse_shape",
        "memref.cast",
    )
)
_NOTHING = frozenset(("func.return", "tile.assume", "arith.constant"))
_TWO: Mapping[str, str] = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.divui": "/",
    "arith.divsi": "/",
    "arith.floordivsi": "floordiv",
    "arith.ceildivsi": "ceildiv",
    "arith.ceildivui": "ceildiv",
    "arith.remui": "%",
    "arith.remsi": "%",
    "arith.minsi": "min",
    "arith.maxsi": "max",
    "arith.minui": "min",
    "arith.maxui": "max",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.xori": "^",
    "arith.shli": "<<",
    "arith.shrsi": ">>",
    "arith.shrui": ">>",
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def _not_on_host(op: Operation, message: str) -> CannotEmit:
    """The error for an op outside of kernels that the host cannot do."""
    return CannotEmit(Diagnostic(Severity.ERROR, message, op.location, NOT_ON_HOST))


def host_steps(function: FuncOp) -> tuple[Step, ...]:
    """The steps of a function that launches kernels."""
    reader = _Reader(function)
    for op in function.body.block.ops:
        reader.read(op)
    return tuple(reader.steps)


class _Reader:
    """Reads one function."""

    def __init__(self, function: FuncOp) -> None:
        self.names: dict[SSAValue, Operand] = {
            argument: f"%{index}" for index, argument in enumerate(function.body.block.args)
        }
        self.steps: list[Step] = []

    def read(self, op: Operation) -> None:
        if op.name in _NOTHING:
            return
        if op.name in SAME:
            self.names[op.results[0]] = self._operand(op.operands[0])
        elif isinstance(op, LaunchOp):
            grid = [self._operand(each) for each in op.grid]
            arguments = [self._operand(each) for each in op.arguments]
            self.steps.append(Step("launch", "", (*grid, *arguments), (op.kernel.string_value(),)))
        elif isinstance(op, TensorMapOp):
            element = element_type_of(op.tensor.type)
            constants = (
                str(element),
                bit_width(element) // 8,
                tuple(op.extents),
                op.swizzle.value.data,
                op.fill.data,
                op.expands is not None,
            )
            self._add("map", op.results[0], (self._operand(op.tensor),), constants)
        elif isinstance(op, ViewOp):
            self._view(op)
        elif isinstance(op, PtrOfOp):
            (index,) = op.indices  # linear, after flatten-memrefs
            size = bit_width(element_type_of(op.base.type)) // 8 or 1
            operands = (self._operand(op.base), self._operand(index))
            self._add("at", op.result, operands, (size,))
        elif isinstance(op, AllocOp):
            shape = shape_of(op.result.type)
            if any(size < 0 for size in shape):
                raise _not_on_host(op, "memory passed between kernels requires known extents")
            size = bit_width(element_type_of(op.result.type)) // 8 or 1
            self._add("alloc", op.result, (), (tuple(shape), size))
        elif op.name == "memref.dim":
            axis = self._operand(op.operands[1])
            self._add("dim", op.results[0], (self._operand(op.operands[0]), axis))
        elif isinstance(op, StrideOp):
            self._add("stride", op.result, (self._operand(op.tensor), op.axis.value.data))
        elif op.name in _TWO:
            self._add(_TWO[op.name], op.results[0], self._operands(op))
        elif op.name == "arith.cmpi":
            predicate = op.properties["predicate"]
            assert isinstance(predicate, IntegerAttr)
            self._add(_COMPARISONS[predicate.value.data], op.results[0], self._operands(op))
        elif op.name == "arith.select":
            self._add("select", op.results[0], self._operands(op))
        elif op.name == "tile.assert":
            self._assert(op)
        else:
            raise _not_on_host(op, f"'{op.name}' is not supported in host code")

    def _assert(self, op: Operation) -> None:
        """A condition, and the values that it is computed from, by their names."""
        message = op.properties.get("message")
        text = message.data if isinstance(message, StringAttr) else "assertion failed"
        given = _sources(op.operands[0])
        names = tuple(name for name, value in given.items() if value in self.names)
        values = tuple(self._operand(given[name]) for name in names)
        operands = (self._operand(op.operands[0]), *values)
        self.steps.append(Step("assert", "", operands, (text, *names)))

    def _view(self, op: ViewOp) -> None:
        """The same memory with other extents; those that are not known are operands."""
        type = op.result.type
        assert isinstance(type, MemRefType)
        layout = type.layout
        strides = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else None
        constants = (tuple(shape_of(type)), None if strides is None else tuple(strides))
        sizes = [self._operand(each) for each in op.sizes]
        steps = [self._operand(each) for each in op.strides]
        self._add("view", op.result, (self._operand(op.source), *sizes, *steps), constants)

    def _add(
        self,
        kind: str,
        result: SSAValue,
        operands: tuple[Operand, ...],
        constants: tuple[Any, ...] = (),
    ) -> None:
        name = f"%{len(self.names) + len(self.steps)}_{kind if kind.isalpha() else 'v'}"
        self.steps.append(Step(kind, name, operands, constants))
        self.names[result] = name

    def _operands(self, op: Operation) -> tuple[Operand, ...]:
        return tuple(self._operand(each) for each in op.operands)

    def _operand(self, value: SSAValue) -> Operand:
        found = self.names.get(value)
        if found is not None:
            return found
        constant = constant_value(value)
        assert constant is not None, "a host value is used before its definition"
        return constant.value.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def _sources(condition: SSAValue) -> dict[str, SSAValue]:
    """Scalars that a condition is computed from: arguments, extents and strides of tensors."""
    found: dict[str, SSAValue] = {}
    seen, stack = {condition}, [condition]
    while stack:
        value = stack.pop()
        owner = value.owner
        if not isinstance(owner, Operation):
            found[value.name_hint or "an argument"] = value
            continue
        if owner.name == "memref.dim" or isinstance(owner, StrideOp):
            found[_property_of(owner)] = value
            continue
        new = [each for each in owner.operands if each not in seen]
        seen.update(new)
        stack += reversed(new)
    return found


def _property_of(op: Operation) -> str:
    """``A.shape[0]``."""
    tensor = op.operands[0].name_hint or "a tensor"
    if isinstance(op, StrideOp):
        return f"{tensor}.strides[{op.axis.value.data}]"
    axis = constant_value(op.operands[1])
    return f"{tensor}.shape[{axis.value.data if isinstance(axis, IntegerAttr) else '?'}]"
