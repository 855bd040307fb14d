"""What ``tilewright compile`` records, prints and writes of `T` kernels for GPUs of any vendor.

`compile_tile` (CUDA) and `compile_hip` add their stages, columns and machine code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import (
    DONE,
    WRONG_KERNEL,
    CommandLine,
    Ended,
    UsageError,
    show_diagnostics,
)
from tilewright.cli.inputs import IrText, Level, NoTiles, launched, on_tiles, read_ir, text_on_tiles
from tilewright.cli.outputs import write_whole
from tilewright.cli.storage_warnings import storage_warnings
from tilewright.cli.working import working_on
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine
from tilewright.ir.opt import SPLIT_MARKER
from tilewright.ir.passes import Pass
from tilewright.ir.text import print_module
from tilewright.runtime.tile.targets import arch_of, chip_of
from tilewright.targets.host.steps import Operand, Step

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

IR_STAGES = ("tile", "thread")
_GRID = 3


class Named(Protocol):
    """A function that was compiled."""

    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=Named)


@dataclass(frozen=True)
class TimedPipeline(Pass):
    """Mixed into a pipeline: the seconds that its runs took."""

    seconds: list[float] = field(default_factory=list[float], compare=False)

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        start = perf_counter()
        super().run(module, engine)
        self.seconds.append(perf_counter() - start)


@dataclass(frozen=True)
class Source:
    """What is to be compiled: a function on tiles of a file or of a script."""

    name: str
    module: ModuleOp
    settings: Any
    """Those of the target, as the kernel requests them."""
    engine: DiagnosticEngine
    seconds: float = 0.0
    """That tracing took."""


@dataclass(frozen=True)
class Sources:
    """What a command line has compiled."""

    found: tuple[Source, ...]
    """Each function once for its IR and settings."""
    refused: tuple[NoTiles, ...] = ()
    """Kernels without a form on tiles."""
    warnings: tuple[Diagnostic, ...] = ()
    """About kernels as they were written on pointers."""

    def show_rest(self) -> int:
        """Print warnings, and why kernels have no form on tiles; the exit code."""
        show_diagnostics(self.warnings, DiagnosticEngine())
        for each in self.refused:
            show_diagnostics(each.reasons, DiagnosticEngine())
        return WRONG_KERNEL if self.refused else DONE


def sources_of(
    line: CommandLine,
    target: str,
    program: str,
    settings_for: Callable[[str], Any],
    *,
    done: str = "compiled",
) -> Sources:
    """The functions on tiles that a command line means, for a GPU.

    `settings_for` are those of IR text, for an architecture.
    """
    if not line.is_script:
        return _of_text(line, target, settings_for)
    found: dict[tuple[str, Any], Source] = {}
    refused: dict[str, NoTiles] = {}
    warnings: dict[Diagnostic, None] = {}
    for each in working_on(launched(line, program, done=done, target=target), "raising"):
        start = perf_counter()
        kernel = on_tiles(each, target)
        if isinstance(kernel, NoTiles):
            refused.setdefault(kernel.name, kernel)
            continue
        seconds = each.seconds or perf_counter() - start
        if each.pointers is not None:
            warnings.update(dict.fromkeys(storage_warnings(each.pointers)))
        assert kernel.gpu is not None, "the target is a GPU"
        module, settings = kernel.prim_func.module, kernel.gpu.settings
        found.setdefault(
            (print_module(module), settings),
            Source(kernel.name, module.clone(), settings, DiagnosticEngine(), seconds),
        )
    return Sources(tuple(found.values()), tuple(refused.values()), tuple(warnings))


def _of_text(line: CommandLine, target: str, settings_for: Callable[[str], Any]) -> Sources:
    ir = read_ir(line)
    module = tiles_of_text(ir, target)
    arch = chip_of(target) if target.startswith("hip") else arch_of(target, module)
    return Sources((Source(ir.stem, module, settings_for(arch), ir.engine),))


def tiles_of_text(ir: IrText, target: str) -> ModuleOp:
    """IR text on tiles, or raised to them.

    Raises:
        Ended: if it has no form on tiles, with the reasons; they are reported.
        UsageError: if it has no kernels, or those of threads.
    """
    if not ir.kernels:
        raise UsageError(f"{ir.name} has no kernel")
    if ir.level is Level.THREADS:
        raise UsageError(
            f"{ir.name} is IR at the level of threads, after the passes for a GPU: pass kernels on "
            "pointers or tiles"
        )
    module = text_on_tiles(ir)
    if isinstance(module, NoTiles):
        show_diagnostics(module.reasons, ir.engine)
        sys.stderr.write(f"{ir.name}: {module.name} cannot be compiled for {target}: {module}\n")
        raise Ended(WRONG_KERNEL)
    return module


# -- texts and files -------------------------------------------------------------------------------


def numbered(done: Sequence[C]) -> Iterator[tuple[str, C]]:
    """The suffix of a function that was compiled for several kinds of arguments."""
    count: dict[str, int] = {}
    for compiled in done:
        occurrence = count[compiled.name] = count.get(compiled.name, 0) + 1
        yield "" if occurrence == 1 else f"-{occurrence}", compiled


def joined(texts: Sequence[tuple[str, str]]) -> str:
    """One text as it is; of several, each begins with its name.

    The lines between them are those at which ``tilewright opt --split-input-file`` splits IR.
    """
    if len(texts) == 1:
        return texts[0][1]
    return SPLIT_MARKER.join(f"// {name}\n{_ended(text)}" for name, text in texts)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


@contextmanager
def writing(directory: Path) -> Generator[None]:
    """Write files into a directory, which is created."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}") from None


