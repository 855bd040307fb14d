"""From a file to reports on its kernels: IR text is read, a script is run and listened to."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.pid_address import (
    AccessProperties,
    AddressReport,
    AnalysisError,
    TileKernel,
    analyze,
    analyze_tile,
    read_kernels,
    tile_kernels,
)
from tilewright.cli.analyze_options import Options
from tilewright.cli.command_line import UsageError, require_file
from tilewright.cli.interrupts import show_interrupt
from tilewright.cli.script_errors import (
    missing_package,
    script_line,
    show_error,
    speaks_for_itself,
)
from tilewright.compat import install
from tilewright.compat.script import exit_code, run_file
from tilewright.dialects import make_context
from tilewright.dialects.func import FuncOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.raising.function import GRID
from tilewright.report.address_document import SourceText
from tilewright.runtime.addresses import (
    launch_aliases,
    launch_properties,
    launch_text,
    named_module,
)
from tilewright.runtime.memory_extents import Aliases
from tilewright.runtime.options import running
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, Launch, launches_to
from tilewright.runtime.tile.addresses import observing_launches, tile_launches
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.settings import changed
from tilewright.targets.numpy.api import RunReport

MAX_LANES = 2**20
"""Elements of the largest tensor, as Triton has it."""
MAX_LAUNCHES = 16
"""Different launches of one kernel that are looked at."""


@dataclass(frozen=True)
class Input:
    """A kernel to analyse."""

    root: Operation
    properties: AccessProperties
    launch: str = ""
    function: str | None = None
    source: SourceText | None = None
    aliases: Aliases = field(default_factory=Aliases)
    tile: TileKernel | None = None
    """The kernel itself, if it is one of the tile language."""

    @property
    def name(self) -> str:
        """What is analysed, while it is."""
        return self.launch or self.function or "the kernel"

    def title(self, report: AddressReport) -> str:
        """The launch; that of a `T` kernel has the grid which the function computes."""
        if self.tile is None or not self.launch:
            return self.launch
        grid = ", ".join("?" if count is None else str(count) for count in report.grid)
        name = self.tile.name
        return f"{name}[{grid}]{self.launch.removeprefix(name)}"

    def report(self) -> AddressReport:
        """Raises ``AnalysisError`` where the kernel or its arguments make no sense."""
        if self.tile is None:
            report = analyze(self.root, self.properties, function=self.function)
        else:
            report = analyze_tile(self.tile, self.properties)
        check_pointers(report, self.properties.buffers, "a buffer")
        return report


def check_pointers(report: AddressReport, names: Iterable[str], purpose: str) -> None:
    """Raise ``AnalysisError`` unless `names` are pointer arguments of the kernel."""
    pointers = [
        param.name for param in report.params if param.is_pointer or "tensordesc" in param.type
    ]
    for name in names:
        if name not in pointers:
            known = f"the kernel has {', '.join(pointers)}" if pointers else "the kernel has none"
            raise AnalysisError(f"there is no pointer argument '{name}' for {purpose}; {known}")


# IR text.


def read_text(options: Options, engine: DiagnosticEngine) -> list[Input]:
    """The kernel of a file, or the several that a function of the tile language launches; none,
    with errors in `engine`, if it is not correct."""
    text = options.text
    module = _read(text, options.name, engine)
    if module is None:
        return []
    source = SourceText(options.name, 1, text)
    properties, function = options.properties, options.function
    tile = tile_kernels(module, function)
    if not tile:
        return [Input(module, properties, function=function, source=source)]
    if properties.grid is not None:
        properties = _with_grid(module, properties)
    return [
        Input(module, properties, kernel.name if len(tile) > 1 else "", source=source, tile=kernel)
        for kernel in tile
    ]


def _with_grid(module: ModuleOp, properties: AccessProperties) -> AccessProperties:
    """A kernel that was raised from pointers takes its grid as arguments."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    names = [{argument.name_hint for argument in op.body.block.args} for op in functions]
    if not all(set(GRID) <= each for each in names):
        raise UsageError("--grid: a tile kernel has its own grid")
    sizes = (*(properties.grid or ()), 1, 1, 1)[: len(GRID)]
    given = {name: size for name, size in zip(GRID, sizes, strict=True) if size is not None}
    return replace(properties, grid=None, args={**given, **properties.args})


def _read(text: str, name: str, engine: DiagnosticEngine) -> ModuleOp | None:
    context = make_context()
    source = parse_source(context, text, name, DiagnosticEngine(), keep_names=True)
    if source is None:
        # A sketch is not verified: what it leaves out is why it is one.
        sketch = read_kernels(context, text, name, engine)
        if sketch is not None:
            _check_sizes(sketch)
        return sketch
    engine.sources.add(name, text, 1)
    return source.module if verify(source.module, engine) else None


def _check_sizes(module: ModuleOp) -> None:
    for op in walk(module):
        for value in op.results:
            lanes = prod(shape_of(value.type))
            if not 0 < lanes <= MAX_LANES:
                raise AnalysisError(
                    f"the result of {op.name} is a {value.type} with {lanes} elements; "
                    f"a tensor has 1 to {MAX_LANES}"
                )


# Scripts.


