"""A kernel as NumPy code: compile it once, launch it on a grid.

    kernel = compile_module(module)
    print(kernel.source)
    kernel.launch((64,), [Buffer("x", x), Buffer("out", out), np.int32(n)])

The IR is cleaned up first (canonicalize, cse, dce), on a copy. A launch runs batches in order. A
batch with a fault, or whose programs turn out to depend on each other, is rolled back and run again
sequentially: the result, and the program that a fault names, are those of running all programs
sequentially. Two things cannot be undone: atomic updates of elements that are never read, and the
effects of a single program. A fault after such updates is reported as the batch finds it: it names
the first program that has it, but a fault of a smaller program further on may come before.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.ir.codes.shared import NO_ENTRY, NUMPY_CODE_FAILED
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions
from tilewright.passes.cleanup.dce import eliminate_dead_code
from tilewright.targets.numpy.api import (
    Argument,
    Array,
    Buffer,
    Descriptor,
    Grid,
    Memory,
    NumpyFault,
    OpenMemory,
    RunOptions,
    RunReport,
    Site,
)
from tilewright.targets.numpy.batching import batch_size, batches
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.emitter import Emitter, Unit, symbol_text
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.faults import CODES
from tilewright.targets.numpy.memory import open_memory
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops import RULES
from tilewright.targets.numpy.ops.amd import as_pointer_accesses
from tilewright.targets.numpy.ops.functions import write_body
from tilewright.targets.numpy.owners import OrderConflict
from tilewright.targets.numpy.source import GeneratedSource, generate
from tilewright.targets.numpy.support import HELPERS
from tilewright.targets.numpy.support.batch import Batch, SourceSite
from tilewright.targets.numpy.support.blas import one_thread
from tilewright.targets.numpy.tasks.detect import needs_tasks
from tilewright.targets.numpy.values import EmittedBlock, Expr, Pointer, Tensor

_MAX_OFFSET = (1 << 31) - 1
_ADDRESS_FAULTS = frozenset(
    (CODES["out of bounds"], CODES["misaligned"], CODES["unknown address"], CODES["null pointer"])
)
_ids = iter(range(1 << 62))


@dataclass(frozen=True)
class Parameter:
    """An argument of a kernel: what it may be."""

    name: str
    type: Attribute
    scalar: ScalarType


@dataclass
class NumpyKernel:
    """A compiled kernel."""

    name: str
    parameters: Sequence[Parameter]
    sites: Sequence[Site]
    source_sites: Sequence[SourceSite]
    largest_bytes: int
    generated: GeneratedSource
    function: Callable[..., None]
    filename: str
    sources: SourceManager | None = None
    open_memory: OpenMemory = field(default=open_memory)
    recompile: Callable[[], NumpyKernel] | None = None
    """Makes the same kernel with every sum of 32 bits wrapped around, where this keeps terms."""

    @cached_property
    def uses_dot(self) -> bool:
        """Whether it multiplies matrices."""
        return "support.dot import" in self.generated.text

    @cached_property
    def wrapping(self) -> NumpyKernel:
        """The kernel for memory that offsets of 32 bits do not reach all of."""
        assert self.recompile is not None
        return self.recompile()

    @property
    def source(self) -> str:
        """The generated Python."""
        return self.generated.text

    def launch(
        self,
        grid: Sequence[int],
        arguments: Sequence[Argument],
        options: RunOptions | None = None,
    ) -> RunReport:
        """Run all programs of the grid; arguments come in the order of the function's."""
        if self.recompile is not None and _is_vast(arguments):
            return self.wrapping.launch(grid, arguments, options)
        options = RunOptions(sources=self.sources) if options is None else options
        shape = full_grid(grid)
        report = RunReport(programs=shape[0] * shape[1] * shape[2])
        started = time.perf_counter()
        memory = self.open_memory(self.sites, arguments, shape, options, report)
        values = self.values(arguments, memory)
        _Launch(self, shape, memory, values, options, report).run()
        memory.close()
        report.seconds = time.perf_counter() - started
        return report

    def values(self, arguments: Sequence[Argument], memory: Memory) -> list[Any]:
        """Arguments as the generated function takes them."""
        if len(arguments) != len(self.parameters):
            raise TypeError(
                f"{self.name} takes {len(self.parameters)} arguments, got {len(arguments)}"
            )
        values: list[Any] = []
        for index, (parameter, argument) in enumerate(zip(self.parameters, arguments, strict=True)):
            if isinstance(argument, Buffer):
                values.append(memory.address_of(index))
            elif isinstance(argument, Descriptor):
                values += _descriptor_values(memory.address_of(index), argument, parameter.scalar)
            else:
                values.append(_scalar(argument, parameter))
        return values


def full_grid(grid: Sequence[int]) -> Grid:
    """A grid with all three extents."""
    padded = (*(int(extent) for extent in grid), 1, 1)
    if not 1 <= len(grid) <= 3 or min(padded[:3]) < 0:
        raise ValueError(f"expected a grid of one to three non-negative extents, got {grid}")
    return padded[0], padded[1], padded[2]


