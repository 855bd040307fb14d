"""Runs IR of the test language on Python integers, and the same kernels as plain Python.

Both record what the kernel stores, so `executed(kernel, ...) == expected(kernel, ...)` says that
the IR does what the author wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.frontend.mini import constexpr, traced
from tilewright.dialects import arith, cf, scf
from tilewright.dialects.tt import CallOp, FuncOp, ReturnOp
from tilewright.dialects.ub import PoisonOp
from tilewright.frontend.functions.function import KernelFunction
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.verify import verify

Stores = list[tuple[int, Any]]

MAX_TURNS = 10_000


def memory(index: int) -> int:
    """What ``load(index)`` gives."""
    return (index * 7 + 3) % 11 - 5


def executed(kernel: KernelFunction, *values: int, **constants: Any) -> Stores:
    """What the traced kernel stores for run-time arguments `values`."""
    module = traced(kernel, **constants).module
    engine = DiagnosticEngine(max_errors=None)
    verify(module, engine)
    # The functions behind load and store are nobody's.
    wrong = [each.message for each in engine.diagnostics if "valid function" not in each.message]
    assert wrong == [], f"{wrong}\n{module}"
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    machine = _Machine(functions)
    machine.call(kernel.name, values)
    return machine.stores


class _Machine:
    def __init__(self, functions: Mapping[str, FuncOp]) -> None:
        self._functions = functions
        self.stores: Stores = []

    def call(self, name: str, arguments: Sequence[Any]) -> Sequence[Any]:
        if name == "load":
            return [memory(arguments[0])]
        if name == "store":
            self.stores.append((arguments[0], arguments[1]))
            return []
        body = self._functions[name].body
        values: dict[SSAValue, Any] = {}
        block, handed = body.blocks[0], list(arguments)
        while True:
            end = self._block(block, handed, values)
            read = [values[operand] for operand in end.operands]
            if isinstance(end, ReturnOp):
                return read
            if isinstance(end, cf.BranchOp):
                block, handed = end.target, read
                continue
            assert isinstance(end, cf.CondBranchOp)
            block = end.true_target if values[end.condition] else end.false_target
            taken = end.true_arguments if values[end.condition] else end.false_arguments
            handed = [values[each] for each in taken]

    def _block(self, block: Block, handed: Sequence[Any], values: dict[SSAValue, Any]) -> Operation:
        values.update(zip(block.args, handed, strict=True))
        for op in block.ops:
            if op is block.last_op:
                return op
            results = self._op(op, values)
            values.update(zip(op.results, results, strict=True))
        raise AssertionError("a block without an end")

    def _region(
        self, region: Region, handed: Sequence[Any], values: dict[SSAValue, Any]
    ) -> tuple[Operation, list[Any]]:
        end = self._block(region.block, handed, values)
        return end, [values[operand] for operand in end.operands]

    def _op(self, op: Operation, values: dict[SSAValue, Any]) -> Sequence[Any]:
        read = [values[operand] for operand in op.operands]
        simple = _SIMPLE.get(type(op))
        if simple is not None:
            return [simple(*read)]
        match op:
            case arith.ConstantOp():
                value = op.value
                assert isinstance(value, (IntegerAttr, FloatAttr))
                return [value.value.data]
            case arith.CmpiOp():
                return [_COMPARISONS[op.predicate.value.data](*read)]
            case PoisonOp():
                return [None]
            case CallOp():
                return self.call(op.callee.root_reference.data, read)
            case scf.IfOp():
                region = op.then_region if read[0] else op.else_region
                return self._region(region, (), values)[1] if region.blocks else []
            case scf.ForOp():
                carried = read[3:]
                for index in range(read[0], read[1], read[2]):
                    carried = self._region(op.body, [index, *carried], values)[1]
                return carried
            case scf.WhileOp():
                return self._while(op, read, values)
            case _:
                raise AssertionError(f"no rule for {op.name}")

    def _while(
        self, op: scf.WhileOp, carried: list[Any], values: dict[SSAValue, Any]
    ) -> Sequence[Any]:
        for _ in range(MAX_TURNS):
            _, (goes_on, *handed) = self._region(op.before_region, carried, values)
            if not goes_on:
                return handed
            carried = self._region(op.after_region, handed, values)[1]
        raise AssertionError("a loop that does not end")


_SIMPLE: Mapping[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.AndiOp: lambda a, b: a & b,
    arith.OriOp: lambda a, b: a | b,
    arith.XoriOp: lambda a, b: int(a) ^ (b & 1),
}
_COMPARISONS: Mapping[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    2: lambda a, b: a < b,
    4: lambda a, b: a > b,
}


def expected(kernel: KernelFunction, *values: int, **constants: Any) -> Stores:
    """What the kernel stores when Python runs it."""
    stores: Stores = []
    known: dict[str, Any] = {
        "load": memory,
        "store": lambda index, value: stores.append((index, value)),
        "static_range": range,
        "range": range,
    }
    function = _plain(kernel, known)
    remaining = iter(values)
    names = [each for each in kernel.params if not each.has_default or each.name in constants]
    arguments = {
        each.name: constants[each.name] if each.name in constants else next(remaining)
        for each in names
    }
    function(**arguments)
    return stores


def _plain(kernel: KernelFunction, known: Mapping[str, Any]) -> Callable[..., Any]:
    """A kernel function as Python sees it, with everything it uses made plain."""
    names = dict(kernel.fn.__globals__)
    for name, value in names.items():
        if isinstance(value, constexpr):
            names[name] = value.value
        elif isinstance(value, KernelFunction) and name in kernel.fn.__code__.co_names:
            names[name] = _plain(value, known)
    code, closure = kernel.fn.__code__, kernel.fn.__closure__
    plain = FunctionType(code, {**names, **known}, kernel.name, kernel.fn.__defaults__, closure)
    plain.__kwdefaults__ = kernel.fn.__kwdefaults__
    return plain