@dataclass
class Launches:
    """What a script launched, each kind of launch once."""

    found: list[Input] = field(default_factory=list[Input])
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """How many launches of a kernel were too many to look at."""
    _seen: set[object] = field(default_factory=set[object])
    _counts: dict[str, int] = field(default_factory=dict[str, int])

    def add(
        self, compiled: CompiledKernel, grid: tuple[int, int, int], values: Sequence[object]
    ) -> None:
        if 0 in grid:
            return  # No program runs, so nothing is accessed.
        module = named_module(compiled)
        properties = launch_properties(compiled, module, grid, values)
        aliases = launch_aliases(compiled, module, values)
        # The kernel keeps its specialisations, so that an identity stays taken.
        key = (id(compiled), grid, *properties.args.items(), *properties.buffers.items(), aliases)
        if key in self._seen:
            return
        count = self._counts.get(compiled.name, 0)
        if count == MAX_LAUNCHES:
            self.left_out[compiled.name] = self.left_out.get(compiled.name, 0) + 1
            return
        self._seen.add(key)
        self._counts[compiled.name] = count + 1
        title = launch_text(compiled, grid, values)
        kernel = compiled.kernel
        source = SourceText(kernel.file, kernel.first_line, kernel.source)
        self.found.append(Input(module, properties, title, compiled.name, source, aliases))

    def add_tile(self, compiled: CompiledTileKernel, values: Sequence[Any]) -> None:
        """Note what a call of a `T` kernel launches."""
        for launch in tile_launches(compiled, values):
            properties, name = launch.properties, launch.kernel.name
            key = (
                launch.kernel.op,
                *properties.args.items(),
                *properties.buffers.items(),
                launch.aliases,
            )
            if key in self._seen:
                continue
            count = self._counts.get(name, 0)
            if count == MAX_LAUNCHES:
                self.left_out[name] = self.left_out.get(name, 0) + 1
                continue
            self._seen.add(key)
            self._counts[name] = count + 1
            self.found.append(
                Input(
                    compiled.prim_func.module,
                    properties,
                    launch.title,
                    compiled.name,
                    aliases=launch.aliases,
                    tile=launch.kernel,
                )
            )


@contextmanager
def _listening(launches: Launches, target: str | None) -> Generator[None]:
    """Note every launch inside the ``with`` before it runs; for a `target` as raised to tiles.

    A race does not end the script: the report contains it.
    """
    with (
        changed(check_races=False),
        observing_launches(launches.add_tile, run=True),
        listening_to_tl(launches) if target is None else _raising(launches, target),
    ):
        yield


@contextmanager
def _raising(launches: Launches, target: str) -> Generator[None]:
    """Note what `tl` kernels are on tiles; they run on the host, as they were written."""

    def noting(
        kernel: CompiledKernel, grid: Grid, values: Sequence[object], _launch: Launch
    ) -> RunReport | None:
        if 0 not in grid:
            launches.add_tile(kernel.raised, kernel.raised.flat_values(grid, values))
        return kernel.launch_on_host(grid, values)

    with launches_to(noting), running(target=target):
        yield


@contextmanager
def listening_to_tl(launches: Launches) -> Generator[None]:
    """Note every launch of a `tl` kernel inside the ``with`` before it runs."""

    def noting(
        kernel: CompiledKernel, grid: Grid, values: Sequence[object], launch: Launch
    ) -> RunReport | None:
        launches.add(kernel, grid, values)
        return launch()

    with launches_to(noting):
        yield


@dataclass(frozen=True)
class ScriptRun:
    """What came of running a script."""

    inputs: tuple[Input, ...]
    code: int
    """How it ended."""
    remarks: tuple[str, ...]


def run_script(options: Options) -> ScriptRun:
    """Run the script, and make an input of every kernel it launches.

    What it prints goes to standard error, since standard output is for the report.
    """
    require_file(options.file)
    if options.is_compat:
        install()
    launches = Launches()
    missing: list[str] = []
    target = options.values.get("target")
    with _listening(launches, target), redirect_stdout(sys.stderr):
        code = exit_code(lambda: _guarded(options, missing), show_interrupt)
    if missing:
        raise UsageError(missing[0])
    inputs = [each for each in launches.found if options.function in (None, each.function)]
    if options.function is not None and launches.found and not inputs:
        known = ", ".join(dict.fromkeys(str(each.function) for each in launches.found))
        raise UsageError(f"no kernel '{options.function}' was launched; there were {known}")
    return ScriptRun(tuple(_with_options(inputs, options)), code, tuple(_left_out(launches)))


def _guarded(options: Options, missing: list[str]) -> None:
    """A fault is reported by its own text, a package that is not installed is added to `missing`.

    Any other exception is Python's affair.
    """
    try:
        run_file(options.file, options.script_arguments)
    except Exception as error:
        if "traceback" in options.switches:
            raise
        text = missing_package(error, has_compat="compat" not in options.switches)
        if text is not None:
            missing.append(f"{script_line(error)}: {text}")
        elif speaks_for_itself(error):
            show_error(error)
        else:
            raise
        raise SystemExit(1) from None


def _with_options(inputs: Sequence[Input], options: Options) -> Iterator[Input]:
    for each in inputs:
        properties = replace(
            each.properties,
            assumptions=tuple(options.assumptions),
            strict_overflow="strict-overflow" in options.switches,
        )
        yield replace(each, properties=properties)


def _left_out(launches: Launches) -> Iterator[str]:
    for name, count in launches.left_out.items():
        yield f"{count} further launches of {name} with other arguments were not analysed"
