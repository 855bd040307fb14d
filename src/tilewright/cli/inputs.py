"""What a command is given: which kernels, in which language, at which level of the IR.

    FILE.py ─▶ run as a script, launches recorded and not run ─▶ `Launched`  tl, tlx, T
    IR text ─▶ parsed and verified ────────────────────────────▶ `IrText`    pointers, tiles, ...

A script decides about its kernels as it goes: which sizes they get, with which options. So it is
run, and each launch ends where it would begin. Which of its kernels have a form on tiles, and why
others have none, is decided afterwards (`on_tiles`): one such kernel does not hide the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import (
    WRONG_INPUT,
    CommandLine,
    Ended,
    UsageError,
    require_file,
    show_diagnostics,
    show_kind,
)
from tilewright.cli.languages import is_tlx
from tilewright.dialects import make_context
from tilewright.dialects.func import FuncOp
from tilewright.dialects.functions import FunctionOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import KernelOp
from tilewright.dialects.tt.functions import FuncOp as TritonFuncOp
from tilewright.ir.codes.shared import TARGET_NEEDS_TILES
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine
from tilewright.ir.passes import closest
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module

if TYPE_CHECKING:
    from tilewright.runtime.pointer.compiled import CompiledKernel
    from tilewright.runtime.tile.jit import TileJIT
    from tilewright.runtime.tile.kernel import CompiledTileKernel


# -- IR text ---------------------------------------------------------------------------------------


class Level(StrEnum):
    """What the kernels of a module work on."""

    POINTERS = "pointers"
    TILES = "tiles"
    THREADS = "threads"


@dataclass(frozen=True)
class IrText:
    """A verified module."""

    name: str
    """The file, in messages."""
    text: str
    module: ModuleOp
    level: Level
    engine: DiagnosticEngine

    @property
    def kernels(self) -> list[FunctionOp]:
        return kernels_of(self.module)

    @property
    def stem(self) -> str:
        return Path(self.name).stem


def read_ir(line: CommandLine) -> IrText:
    """The text that a command line names, with the chosen kernel alone if it names one.

    Raises:
        Ended: if it is no correct IR, which is reported.
    """
    text, engine = line.text, DiagnosticEngine()
    source = parse_source(make_context(), text, line.name, engine, keep_names=True)
    if source is None or not verify(source.module, engine):
        show_diagnostics(engine.diagnostics, engine)
        show_kind(line.name)
        raise Ended(WRONG_INPUT, tuple(engine.diagnostics))
    module = source.module
    if line.kernel is not None:
        _keep_only(module, line.kernel)
    return IrText(line.name, text, module, level_of(module), engine)


def level_of(module: ModuleOp) -> Level:
    """The level of a module; one without kernels counts as one on pointers."""
    for op in walk(module):
        if isinstance(op, KernelOp):
            return Level.TILES
        if isinstance(op, FuncOp) and simt_names.KERNEL in op.attributes:
            return Level.THREADS
    return Level.POINTERS


def kernels_of(module: ModuleOp) -> list[FunctionOp]:
    """The functions that are launched."""
    return [
        op
        for op in module.ops
        if isinstance(op, FunctionOp) and not op.is_declaration and _is_kernel(op)
    ]


def _is_kernel(function: FunctionOp) -> bool:
    if isinstance(function, TritonFuncOp):
        return function.is_public
    if simt_names.KERNEL in function.attributes:
        return True
    return any(isinstance(op, KernelOp) for op in walk(function))


def _keep_only(module: ModuleOp, kernel: str) -> None:
    """Leave out the other kernels of a module; what they call stays."""
    kernels = kernels_of(module)
    names = [op.sym_name.data for op in kernels]
    if kernel not in names:
        raise UsageError(no_kernel(kernel, names))
    for op in kernels:
        if op.sym_name.data != kernel:
            op.detach()


def no_kernel(kernel: str, names: Sequence[str]) -> str:
    """The text about a kernel that there is not, with the most likely ones."""
    close = closest(kernel, names)
    known = f"expected one of {', '.join(names)}" if names else "there are none"
    return f"no kernel '{kernel}'; " + (f"did you mean '{close}'?" if close else known)


@dataclass(frozen=True)
class NoTiles:
    """Why a kernel has no form on tiles."""

    name: str
    reasons: tuple[Diagnostic, ...]

    def __str__(self) -> str:
        first = next((each for each in self.reasons if each.code != TARGET_NEEDS_TILES), None)
        return f"{self.name} is not raised to tiles" + (f": {first.message}" if first else "")


def text_on_tiles(ir: IrText) -> ModuleOp | NoTiles:
    """A module on tiles: as it is, or raised from pointers."""
    if ir.level is not Level.POINTERS:
        return ir.module
    result = raise_module(ir.module.clone())
    if not isinstance(result, NotRaised):
        return result.module
    engine = DiagnosticEngine()
    for refusal in result.refusals:
        refusal.report(engine)
    return NoTiles(result.name, tuple(engine.diagnostics))


# -- scripts ---------------------------------------------------------------------------------------

Kernel: TypeAlias = "CompiledKernel | CompiledTileKernel"


@dataclass(frozen=True)
class Launched:
    """A kernel that a script launches, and the first launch of it."""

    kernel: Kernel
    values: Sequence[Any] = ()
    grid: tuple[int, int, int] | None = None
    """Of kernels on pointers; the others compute it."""
    seconds: float = 0.0
    """That tracing took, if it is known."""

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def language(self) -> str:
        return language_of(self.kernel)

    @property
    def pointers(self) -> CompiledKernel | None:
        """The kernel as it was written on pointers; None for `T`."""
        from tilewright.runtime.pointer.compiled import CompiledKernel

        return self.kernel if isinstance(self.kernel, CompiledKernel) else None


def language_of(kernel: Kernel) -> str:
    """``tl``, ``tlx`` or ``T``."""
    from tilewright.runtime.pointer.raised import RaisedTileKernel
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    if isinstance(kernel, RaisedTileKernel):
        kernel = kernel.compiled
    if isinstance(kernel, CompiledTileKernel):
        return "T"
    return "tlx" if is_tlx(kernel.module) else "tl"


@dataclass
class _Recorder:
    """The launches of a script: the first of each kernel, or all where a target looks at sizes."""

    kernel: str | None
    has_all: bool
    found: list[Launched] = field(default_factory=list[Launched])
    called: dict[str, None] = field(default_factory=dict[str, None])
    _seen: set[int] = field(default_factory=set[int])

    def pointer(self, kernel: CompiledKernel, grid: Any, values: Sequence[Any], _run: Any) -> None:
        self.add(Launched(kernel, list(values), grid))

    def tile(self, kernel: CompiledTileKernel, seconds: float) -> None:
        values = kernel.tenstorrent.called_with if kernel.tenstorrent is not None else ()
        self.add(Launched(kernel, values, seconds=seconds))

    def add(self, launched: Launched) -> None:
        self.called[launched.name] = None
        if self.kernel in (None, launched.name) and (
            self.has_all or id(launched.kernel) not in self._seen
        ):
            self._seen.add(id(launched.kernel))
            self.found.append(launched)


def launched(
    line: CommandLine, program: str, *, done: str, target: str | None = None
) -> list[Launched]:
    """The kernels that a script launches, compiled for `target` where they are of `T`.

    If it launches none, the `T` kernels that it compiles for sizes are taken. `done` is what
    happens to them instead of a run, for messages.

    Raises:
        UsageError: if there is none, or not the chosen one.
    """
    # IR text needs neither the JIT nor what runs scripts.
    from contextlib import ExitStack

    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.options import running
    from tilewright.runtime.pointer.compiled import launches_to
    from tilewright.runtime.tile.compile_only import compiling_for

    require_file(line.file)
    recorder = _Recorder(line.kernel, has_all=(target or "").startswith("tenstorrent"))
    with ExitStack() as stack:
        if line.is_compat:
            from tilewright.compat import install

            install()
        stack.enter_context(compiling_for(target, recorder.tile))
        stack.enter_context(launches_to(recorder.pointer))
        stack.enter_context(running(target=_without_device(target)))
        run_quietly(
            line.file,
            line.script_arguments,
            program=program,
            done=done,
            found=lambda: bool(recorder.called),
            has_compat=not line.is_compat,
        )
        if not recorder.called:
            for kernel in _made():
                kernel.launch(())  # recorded, as a call is
    if recorder.found:
        return recorder.found
    if line.kernel and recorder.called:
        names = ", ".join(sorted(recorder.called))
        raise UsageError(f"{line.file} called no kernel '{line.kernel}'; it called {names}")
    raise UsageError(
        f"{line.file} called no T kernel and launched no tl or tlx kernel, so nothing was {done}"
        f"{_suggestion()}"
    )


def _without_device(target: str | None) -> str:
    """The target of launches: kernels on pointers are raised after the script, and run nowhere."""
    return "numpy" if target is None or target.partition(":")[0] == "tenstorrent" else target


def on_tiles(launched: Launched, target: str) -> CompiledTileKernel | NoTiles:
    """A kernel on tiles: as it is, or raised from pointers for `target`."""
    compiled = launched.pointers
    if compiled is None:
        return cast("CompiledTileKernel", launched.kernel)
    if compiled.choice.raised != target:
        # IR text needs no runtime.
        from tilewright.runtime.choice import choose, spec_named

        traced = compiled.traced
        compiled = replace(compiled, choice=choose(spec_named(target), None))
        vars(compiled)["traced"] = traced  # cached: it is the same for every target
    try:
        kernel = compiled.raised
    except CompileError as error:
        return NoTiles(compiled.name, tuple(error.diagnostics))
    if kernel.tenstorrent is None:
        return kernel
    assert launched.grid is not None
    given = kernel.flat_values(launched.grid, launched.values)
    fixed = kernel.fixed(given)
    assert fixed.kernel.tenstorrent is not None
    fixed.kernel.tenstorrent.called_with = fixed.values(given)
    return fixed.kernel


# -- scripts that launch nothing -------------------------------------------------------------------


def _made() -> list[CompiledTileKernel]:
    """What the script has compiled itself, for sizes that it gave."""
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    functions = [kernel for each in _functions().values() for kernel in each.cache.values()]
    others = [each for each in _names().values() if isinstance(each, CompiledTileKernel)]
    return [*functions, *others]


def _suggestion() -> str:
    """How kernels that the script only defines get their sizes."""
    functions = _functions()
    shown = [f"{name}{each.signature}" for name, each in functions.items()]
    if not shown:
        other = _pointer_kernels()
        return f": it defines {other} and never launches it: add a launch" if other else ""
    first = next(iter(functions))
    rest = "calls none of them" if len(shown) > 1 else "never calls it"
    return (
        f": it defines {', '.join(shown)} and {rest}: add a call, {first}(...) or "
        f"{first}.compile(...), which sets the sizes"
    )


def _functions() -> dict[str, TileJIT]:
    from tilewright.runtime.tile.jit import TileJIT

    return {name: each for name, each in _names().items() if isinstance(each, TileJIT)}


def _pointer_kernels() -> str:
    """The first `tl` or `tlx` kernel of the script; empty if there is none."""
    from tilewright.runtime.pointer.jit import JITFunction

    return next((name for name, each in _names().items() if isinstance(each, JITFunction)), "")


def _names() -> dict[str, object]:
    """The names of the script, which has become ``__main__``."""
    return dict(vars(sys.modules["__main__"]))
