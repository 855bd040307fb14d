"""`tlx-print-ttgir-to-tlx`: TTGIR as the `tlx` that a person would have written, for reading.

    scf.for %i = %lo to %hi step %s iter_args(%p = %x)     arg3 = x
                                                    ->     for arg2 in range(lo, hi, s):
    ttg.warp_specialize(...) default {...}                 with tlx.async_tasks():
                                                             with tlx.async_task("default"):

The text goes to the standard output; the IR stays as it is. Loops assign what they carry, layouts
and tokens are left out, barriers are initialised where they are allocated, and a value has the name
of the variable that it was assigned to, if it has one. `tlx_expressions` has the text of each op.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tt import FuncOp, ReturnOp
from tilewright.dialects.ttg import WarpSpecializeOp
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.types import AsyncTokenType
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.text.locations import find_name
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.tlx_expressions import BARRIER_LIFE, constant_text, expression

_SILENT = (*BARRIER_LIFE, "gpu.barrier", "ub.poison", "ttg.warp_return", "ttg.warp_yield")
"""Ops without a line: those that other lines stand for, and ends of regions."""
_SAME = ("ttg.convert_layout", "tt.splat")
"""Ops whose result has the name of their operand."""


@dataclass(frozen=True)
class PrintTtgirToTlx(Pass):
    """Print functions of TTGIR as `tlx`."""

    name = "tlx-print-ttgir-to-tlx"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, FuncOp):
                sys.stdout.write(tlx_text(op))


def tlx_text(function: FuncOp) -> str:
    """The text of a function."""
    writer = _Writer()
    writer.function(function)
    return "\n".join(writer.lines) + "\n\n"


@dataclass
class _Writer:
    """The lines of one function, and the names of its values."""

    lines: list[str] = field(default_factory=list[str])
    _names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _used: set[str] = field(default_factory=set[str])
    _depth: int = 0
    _arguments: int = 0
    _variables: int = 0

    # -- names -------------------------------------------------------------------------------

    def name(self, value: SSAValue) -> str:
        """The text of a value where it is used."""
        known = self._names.get(value)
        if known is not None:
            return known
        constant = constant_value(value)
        return self._variable(value) if constant is None else constant_text(constant)

    def _argument(self, value: SSAValue) -> str:
        found = self._named(value) or f"arg{self._arguments}"
        self._arguments += 1
        return self._give(value, found)

    def _variable(self, value: SSAValue) -> str:
        found = self._named(value)
        if found is None:
            found = f"var_{self._variables}"
            self._variables += 1
        return self._give(value, found)

    def _named(self, value: SSAValue) -> str | None:
        """The variable of the source, as long as no other value has its name."""
        owner = value.owner
        location = owner.location if isinstance(owner, Operation) else cast("Any", value).location
        found = find_name(location)
        return found if found is not None and found.isidentifier() else None

    def _give(self, value: SSAValue, found: str) -> str:
        name, count = found, 1
        while name in self._used:
            count += 1
            name = f"{found}_{count}"
        self._used.add(name)
        self._names[value] = name
        return name

    def _alias(self, values: Iterable[SSAValue], others: Iterable[SSAValue]) -> None:
        for value, other in zip(values, others, strict=True):
            self._names[value] = self.name(other)

    # -- lines -------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def _assign(self, targets: Sequence[str], values: Sequence[str]) -> None:
        """All at once, as a loop passes its values on."""
        pairs = [(a, b) for a, b in zip(targets, values, strict=True) if a != b]
        if pairs:
            self._line(f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}")

    def _body(self, write: Callable[[], None]) -> None:
        self._depth += 1
        before = len(self.lines)
        write()
        if len(self.lines) == before:
            self._line("pass")
        self._depth -= 1

    def function(self, function: FuncOp) -> None:
        block = function.body.block
        arguments = ", ".join(map(self._argument, block.args))
        self._line("@triton.jit")
        self._line(f"def {function.sym_name.data}({arguments}):")
        self._body(lambda: self._block(block))

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        write = _STATEMENTS.get(type(op))
        if write is not None:
            write(self, op)
        elif op.name in _SAME:
            self._alias(op.results, op.operands)
        elif not _is_silent(op):
            results = [each for each in op.results if not isinstance(each.type, AsyncTokenType)]
            text = expression(op, self.name)
            target = ", ".join(map(self._variable, results))
            self._line(f"{target} = {text}" if target else text)
            if op.name.endswith("_alloc") and op.operands:  # filled where it is allocated
                self._line(f"tlx.local_store({target}, {self.name(op.operands[0])})")

    # -- control flow ------------------------------------------------------------------------

    def write_for(self, op: Any) -> None:
        index, *carried = op.body.block.args
        starts = [self.name(each) for each in op.init_args]
        self._assign([self._argument(each) for each in carried], starts)
        bounds = ", ".join(self.name(each) for each in (op.lower_bound, op.upper_bound, op.step))
        self._line(f"for {self._argument(index)} in range({bounds}):")

        def write() -> None:
            self._block_and_yield(op.body.block, [self.name(each) for each in carried])

        self._body(write)
        self._alias(op.results, carried)

    def _block_and_yield(self, block: Block, targets: Sequence[str]) -> None:
        """The ops of a block, and the assignment of what it yields."""
        end = block.last_op
        assert end is not None
        for op in block.ops:
            if op is not end:
                self._op(op)
        self._assign(targets, [self.name(each) for each in end.operands])

    def write_if(self, op: Any) -> None:
        targets = [self._variable(each) for each in op.results]
        self._line(f"if {self.name(op.condition)}:")
        self._body(lambda: self._block_and_yield(op.then_region.block, targets))
        if op.has_else:
            self._line("else:")
            self._body(lambda: self._block_and_yield(op.else_region.block, targets))

    def write_while(self, op: Any) -> None:
        before, after = op.before_region.block, op.after_region.block
        test = before.last_op
        assert test is not None
        carried = [self._argument(each) for each in before.args]
        self._assign(carried, [self.name(each) for each in op.operands])
        self._line("while True:")
        condition, *passed = test.operands

        def write() -> None:
            for each in before.ops:
                if each is not test:
                    self._op(each)
            self._line(f"if not {self.name(condition)}:")

            def leave() -> None:
                results = [self._variable(each) for each in op.results]
                self._assign(results, [self.name(each) for each in passed])
                self._line("break")

            self._body(leave)
            self._alias(after.args, passed)
            self._block_and_yield(after, carried)

        self._body(write)

    def write_tasks(self, op: Any) -> None:
        self._line("with tlx.async_tasks():")
        self._body(lambda: self._tasks(op))

    def _tasks(self, op: WarpSpecializeOp) -> None:
        self._line('with tlx.async_task("default"):')
        self._body(lambda: self._region(op.default_region))
        end = op.default_region.blocks[0].last_op
        if op.results and end is not None:
            self._alias(op.results, end.operands)
        registers = op.requested_registers or op.actual_registers
        budgets = () if registers is None else integers(registers)
        captures = [SSAValue.get(each) for each in op.captures]
        for index, region in enumerate(op.partitions):
            given = [f"num_warps={op.num_partition_warps[index]}"]
            given += [f"registers={budgets[index]}"] if index < len(budgets) else []
            self._alias(region.blocks[0].args, captures)
            self._line(f"with tlx.async_task({', '.join(given)}):")
            self._body(lambda region=region: self._region(region))

    def _region(self, region: Region) -> None:
        for block in region.blocks:
            self._block(block)

    def write_return(self, op: Operation) -> None:
        if op.operands:
            self._line(f"return {', '.join(map(self.name, op.operands))}")


def _is_silent(op: Operation) -> bool:
    if op.name in _SILENT or (op.results and constant_value(op.results[0]) is not None):
        return True
    uses = [use.operation.name for each in op.results for use in each.uses]
    return op.name == "ttg.memdesc_index" and all(each in BARRIER_LIFE for each in uses)


_STATEMENTS: Mapping[type[Operation], Callable[[_Writer, Any], None]] = {
    ForOp: _Writer.write_for,
    IfOp: _Writer.write_if,
    WhileOp: _Writer.write_while,
    WarpSpecializeOp: _Writer.write_tasks,
    ReturnOp: _Writer.write_return,
}
