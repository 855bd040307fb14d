"""Running the host's side of a compiled kernel: extents, tensor maps, launches.

The function that is left on the host is a few lines of arithmetic and one launch for each kernel;
it is read op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv import LaunchOp, TensorMapOp
from tilewright.ir.interfaces import constant_value
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.cuda.tensor_map import cuda_type_of, encode
from tilewright.targets.cuda.compile import DeviceKernel, Program

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divui": lambda a, b: a // b,
    "arith.divsi": lambda a, b: int(a / b),
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.remui": lambda a, b: a % b,
    "arith.remsi": lambda a, b: a - int(a / b) * b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.maxui": max,
}
_SAME = frozenset(
    (
        "arith.index_cast",
        "arith.index_castui",
        "arith.extsi",
        "arith.trunci",
        "memref.collapse_shape",
        "memref.cast",
    )
)
_NOTHING = frozenset(("func.return", "tile.assume"))


class DeviceProgram:
    """A program that runs on a GPU."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._launchers: dict[str, Launcher] = {}

    def __call__(self, arguments: Sequence[Any], stream: Any = None) -> None:
        """Run with one value for each parameter of the host function."""
        block = self.program.host.body.block
        values: dict[SSAValue, Any] = {}
        for argument, value in zip(block.args, arguments, strict=True):
            found = device_array(value) if not isinstance(value, (int, float, bool)) else None
            values[argument] = value if found is None else found
        for op in block.ops:
            self._op(op, values, stream)

    def _op(self, op: Operation, values: dict[SSAValue, Any], stream: Any) -> None:
        if isinstance(op, LaunchOp):
            self._launch(op, values, stream)
        elif isinstance(op, TensorMapOp):
            values[op.result] = _tensor_map(op, values[op.tensor])
        elif op.name == "memref.dim":
            array: DeviceArray = values[op.operands[0]]
            values[op.results[0]] = array.shape[_value(op.operands[1], values)]
        elif op.name in _SAME:
            values[op.results[0]] = _value(op.operands[0], values)
        elif op.name in _ARITHMETIC:
            left, right = (_value(each, values) for each in op.operands)
            values[op.results[0]] = _ARITHMETIC[op.name](left, right)
        elif op.name not in _NOTHING and constant_value(op.results[0]) is None:
            raise NotImplementedError(f"the host cannot run '{op.name}'")

    def _launch(self, op: LaunchOp, values: dict[SSAValue, Any], stream: Any) -> None:
        name = op.kernel.string_value()
        launcher = self._launchers.get(name)
        if launcher is None:
            launcher = self._launchers[name] = _launcher(self.program.kernels[name])
        grid = [_value(each, values) for each in op.grid]
        if 0 in grid:
            return
        launcher(grid, [_value(each, values) for each in op.arguments], stream)


def _launcher(kernel: DeviceKernel) -> Launcher:
    facts = kernel.facts
    return Launcher(load(kernel.cubin, facts.name, facts.shared, cluster=facts.cluster), facts)


def _value(value: SSAValue, values: Mapping[SSAValue, Any]) -> Any:
    if value in values:
        return values[value]
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return constant.value.data
    assert constant is not None, "a value of the host is used before it is made"
    return constant.value.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def _tensor_map(op: TensorMapOp, array: DeviceArray) -> bytes:
    from tilewright.dialects.type_utils import bit_width, element_type_of

    element = element_type_of(op.tensor.type)
    return encode(
        array.address,
        cuda_type=cuda_type_of(str(element)),
        element_bytes=bit_width(element) // 8,
        shape=array.shape,
        strides=array.strides,
        box=op.extents,
        swizzle_bytes=op.swizzle.value.data,
        padding=op.fill.data,
    )