def write_ir(directory: Path, name: str, texts: Mapping[str, str]) -> None:
    """The stages of a function that are IR."""
    for stage in IR_STAGES:
        write_whole(directory / f"{name}.{stage}.mlir", texts[stage])


# -- metadata --------------------------------------------------------------------------------------


class KernelEntry(Protocol):
    """A compiled kernel."""

    @property
    def metadata(self) -> DataclassInstance: ...


class ProgramEntry(Protocol):
    """A compiled function."""

    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def kernels(self) -> Mapping[str, KernelEntry]: ...


@dataclass(frozen=True)
class Described:
    """What a launcher has to know of the kernels of a function."""

    target: str
    program: ProgramEntry
    indent: ClassVar[int] = 2

    def of(self, name: str) -> dict[str, Any]:
        """Target, grid and the metadata of a kernel, which names its resources and parameters."""
        entry = self.program.kernels[name]
        return {"target": self.target, "grid": self._grid(name), **asdict(entry.metadata)}

    def text(self, name: str) -> str:
        return f"{json.dumps(self.of(name), indent=self.indent)}\n"

    def _grid(self, kernel: str) -> list[int | str] | None:
        """Blocks along x, y and z: integers, or how the host computes them from the arguments.

        None if the kernel is launched several times, with other grids.
        """
        expressions = {step.result: step for step in self.program.steps if step.result}
        grids = [
            [_formula(each, expressions) for each in step.operands[:_GRID]]
            for step in self.program.steps
            if step.kind == "launch" and step.constants[0] == kernel
        ]
        return grids[0] if grids and all(each == grids[0] for each in grids) else None


def _formula(operand: Operand, expressions: Mapping[str, Step]) -> int | str:
    """A value of the host as a formula of parameters, which are ``%0``, ``%1``, ..."""
    if isinstance(operand, str) and operand in expressions:
        step = expressions[operand]
        operands = [str(_formula(each, expressions)) for each in step.operands]
        if step.kind.isalpha():
            return f"{step.kind}({', '.join(operands)})"
        return f"({f' {step.kind} '.join(operands)})"
    return int(operand) if isinstance(operand, float) else operand


def as_json(described: Iterable[Described]) -> str:
    """All kernels, as one list."""
    entries = [each.of(name) for each in described for name in each.program.kernels]
    return f"{json.dumps(entries, indent=Described.indent)}\n"


def milliseconds(*seconds: float) -> tuple[str, ...]:
    """Times as the table has them."""
    return tuple(f"{each * 1000:.0f} ms" for each in seconds)