def _is_vast(arguments: Sequence[Argument]) -> bool:
    """Whether the sum of two offsets of 32 bits can be an element though it wraps around."""
    return any(
        isinstance(argument, Buffer) and argument.array.size > _MAX_OFFSET for argument in arguments
    )


def _descriptor_values(address: np.int64, descriptor: Descriptor, scalar: ScalarType) -> list[Any]:
    fill = scalar.dtype.type(np.nan if descriptor.padding == "nan" else 0)
    shape = [np.int32(extent) for extent in descriptor.shape]
    return [address, *shape, *[np.int64(stride) for stride in descriptor.strides], fill]


def _scalar(argument: Any, parameter: Parameter) -> Any:
    """A number in the parameter's type; integers wrap around."""
    if argument is None:
        return np.int64(0)
    dtype = parameter.scalar.dtype
    if isinstance(argument, np.generic) and argument.dtype == dtype:
        return argument
    if parameter.scalar.kind in "ip":
        bits = 8 * dtype.itemsize
        value = int(argument) & ((1 << bits) - 1)
        return dtype.type(value - (1 << bits) if value >> (bits - 1) else value)
    return dtype.type(argument)


class _Launch:
    """One run of a kernel."""

    def __init__(
        self,
        kernel: NumpyKernel,
        grid: Grid,
        memory: Memory,
        values: Sequence[Any],
        options: RunOptions,
        report: RunReport,
    ) -> None:
        self._kernel = kernel
        self._grid = grid
        self._memory = memory
        self._values = values
        self._options = options
        self._report = report
        self._fault: NumpyFault | None = None
        """The fault of a batch that is run again sequentially."""

    def run(self) -> None:
        options, report = self._options, self._report
        size = batch_size(self._grid, self._kernel.largest_bytes, options.batch)
        report.batch_size = size
        done = 0
        quiet = np.errstate(all="ignore")
        with quiet, one_thread() if self._kernel.uses_dot else nullcontext():
            for programs in batches(self._grid, size, options.batch):
                self._batch(programs)
                done += len(programs)
                if options.progress is not None:
                    options.progress(done, report.programs)

    def _batch(self, programs: Array) -> None:
        reason = self._memory.serial_reason
        if reason is None or len(programs) == 1:
            reason = self._together(programs)
        if reason is None:
            return
        reasons = self._report.serial_reasons
        reasons[reason] = reasons.get(reason, 0) + len(programs)
        self._report.serial_programs += len(programs)
        fault, self._fault = self._fault, None
        for index in range(len(programs)):
            try:
                self._together(programs[index : index + 1])
            except NumpyFault as first:
                # The fault of the batch also counts the later programs.
                raise fault if fault is not None and _is_same(fault, first) else first from None

    def _together(self, programs: Array) -> str | None:
        """Run a batch; a reason means that it was rolled back and must run sequentially."""
        memory = self._memory
        memory.begin(programs)
        kernel = self._kernel
        batch = Batch(memory, self._grid, programs, kernel.source_sites, self._options)
        self._report.batches += 1
        is_alone = len(programs) == 1
        try:
            kernel.function(batch, *self._values)
            reason = memory.finish()
        except OrderConflict as conflict:
            is_undone = memory.rollback()
            assert is_undone, "only a tracked batch is rolled back"
            return conflict.reason
        except NumpyFault as fault:
            wraps = kernel.recompile is not None and fault.diagnostic.code in _ADDRESS_FAULTS
            if (is_alone and not wraps) or not memory.rollback():
                self._print(batch, self._position(fault, programs))
                raise
            if wraps:
                # The address may be one that a sum of 32 bits reaches by wrapping around.
                self._kernel = kernel.wrapping
            if is_alone:
                return self._together(programs)
            # What the batch saw is what each program sees only if they are independent.
            self._fault = None if memory.is_tracked else fault
            return "a fault occurred; programs run sequentially to find the first one"
        except Exception as error:
            self._print(batch)
            raise self._mapped(error) from error
        if reason is None:
            self._print(batch)
        return reason

    def _position(self, fault: NumpyFault, programs: Array) -> int | None:
        """Where in a batch the program of a fault is."""
        if fault.program is None:
            return None
        (x, y, z), grid = fault.program, self._grid
        return int(np.searchsorted(programs, x + grid[0] * (y + grid[1] * z)))

    def _print(self, batch: Batch, last: int | None = None) -> None:
        """Lines in the order of programs, up to those of `last`.

        `sort` keeps lines of one program in their order.
        """
        for position, line in sorted(batch.printed, key=lambda entry: entry[0]):
            if last is not None and position > last:
                break
            if self._options.output is not None:
                self._options.output(line)
            else:
                sys.stdout.write(f"{line}\n")

    def _mapped(self, error: Exception) -> NumpyFault:
        """An exception in generated code, at its source line."""
        location = None
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._kernel.filename:
                location = self._kernel.generated.locations.get(trace.tb_lineno, location)
            trace = trace.tb_next
        message = f"the NumPy code of '{self._kernel.name}' failed: {type(error).__name__}: {error}"
        diagnostic = Diagnostic(Severity.ERROR, message, location, NUMPY_CODE_FAILED)
        return NumpyFault(diagnostic, None, self._options.sources)


