"""The studio page of a script for Tenstorrent: run on the model of the hardware, and compiled."""

from __future__ import annotations

from pathlib import Path

from tilewright._version import __version__
from tilewright.analysis.ordering.timeline import Timeline
from tilewright.cli.command_line import CommandLine, UsageError, require_file
from tilewright.cli.inputs import NoTiles, launched, on_tiles
from tilewright.cli.launches import LaunchLog, counted, logged
from tilewright.cli.script_errors import show_error, speaks_for_itself
from tilewright.cli.studio_kernels import tenstorrent_kernel
from tilewright.compat import install
from tilewright.compat.script import exit_code, run_file
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.report.studio.document import Document, Finding, Kernel, Message, Sources
from tilewright.runtime.options import running
from tilewright.runtime.tile.forced_target import targeting
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.tenstorrent_options import tenstorrent_running
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.tenstorrent.artefact import Artefact, artefact_of
from tilewright.targets.tenstorrent.execution import RunResult
from tilewright.targets.tenstorrent.timeline import timeline_of

_NO_ADDRESSES = "reader and writer address pages, not elements: 'tilewright compile --explain'"


def tenstorrent_document(
    line: CommandLine, target: str, sources: Sources, command: str
) -> Document:
    """Run the script on the model, then compile what it called."""
    require_file(line.file)
    if line.is_compat:
        install()
    log = LaunchLog()
    runs: list[tuple[Artefact, RunResult]] = []
    errors: list[Diagnostic] = []

    def observe(artefact: Artefact, result: RunResult) -> None:
        runs.append((artefact, result))

    with (
        targeting(target),
        running(target=target),
        tenstorrent_running(trace=True, observer=observe),
        logged(log),
    ):
        code = exit_code(lambda: _guarded(line, errors))
    kernels = _compiled(line, target, sources)
    faults = [] if log.fault is None else [log.fault.diagnostic]
    diagnostics = [*faults, *errors]
    has_failed = bool(code or diagnostics)
    verdict = f"{counted(len(runs), 'run')} on the model: {'a fault' if has_failed else 'no fault'}"
    return Document(
        Path(line.file).name,
        command,
        __version__,
        sources,
        verdict,
        has_failed,
        [Finding(Message.of(each, sources)) for each in diagnostics],
        _timeline(runs),
        kernels,
        absent={"addresses": _NO_ADDRESSES},
    )


def _guarded(line: CommandLine, errors: list[Diagnostic]) -> None:
    try:
        run_file(line.file, line.script_arguments)
    except Exception as error:
        if isinstance(error, CompileError):
            errors.extend(error.diagnostics)
        elif not isinstance(error, NumpyFault) and not speaks_for_itself(error):
            raise
        show_error(error)
        raise SystemExit(1) from None


def _timeline(runs: list[tuple[Artefact, RunResult]]) -> Timeline | None:
    """One core of the run with findings, or of the first: the busiest, or the one at fault."""
    if not runs:
        return None
    artefact, result = next((run for run in runs if run[1].findings), runs[0])
    artefact = artefact.launches[0]
    result = result.launches[0] if result.launches else result
    cores = [finding.core for finding in result.findings if finding.core is not None]
    busiest = max(artefact.plan.cores.active, key=lambda core: core.count)
    core = cores[0] if cores else (busiest.x, busiest.y)
    return timeline_of(result, artefact.program(), core)


def _compiled(line: CommandLine, target: str, sources: Sources) -> list[Kernel]:
    found: dict[str, Kernel] = {}
    try:
        for each in launched(line, "tilewright", done="compiled", target=target):
            kernel = on_tiles(each, target)
            if isinstance(kernel, NoTiles):
                continue  # reported by the run itself
            own = kernel.tenstorrent
            assert own is not None, "the kernel has a Tenstorrent target"
            values = each.values if each.pointers is None else own.called_with
            pipeline = own.chosen_pipeline(values)
            key = str(kernel.prim_func.module) + pipeline.values
            if key not in found:
                found[key] = _kernel(kernel, pipeline, sources)
    except (CompileError, UsageError):
        pass  # reported by the run itself
    return list(found.values())


def _kernel(kernel: CompiledTileKernel, pipeline: TenstorrentPipeline, sources: Sources) -> Kernel:
    module, engine = kernel.prim_func.module.clone(), DiagnosticEngine()
    pipeline.run(module, engine)
    engine.raise_if_errors()
    artefact = artefact_of(module)
    return tenstorrent_kernel(
        kernel.name, kernel.prim_func.module.clone(), pipeline, artefact, sources
    )
