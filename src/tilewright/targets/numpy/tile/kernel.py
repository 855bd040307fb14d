"""A tile-level module as NumPy code: compile it once, launch it on arrays.

    kernel = compile_tile_module(module)
    print(kernel.source)
    kernel.launch([Buffer("A", a), Buffer("B", b)])

The entry function becomes a Python function whose kernels are functions inside it; `Launch` runs
them block by block. Where the order of events is a matter of choice, the launch is repeated under
several schedules from the same inputs, and every run must leave the same bits.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.attributes import LayoutAttr, Space
from tilewright.dialects.tile.interfaces import AccessedRegion, reads, writes
from tilewright.dialects.tile.layout_bounds import offsets_of
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.names import DIVISIBILITY
from tilewright.dialects.tile.types import BufferType
from tilewright.ir.codes.shared import NO_ENTRY, RESULT_DEPENDS_ON_SCHEDULE
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.api import Argument, Array, Buffer, NumpyFault, seeds_of
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.emitter import symbol_text
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.reached import ReachedMemory
from tilewright.targets.numpy.source import GeneratedSource, generate
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.support.blas import one_thread
from tilewright.targets.numpy.tile.api import TileFault, TileOptions, TileReport
from tilewright.targets.numpy.tile.arguments import (
    check_divisors,
    check_overlaps,
    check_results,
    left_over,
)
from tilewright.targets.numpy.tile.emitter import TileEmitter, TileUnit
from tilewright.targets.numpy.tile.launch import Launch, fault_of
from tilewright.targets.numpy.tile.ops import RULES
from tilewright.targets.numpy.tile.patterns import base_of, divided_buffers
from tilewright.targets.numpy.tile.support import HELPERS
from tilewright.targets.numpy.tile.support.block_races import BlockLog, Seen
from tilewright.targets.numpy.tile.support.buffers import Filled, TileBuffer
from tilewright.targets.numpy.values import Expr, Tensor
from tilewright.targets.numpy.windows import memory_of

_CONCURRENT = (
    "tile.async_copy",
    "tile.tcgen05_",
    "tile.ws",
    "nv.mbarrier.",
    "nv.cp_async",
    "nv.tma_store",
    "nv.wgmma",
    "nv.bar",
    "nv.clc.",
    "nv.cluster.wait",
)
_EXPLICIT = ("nv.mbarrier.expect_tx", "nv.mbarrier.arrive_expect_tx")
_serials = iter(range(1 << 62))


@dataclass(frozen=True)
class TileParameter:
    """An argument of a kernel: what it may be."""

    name: str
    type: Attribute
    scalar: ScalarType
    dtype: str
    """The element type in the source: `uint8` where the IR has i8."""
    safe: int | float = 0
    """What is read beyond the borders."""
    location: Attribute | None = None
    """Where it is declared."""
    written_at: tuple[Attribute | None, ...] = ()
    """Where the kernel writes it."""
    is_read: bool = False
    """Whether the kernel reads it."""
    layout: LayoutMap | None = None
    """Where its elements are in memory, if the user specified that."""
    divisor: int = 1
    """What divides a scalar, as compiled code relies on it."""

    @property
    def is_buffer(self) -> bool:
        return isinstance(self.type, MemRefType)

    @property
    def is_unsigned(self) -> bool:
        return self.dtype.startswith("uint")


@dataclass
class TileKernel:
    """A compiled module."""

    name: str
    parameters: Sequence[TileParameter]
    source_sites: Sequence[SourceSite]
    generated: GeneratedSource
    function: Callable[..., None]
    filename: str
    is_concurrent: bool
    arena_bytes: int
    sources: SourceManager | None = None

    @property
    def source(self) -> str:
        """The generated Python."""
        return self.generated.text

    def launch(
        self, arguments: Sequence[Argument], options: TileOptions | None = None
    ) -> TileReport:
        """Run the function; arguments come in the order of its own."""
        options = TileOptions(sources=self.sources) if options is None else options
        if len(arguments) != len(self.parameters):
            raise TypeError(
                f"{self.name} takes {len(self.parameters)} arguments, got {len(arguments)}"
            )
        if options.checked:
            check_overlaps(self.parameters, arguments, options.sources or self.sources)
            check_divisors(self.parameters, arguments, options.sources or self.sources)
        report = TileReport(is_concurrent=self.is_concurrent)
        started = time.perf_counter()
        seeds = seeds_of(options)
        with np.errstate(all="ignore"), one_thread():
            if self.is_concurrent and len(seeds) > 1:
                self._compare(arguments, options, report, seeds)
            else:
                self._once(arguments, options, report, seeds[0])
        report.seconds = time.perf_counter() - started
        return report

    def _compare(
        self,
        arguments: Sequence[Argument],
        options: TileOptions,
        report: TileReport,
        seeds: Sequence[int],
    ) -> None:
        """Run under every schedule; all must leave the same bits."""
        buffers = [each for each in (*arguments, *options.reachable) if isinstance(each, Buffer)]
        arrays = [each.array for each in buffers]
        names = [each.name for each in buffers]
        before = [array.copy() for array in arrays]
        first: list[Array] = []
        for seed in seeds:
            if first:
                for array, start in zip(arrays, before, strict=True):
                    if array.flags.writeable:
                        array[...] = start
            self._once(arguments, options, report, seed)
            if not first:
                first = [array.copy() for array in arrays]
                continue
            for name, array, expected in zip(names, arrays, first, strict=True):
                self._require_same(name, array, expected, seeds[0], seed, options)

    def _require_same(
        self, name: str, array: Array, expected: Array, first: int, seed: int, options: TileOptions
    ) -> None:
        bits = f"u{array.dtype.itemsize}"
        one, other = (np.ascontiguousarray(each).view(bits) for each in (array, expected))
        if np.array_equal(one, other):
            return
        index = tuple(int(i) for i in np.argwhere(one != other)[0])
        message = (
            f"the result depends on the schedule: {name}[{', '.join(map(str, index))}] is "
            f"{expected[index]} under seed {first} and {array[index]} under seed {seed}"
        )
        diagnostic = Diagnostic(Severity.ERROR, message, None, RESULT_DEPENDS_ON_SCHEDULE)
        diagnostic.notes.append(
            Diagnostic(
                Severity.NOTE,
                "a wait or an arrival is missing: a buffer is read before it is written, or "
                "overwritten before it is read",
            )
        )
        raise TileFault("schedule", diagnostic, None, options.sources or self.sources, seed)

    def _once(
        self, arguments: Sequence[Argument], options: TileOptions, report: TileReport, seed: int
    ) -> None:
        report.schedules += 1
        launch = Launch(
            seed,
            is_concurrent=self.is_concurrent,
            checked=options.checked,
            output=options.output or _to_stdout,
            progress=options.progress,
            arena_bytes=self.arena_bytes,
        )
        log = None
        if options.checked and options.check_races:
            log = launch.runtime.log = BlockLog(launch.runtime, self.filename)
        tracks = options.checked and options.check_uninitialised
        launch.runtime.check_uninitialised = tracks
        values = [
            self._value(parameter, argument, tracks)
            for parameter, argument in zip(self.parameters, arguments, strict=True)
        ]
        launch.runtime.reached = _reached(values, options.reachable, tracks=tracks)
        try:
            self.function(launch.runtime, *values)
        except (NumpyFault, KeyboardInterrupt):
            raise
        except Exception as error:
            raise fault_of(error, self, launch, options.sources or self.sources, seed) from error
        else:
            grid, sources = launch.runtime.grid, options.sources or self.sources
            self._restore_order(values, arguments)
            check_results(self.parameters, values, arguments, grid, sources)
            report.left = left_over(self.parameters, values, arguments, grid)
        finally:
            report.programs += launch.blocks
            if log is not None:
                report.not_analysed.extend(log.not_analysed)

    def _restore_order(self, values: Sequence[Any], arguments: Sequence[Argument]) -> None:
        """Store the elements of tensors that have a layout where it places them."""
        for parameter, value, argument in zip(self.parameters, values, arguments, strict=True):
            if parameter.layout is not None and isinstance(argument, Buffer):
                found = value.data.view(argument.array.dtype)
                argument.array.flat[offsets_of(parameter.layout).reshape(-1)] = found.reshape(-1)

    def _value(self, parameter: TileParameter, argument: Argument, tracks: bool) -> Any:
        if parameter.is_buffer:
            return _buffer(parameter, argument, tracks)
        if isinstance(argument, Buffer) or argument is None:
            raise TypeError(f"{self.name}: {parameter.name} must be a scalar")
        return _scalar(cast("Any", argument), parameter)


def _reached(
    values: Sequence[Any], others: Sequence[Buffer], *, tracks: bool
) -> ReachedMemory[TileBuffer]:
    """The memory that addresses may point into: arguments, and what is reachable otherwise."""
    buffers = [each for each in values if isinstance(each, TileBuffer)]
    for each in others:
        array = memory_of(each.array)
        shadow = Filled.none_of(array) if tracks and not each.initialised else None
        buffers.append(TileBuffer(each.name, array, "global", shadow))
    return ReachedMemory((each, each.data) for each in buffers)


def _to_stdout(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _buffer(parameter: TileParameter, argument: Argument, tracks: bool) -> TileBuffer:
    type = cast("BufferType", parameter.type)
    dtype = parameter.scalar.dtype
    if argument is None:
        shape = tuple(max(extent, 0) for extent in type.get_shape())
        empty = np.zeros([0 for _ in shape], dtype)
        return TileBuffer(parameter.name, empty, "global")
    if not isinstance(argument, Buffer):
        raise TypeError(f"{parameter.name} must be a buffer, got {argument.__class__.__name__}")
    array = argument.array
    if array.ndim != len(type.get_shape()):
        raise TypeError(
            f"{parameter.name} has {len(type.get_shape())} dimensions, got {array.ndim}"
        )
    if parameter.layout is not None:
        array = array.reshape(-1)[offsets_of(parameter.layout)]
    if array.dtype != dtype:
        if array.dtype.itemsize != dtype.itemsize:
            raise TypeError(f"{parameter.name} has element type {dtype}, got {array.dtype}")
        array = array.view(dtype)
    shadow = Filled.none_of(array) if tracks and not argument.initialised else None
    made = TileBuffer(
        argument.name,
        array,
        "global",
        shadow,
        None,
        is_unsigned=parameter.is_unsigned,
        safe=dtype.type(parameter.safe),
    )
    if parameter.written_at:
        made.seen = Seen.of_array(argument.name, array)
    return made


def _scalar(value: Any, parameter: TileParameter) -> Any:
    """A number in the parameter's type; integers wrap around."""
    dtype = parameter.scalar.dtype
    if isinstance(value, np.generic) and value.dtype == dtype:
        return value
    if dtype.kind != "i":
        return dtype.type(value)
    bits = 8 * dtype.itemsize
    wrapped = int(value) & ((1 << bits) - 1)
    return dtype.type(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


# Compilation.


def compile_tile_module(
    module: ModuleOp, *, name: str | None = None, sources: SourceManager | None = None
) -> TileKernel:
    """The entry function in `module`, or the one called `name`; the module is not changed."""
    function = _entry(module, name, sources)
    symbol = cast("StringAttr", function.properties["sym_name"]).data
    unit = TileUnit({}, RULES, sources)
    unit.is_concurrent = any(_is_concurrent(op) for op in walk(function))
    unit.explicit = {base_of(op.operands[0]) for op in walk(function) if op.name in _EXPLICIT}
    unit.divided = divided_buffers(function)
    _plan_arenas(unit, function)
    parameters = _write(unit, function, symbol)
    docstring = f"NumPy code of the kernel `{symbol}`."
    generated = generate(docstring, HELPERS, unit.constants, unit.bodies, unit.hints, unit.aliases)
    filename = f"<tilewright tile kernel {symbol} #{next(_serials)}>"
    return TileKernel(
        symbol,
        parameters,
        tuple(unit.source_sites),
        generated,
        _load(generated, filename),
        filename,
        unit.is_concurrent,
        unit.arena_bytes,
        sources,
    )


def _is_concurrent(op: Operation) -> bool:
    if op.name.startswith(_CONCURRENT):
        return True
    if op.name == "tile.gemm":
        return "async" in op.properties
    if op.name != "tile.sync":
        return False
    # Threads that synchronise in divergent code run concurrently.
    scope = str(getattr(op.properties.get("scope"), "data", ""))
    return scope in ("grid", "cluster") or _is_conditional(op)


def _is_conditional(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and (parent.name == "scf.if" or _is_conditional(parent))


def _entry(module: ModuleOp, name: str | None, sources: SourceManager | None) -> Operation:
    functions = [op for op in module.ops if op.name == "func.func" and op.regions[0].blocks]
    if name is not None:
        functions = [
            op for op in functions if cast("StringAttr", op.properties["sym_name"]).data == name
        ]
    marked = [op for op in functions if "tile.entry" in op.attributes]
    found = marked or functions
    if len(found) == 1:
        return found[0]
    expected = "one function marked tile.entry" if name is None else f"one function named '{name}'"
    message = f"expected {expected} in the module, found {len(found)}"
    raise Unsupported(Diagnostic(Severity.ERROR, message, None, NO_ENTRY), sources)


def _plan_arenas(unit: TileUnit, function: Operation) -> None:
    """Name the storage that placed buffers share, and find its size."""
    for op in walk(function):
        if not isinstance(op, AllocOp) or op.offset_bytes is None:
            continue
        unit.arenas.setdefault(op.alias, f"storage{len(unit.arenas)}")
        scalar = scalar_type(op.type)
        size = 1 if scalar is None else scalar.dtype.itemsize
        for extent in op.type.get_shape():
            size *= extent
        unit.arena_bytes = max(unit.arena_bytes, op.offset_bytes + size)


def _write(unit: TileUnit, function: Operation, symbol: str) -> list[TileParameter]:
    emitter = TileEmitter(unit)
    parameters: list[TileParameter] = []
    signature = ["rt"]
    block = function.regions[0].block
    writers, readers = _accesses(function, writes), _accesses(function, reads)
    for index, argument in enumerate(block.args):
        attributes = _argument_attributes(function, index)
        emitter.location = getattr(argument, "location", None)
        named = attributes.get("tile.name")
        hint = (
            named.data if isinstance(named, StringAttr) else hint_of_value(argument, f"arg{index}")
        )
        scalar = _scalar_type(emitter, argument)
        written = attributes.get("tile.dtype")
        dtype = written.data if isinstance(written, StringAttr) else scalar.dtype.name
        safe = attributes.get("tile.safe_value")
        safe_value = safe.value.data if isinstance(safe, IntegerAttr | FloatAttr) else 0
        parameters.append(
            TileParameter(
                *(hint, argument.type, scalar, dtype, safe_value, emitter.location),
                tuple(op.location for op in writers.get(argument, ())),
                is_read=argument in readers,
                layout=_layout_of(attributes),
                divisor=_divisor_of(attributes, argument.type),
            )
        )
        variable = unit.symbol(hint)
        signature.append(symbol_text(variable))
        expr = Expr(symbol_text(variable), 0, 0, 1)
        if isinstance(argument.type, MemRefType):
            emitter.memory[argument] = expr
        else:
            emitter.define(argument, Tensor(expr))
    emitter.block(block)
    unit.bodies.append((unit.symbol(symbol), ", ".join(signature), emitter.scopes[1]))
    return parameters


def _accesses(
    function: Operation, accessed: Callable[[Operation], Sequence[AccessedRegion]]
) -> dict[SSAValue, list[Operation]]:
    """The ops that write a tensor, or read it, by the tensor."""
    found: dict[SSAValue, list[Operation]] = {}
    for op in walk(function):
        for region in () if op.regions else accessed(op):
            if region.space is Space.GLOBAL:
                found.setdefault(region.base, []).append(op)
    return found


def _scalar_type(emitter: TileEmitter, argument: SSAValue) -> ScalarType:
    found = scalar_type(argument.type)
    if found is None or found.kind == "p":
        raise emitter.unsupported(f"a kernel argument cannot have type '{argument.type}'")
    return found


def _layout_of(attributes: Mapping[str, Attribute]) -> LayoutMap | None:
    found = attributes.get("tile.layout")
    return found.data if isinstance(found, LayoutAttr) else None


def _divisor_of(attributes: Mapping[str, Attribute], type: Attribute) -> int:
    found = attributes.get(DIVISIBILITY)
    is_scalar = not isinstance(type, MemRefType)
    return found.value.data if isinstance(found, IntegerAttr) and is_scalar else 1


def _argument_attributes(function: Operation, index: int) -> Mapping[str, Attribute]:
    attributes = function.properties.get("arg_attrs")
    listed = getattr(attributes, "data", ())
    found = listed[index] if index < len(listed) else None
    return found.data if isinstance(found, DictionaryAttr) else {}


def _load(generated: GeneratedSource, filename: str) -> Callable[..., None]:
    """The function in generated text; its lines show in tracebacks."""
    text = generated.text
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"__name__": filename}
    exec(compile(text, filename, "exec"), scope)
    return scope[generated.entry]