def _is_same(one: NumpyFault, other: NumpyFault) -> bool:
    """Whether two faults are of the same program at the same source position."""
    a, b = one.diagnostic, other.diagnostic
    return one.program == other.program and a.code == b.code and a.location == b.location


# Compilation.


def compile_module(
    module: ModuleOp,
    *,
    name: str | None = None,
    sources: SourceManager | None = None,
    is_clean: bool = False,
    keeps_terms: bool = True,
    num_warps: int = 4,
    cluster: Sequence[int] | None = None,
) -> NumpyKernel:
    """The kernel in `module`, or the one called `name`.

    `is_clean`: the passes have been run already; the module is not changed either way.
    `keeps_terms` allows offsets to stay sums of small arrays, see `values.py`. A module that uses
    shared or tensor memory, barriers or tasks becomes a `TaskKernel`: `num_warps` and `cluster`
    (programs that run together) apply to those, where the module does not specify them.
    """
    module = as_pointer_accesses(module)
    if needs_tasks(module):
        from tilewright.targets.numpy.tasks.kernel import compile_tasks

        return compile_tasks(
            module, name=name, sources=sources, num_warps=num_warps, cluster=cluster
        )
    if not is_clean:
        module = module.clone()
        rewriter = Rewriter()
        canonicalize(module)
        eliminate_common_subexpressions(module, rewriter)
        eliminate_dead_code(module, rewriter)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    kernel = kernel_of(functions, name, sources)
    unit = Unit(functions, RULES, sources, keeps_terms)
    unit.calls.append(kernel.sym_name.data)
    parameters = write_kernel(Emitter(unit), kernel)
    docstring = f"NumPy code of the kernel `{kernel.sym_name.data}`."
    generated = generate(docstring, HELPERS, unit.constants, unit.bodies, unit.hints, unit.aliases)
    filename = f"<tilewright kernel {kernel.sym_name.data} #{next(_ids)}>"
    function = load_source(generated, filename)
    return NumpyKernel(
        kernel.sym_name.data,
        parameters,
        tuple(unit.sites),
        tuple(unit.source_sites),
        unit.largest,
        generated,
        function,
        filename,
        sources,
        recompile=partial(
            compile_module, module, name=name, sources=sources, is_clean=True, keeps_terms=False
        )
        if unit.has_terms
        else None,
    )


def kernel_of(
    functions: dict[str, FuncOp], name: str | None, sources: SourceManager | None
) -> FuncOp:
    """The function called `name`, or the only public one."""
    found = [
        op
        for op in functions.values()
        if not op.is_declaration and (op.is_public if name is None else op.sym_name.data == name)
    ]
    if len(found) == 1:
        return found[0]
    expected = "public function" if name is None else f"function named '{name}'"
    message = f"expected exactly one {expected} in the module, found {len(found)}"
    raise Unsupported(Diagnostic(Severity.ERROR, message, None, NO_ENTRY), sources)


def write_kernel(emitter: Emitter, kernel: FuncOp) -> list[Parameter]:
    """Write a kernel as the last function of its unit; returns what arguments it takes."""
    unit = emitter.unit
    parameters: list[Parameter] = []
    parameter_names: list[str] = ["rt"]
    for index, argument in enumerate(kernel.args):
        hint = hint_of_value(argument, f"arg{index}")
        emitter.location = getattr(argument, "location", None)
        type = argument.type
        scalar = scalar_type(type)
        if scalar is None:
            raise emitter.unsupported(f"a kernel argument cannot have type '{type}'")
        parameters.append(Parameter(hint, type, scalar))

        def parameter(suffix: str = "", hint: str = hint) -> Expr:
            symbol = unit.symbol(f"{hint}{suffix}")
            parameter_names.append(symbol_text(symbol))
            return Expr(symbol_text(symbol), 0, 0, 1)

        if isinstance(type, TensorDescType):
            rank = range(len(type.shape))
            base = Pointer((parameter(),), index)
            shape = tuple(parameter(f"_shape{axis}") for axis in rank)
            strides = tuple(parameter(f"_stride{axis}") for axis in rank)
            emitter.define(
                argument, EmittedBlock(base, shape, strides, (), type.shape, parameter("_fill"))
            )
        elif isinstance(type, PtrType):
            emitter.define(argument, Pointer((parameter(),), index))
        else:
            emitter.define(argument, Tensor(parameter()))
    write_body(emitter, kernel.body)
    unit.bodies.append(
        (unit.symbol(kernel.sym_name.data), ", ".join(parameter_names), emitter.scopes[1])
    )
    return parameters


def load_source(generated: GeneratedSource, filename: str) -> Callable[..., None]:
    """The function in generated text; its lines show in tracebacks."""
    text = generated.text
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"__name__": filename}
    exec(compile(text, filename, "exec"), scope)
    return scope[generated.entry]
