"""A kernel of tasks: compile it once, launch it on a grid, under one schedule or many.

    kernel = compile_tasks(module)
    print(kernel.source)
    kernel.launch((4, 4), [Descriptor(...), ...], RunOptions(schedules=20, seed=0))

Clusters run sequentially in launch order, x fastest; a kernel without clusters has clusters
of one CTA. Under several schedules the launch starts from the same inputs each time, and every run
must leave the same bits; sums by atomic updates of floats may differ by their rounding.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Deadlock, Relay
from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.codes.shared import NOT_ON_NUMPY
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.ir.traversal import walk
from tilewright.memory import UnitError
from tilewright.memory.targets import TMEM_COLUMN_BYTES
from tilewright.targets.numpy.api import (
    Argument,
    Array,
    Buffer,
    Descriptor,
    Grid,
    NumpyFault,
    RunOptions,
    RunReport,
    seeds_of,
)
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.kernel import (
    NumpyKernel,
    full_grid,
    kernel_of,
    load_source,
    write_kernel,
)
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops.amd import as_pointer_accesses
from tilewright.targets.numpy.source import generate
from tilewright.targets.numpy.support import HELPERS
from tilewright.targets.numpy.support.blas import one_thread
from tilewright.targets.numpy.tasks.capacity import require_capacity
from tilewright.targets.numpy.tasks.cluster_sync import synchronise_clusters
from tilewright.targets.numpy.tasks.faults import TaskFault, TaskFaultReporter
from tilewright.targets.numpy.tasks.memory import CtaMemory, TaskCursor
from tilewright.targets.numpy.tasks.ops import RULES
from tilewright.targets.numpy.tasks.ops.views import name_of
from tilewright.targets.numpy.tasks.placement import Placement
from tilewright.targets.numpy.tasks.prepare import inlined, prepare
from tilewright.targets.numpy.tasks.recorder import SILENT, Recorder
from tilewright.targets.numpy.tasks.signals import bodies_of, signals_of, waiters_of
from tilewright.targets.numpy.tasks.support.cluster import Cluster, Tables
from tilewright.targets.numpy.tasks.support.layouts import Layouts
from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime
from tilewright.targets.numpy.tasks.support.state import WARP
from tilewright.targets.numpy.tasks.unit import TaskEmitter, TaskUnit, in_flight
from tilewright.targets.numpy.tile.api import CODES

if TYPE_CHECKING:
    from tilewright.targets.numpy.tasks.global_order import GlobalOrder

_NUM_WARPS = "ttg.num-warps"
_CLUSTER = ("ttg.cluster-dim-x", "ttg.cluster-dim-y", "ttg.cluster-dim-z")
_FLOAT_ADDS = frozenset(("fadd",))
_CLOSE = 1e-2
"""How far sums of floats in another order may be apart, relative to the greatest."""
LAYOUT_UNKNOWN = "TW6127"
_ids = iter(range(1 << 62))


@dataclass
class TaskKernel(NumpyKernel):
    """A compiled kernel of tasks."""

    tables: Tables = field(default_factory=Tables)
    cluster: Grid = (1, 1, 1)

    @override
    def launch(
        self,
        grid: Sequence[int],
        arguments: Sequence[Argument],
        options: RunOptions | None = None,
    ) -> RunReport:
        """Run all programs of the grid under `options.schedules` schedules."""
        options = RunOptions(sources=self.sources) if options is None else options
        shape = full_grid(grid)
        if any(n % c for n, c in zip(shape, self.cluster, strict=True)):
            raise ValueError(f"grid {shape} is not a multiple of cluster {self.cluster}")
        report = RunReport(programs=shape[0] * shape[1] * shape[2], batch_size=1)
        started = time.perf_counter()
        seeds = seeds_of(options)
        with np.errstate(all="ignore"), one_thread():
            _Runs(self, shape, arguments, options, report).run(seeds)
        report.seconds = time.perf_counter() - started
        return report

    @property
    def fault_reporter(self) -> TaskFaultReporter:
        """Reports faults as diagnostics."""
        return TaskFaultReporter(
            self.name, self.source_sites, self.generated, self.filename, self.tables
        )


class _Runs:
    """The runs of one launch, one for each schedule."""

    def __init__(
        self,
        kernel: TaskKernel,
        grid: Grid,
        arguments: Sequence[Argument],
        options: RunOptions,
        report: RunReport,
    ) -> None:
        self._kernel = kernel
        self._grid = grid
        self._arguments = arguments
        self._options = options
        self._report = report
        self._done = 0
        self._layouts = Layouts(self._warn)

    def _warn(self, message: str, note: str, source_id: int) -> None:
        location = self._kernel.source_sites[source_id].location
        made = Diagnostic(Severity.WARNING, message, location, LAYOUT_UNKNOWN)
        made.notes.append(Diagnostic(Severity.NOTE, note))
        self._report.warnings.append(made)

    def run(self, seeds: Sequence[int]) -> None:
        buffers = [_buffer(each) for each in self._arguments]
        arrays = {i: each.array for i, each in enumerate(buffers) if each is not None}
        before = {i: array.copy() for i, array in arrays.items()} if len(seeds) > 1 else {}
        first: dict[int, Array] = {}
        for seed in seeds:
            if first:
                for i, array in arrays.items():
                    if array.flags.writeable:
                        array[...] = before[i]
            self._once(seed, len(seeds))
            self._report.schedules += 1
            if len(seeds) == 1:
                return
            if not self._report.has_choice:
                self._report_progress(self._report.programs * (len(seeds) - 1), len(seeds))
                return
            if not first:
                first = {i: array.copy() for i, array in arrays.items()}
                continue
            for i, array in arrays.items():
                self._require_same(i, buffers[i], array, first[i], seeds[0], seed)

    def _require_same(
        self,
        argument: int,
        buffer: Buffer | None,
        array: Array,
        expected: Array,
        first: int,
        seed: int,
    ) -> None:
        if np.array_equal(_bits(array), _bits(expected)):
            return
        assert buffer is not None
        if self._is_sum(argument) and _is_close(array, expected):
            return
        index = tuple(int(i) for i in np.argwhere(_bits(array) != _bits(expected))[0])
        message = (
            f"the result depends on the schedule: {buffer.name}[{', '.join(map(str, index))}] is "
            f"{expected[index]} under seed {first} and {array[index]} under seed {seed}"
        )
        diagnostic = Diagnostic(Severity.ERROR, message, None, CODES["schedule"])
        note = (
            "a wait or an arrival is missing: data is read before it is written, or overwritten "
            "before it is read"
        )
        diagnostic.notes.append(Diagnostic(Severity.NOTE, note))
        raise TaskFault("schedule", diagnostic, None, self._sources, seed)

    def _is_sum(self, argument: int) -> bool:
        """Whether floats are added to an argument in an order that is not fixed."""
        return any(
            site.rmw in _FLOAT_ADDS and site.root in (None, argument) for site in self._kernel.sites
        )

    @property
    def _sources(self) -> SourceManager | None:
        return self._options.sources or self._kernel.sources

    # -- one schedule ------------------------------------------------------------------------

    def _once(self, seed: int, count: int) -> None:
        kernel, options, report = self._kernel, self._options, self._report
        memory = kernel.open_memory(kernel.sites, self._arguments, self._grid, options, report)
        values = kernel.values(self._arguments, memory)
        cursor = TaskCursor(memory)
        pending = list(_clusters(self._grid, kernel.cluster))
        recorder = SILENT if options.recorder is None else options.recorder()
        order = self._order(recorder)

        def take() -> Grid | None:
            if not pending:
                return None
            programs = pending.pop(0)
            self._report_progress(len(programs), count)
            return self._coordinates(programs[0])

        while pending:
            programs = pending.pop(0)
            self._cluster(programs, cursor, values, seed, recorder, take, order)
            report.batches += 1
            self._report_progress(len(programs), count)
        memory.close()
        if not report.has_choice:
            recorder.is_determined()

    def _report_progress(self, programs: int, count: int) -> None:
        self._done += programs
        if self._options.progress is not None:
            self._options.progress(self._done, self._report.programs * count)

    def _coordinates(self, program: int) -> Grid:
        x, y, _ = self._grid
        return program % x, program // x % y, program // (x * y)

    def _cluster(
        self,
        programs: Sequence[int],
        cursor: TaskCursor,
        values: Sequence[Any],
        seed: int,
        recorder: Recorder,
        take: Any,
        order: GlobalOrder | None,
    ) -> None:
        kernel, options = self._kernel, self._options
        checked = options.check_uninitialised
        cluster = Cluster(kernel.tables, seed, recorder, checked, take, layouts=self._layouts)
        for program in programs:
            memory = CtaMemory(cursor, program, order)
            cluster.ctas.append(
                CtaRuntime(memory, self._grid, program, kernel.source_sites, options, cluster)
            )
        threads = kernel.tables.num_warps * WARP
        recorder.begin(cluster.ctas, seed)
        receivers = [recorder.receiver]
        if order is not None:
            receivers.append(order.begin(cluster.ctas, seed))
        cluster.receive(Relay(*receivers))
        for cta in cluster.ctas:
            name = "default" if len(programs) == 1 else f"CTA {cta.rank} default"
            steps: Any = kernel.function(cta, *values)
            cluster.events.spawn(cluster.machine.spawn(name, steps, threads, cta), None)
        try:
            cluster.machine.run()
            recorder.end()
        except Deadlock as deadlock:
            recorder.end(deadlock)
            fault = kernel.fault_reporter.fault(deadlock, cluster, seed, self._sources)
            raise recorder.fault(fault, self._sources) from None
        except (NumpyFault, KeyboardInterrupt):
            raise
        except Exception as error:
            fault = kernel.fault_reporter.fault(
                recorder.retained or error, cluster, seed, self._sources
            )
            raise recorder.fault(fault, self._sources) from error
        finally:
            self._report.has_choice = self._report.has_choice or cluster.machine.has_choice
            self._print(cluster)
        found = recorder.verdict(self._sources)
        if found is None and recorder.retained is not None:
            found = kernel.fault_reporter.fault(recorder.retained, cluster, seed, self._sources)
        if found is None and order is not None:
            found = order.disorder(self._sources)
        if found is not None:
            raise found

    def _order(self, recorder: Recorder) -> GlobalOrder | None:
        """The tracker of global memory, if the recorder checks the order of accesses."""
        if not recorder.finds_conflicts:
            return None
        # Imported only where the order is checked.
        from tilewright.targets.numpy.tasks.global_order import GlobalOrder

        kernel = self._kernel
        made = GlobalOrder(kernel.sites, kernel.source_sites, kernel.tables, self._arguments)
        return made if made.is_needed else None

    def _print(self, cluster: Cluster) -> None:
        for cta in cluster.ctas:
            for _, line in cta.printed:
                if self._options.output is not None:
                    self._options.output(line)
                else:
                    sys.stdout.write(f"{line}\n")


def _buffer(argument: Argument) -> Buffer | None:
    if isinstance(argument, Descriptor):
        return argument.buffer
    return argument if isinstance(argument, Buffer) else None


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _is_close(one: Array, other: Array) -> bool:
    a, b = (each.astype(np.float64) for each in (one, other))
    return bool(np.abs(a - b).max() <= _CLOSE * max(np.abs(b).max(), 1e-30))


def _clusters(grid: Grid, cluster: Grid) -> Iterator[list[int]]:
    """The programs of each cluster, x fastest in both."""
    corners = product(*(range(0, n, c) for n, c in zip(grid[::-1], cluster[::-1], strict=True)))
    for z, y, x in corners:
        yield [
            (x + i) + grid[0] * ((y + j) + grid[1] * (z + k))
            for k, j, i in product(*(range(c) for c in cluster[::-1]))
        ]


# Compilation.


def compile_tasks(
    module: ModuleOp,
    *,
    name: str | None = None,
    sources: SourceManager | None = None,
    num_warps: int = 4,
    cluster: Sequence[int] | None = None,
) -> TaskKernel:
    """The kernel in `module`, or the one called `name`; the module is not changed."""
    written = inlined(as_pointer_accesses(module))
    module = prepare(written, sources)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    kernel = kernel_of(functions, name, sources)
    _require_arguments(kernel, sources)
    extents = _cluster(module, cluster)
    if extents != (1, 1, 1):
        synchronise_clusters(module, kernel)
    unit = TaskUnit(functions, RULES, sources, keeps_terms=False)
    unit.calls.append(kernel.sym_name.data)
    unit.in_flight = in_flight(module)
    _allocate(unit, kernel)
    require_capacity(module, kernel, written, unit.placement, sources)
    signals = signals_of(module, _namer(unit), lambda op: unit.source_id(op.location))
    emitter = TaskEmitter(unit)
    emitter.pause()
    parameters = write_kernel(emitter, kernel)
    emitter.effect(f"{{0}}.leave({unit.source_id(kernel.location)})", emitter.runtime)
    docstring = f"NumPy code of the tasks of the kernel `{kernel.sym_name.data}`."
    generated = generate(docstring, HELPERS, unit.constants, unit.bodies, unit.hints, unit.aliases)
    filename = f"<tilewright tasks {kernel.sym_name.data} #{next(_ids)}>"
    tables = Tables(
        tuple(unit.kinds),
        unit.placement.with_pitch(),
        unit.placement.smem_bytes,
        unit.placement.tmem_columns,
        _attribute(module, _NUM_WARPS) or num_warps,
        signals,
        waiters_of(module, _namer(unit)),
        bodies_of(module),
    )
    return TaskKernel(
        kernel.sym_name.data,
        parameters,
        tuple(unit.sites),
        tuple(unit.source_sites),
        unit.largest,
        generated,
        load_source(generated, filename),
        filename,
        sources,
        tables=tables,
        cluster=extents,
    )


def _require_arguments(kernel: FuncOp, sources: SourceManager | None) -> None:
    """Reject parameters that no launch can pass: buffers in shared or tensor memory, tensors."""
    for index, argument in enumerate(kernel.args):
        kind = (
            "a buffer in shared or tensor memory"
            if isinstance(argument.type, MemDescType)
            else None
        )
        if isinstance(argument.type, TensorType):
            kind = "a tensor"
        if kind is None:
            continue
        hint = hint_of_value(argument, f"arg{index}")
        message = f"'{kernel.sym_name.data}' cannot be launched: its argument '{hint}' is {kind}"
        found = Diagnostic(Severity.ERROR, message, kernel.location, "TW6003")
        text = "pass pointers and tensor descriptors, and allocate buffers inside the kernel"
        found.notes.append(Diagnostic(Severity.NOTE, text))
        raise Unsupported(found, sources)


def _cluster(module: ModuleOp, given: Sequence[int] | None) -> Grid:
    """The number of programs that run together: from the module, or as given."""
    written = [_attribute(module, key) for key in _CLUSTER]
    extents = written if any(written) else list(given or ())
    x, y, z = (*(extent or 1 for extent in extents), 1, 1, 1)[:3]
    return x, y, z


def _allocate(unit: TaskUnit, kernel: FuncOp) -> None:
    """Assign an offset to every allocation."""
    placement: Placement = unit.placement
    taken: dict[str, int] = {}
    for op in walk(kernel):
        if not isinstance(op, LocalAllocOp | TMEMAllocOp):
            continue
        hint = name_of(op) or "buffer"
        count = taken[hint] = taken.get(hint, 0) + 1
        text = hint if count == 1 else f"{hint}_{count}"
        try:
            placement.add(op, text, unit.source_id(op.location))
        except UnitError as error:
            found = Diagnostic(Severity.ERROR, str(error), op.location, NOT_ON_NUMPY)
            raise Unsupported(found, unit.sources) from None
    unit.pitch = placement.tmem_columns * TMEM_COLUMN_BYTES


def _namer(unit: TaskUnit) -> Any:
    placement = unit.placement

    def name(value: SSAValue) -> str | None:
        owner = value.owner
        index = placement.indices.get(owner) if isinstance(owner, Operation) else None
        return None if index is None else placement.allocations[index].name

    return name


def _attribute(module: ModuleOp, key: str) -> int | None:
    found = module.attributes.get(key)
    return found.value.data if isinstance(found, IntegerAttr) else None
