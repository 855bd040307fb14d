"""``tilewright compile`` for Tenstorrent: reader, compute, writer and host sources, and plan.

A Python file is run as a script; every `T` kernel it calls is compiled for the arguments it was
called with, and not run. IR text with `tile` kernels is compiled as it stands. With ``-o DIR`` the
five files are written (with multicast one more for every further kind of reader): into DIR for one
kernel, into DIR/NAME for several. Nothing is written unless everything compiles. The IR is verified
after every pass, as `tilewright opt` does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.tensix_cost.plan_cost import tt_cost
from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.cli.gpu_programs import Sources, tiles_of_text
from tilewright.cli.inputs import NoTiles, launched, on_tiles, read_ir
from tilewright.dialects.tensix.work import ROLES
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.opt import SPLIT_MARKER
from tilewright.ir.passes import Pass, Pipeline
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify_after
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.report.tenstorrent_cost import cost_text
from tilewright.report.tenstorrent_text import program_text
from tilewright.targets.tenstorrent.artefact import Artefact, artefact_of
from tilewright.targets.tenstorrent.choice import Chooser

LONGEST_TIMED_RUN = 500_000
"""Operations of all cores up to which the event-driven run is made."""
STAGES = ("tile", "tensix", "reader", "compute", "writer", "host", "plan")
_FILES: Mapping[str, str] = {
    "reader": "reader.cpp",
    "compute": "compute.cpp",
    "writer": "writer.cpp",
    "host": "main.cpp",
    "plan": "tt.plan.json",
}
_COLUMNS = (
    *("kernel", "arch", "cores", "blocks", "strategy", "L1", "DRAM", "reads", "writes"),
    "passes",
)


@dataclass(frozen=True)
class Compiled:
    """One program, and how long its passes took."""

    name: str
    tile: str
    """The IR as it was traced."""
    module: ModuleOp
    artefact: Artefact
    engine: DiagnosticEngine
    seconds: float
    """Without those of verifying the IR between passes."""
    chooser: Chooser
    """Prices other settings of the same kernel."""


def compile_file(line: CommandLine, target: str, program: str) -> tuple[list[Compiled], Sources]:
    """Compile what a file holds or calls; `CompileError` describes what is wrong with a kernel."""
    if not line.is_script:
        return [_text(line, target)], Sources(())
    found: dict[str, tuple[str, ModuleOp, TenstorrentPipeline]] = {}
    refused: dict[str, NoTiles] = {}
    for each in launched(line, program, done="compiled", target=target):
        kernel = on_tiles(each, target)
        if isinstance(kernel, NoTiles):
            refused.setdefault(kernel.name, kernel)
            continue
        own = kernel.tenstorrent
        assert own is not None, "the kernel has a Tenstorrent target"
        module = kernel.prim_func.module.clone()
        pipeline = own.chosen_pipeline(each.values if each.pointers is None else own.called_with)
        found.setdefault(print_module(module) + pipeline.values, (kernel.name, module, pipeline))
    return [_compiled(*each) for each in found.values()], Sources((), tuple(refused.values()))


def _text(line: CommandLine, target: str) -> Compiled:
    from tilewright.runtime.tile.settings import forced_settings
    from tilewright.runtime.tile.tenstorrent import pipeline_of

    ir = read_ir(line)
    module = tiles_of_text(ir, target)
    return _compiled(ir.stem, module, pipeline_of(target, forced_settings()))


def _compiled(name: str, module: ModuleOp, pipeline: TenstorrentPipeline) -> Compiled:
    tile = print_module(module)
    chooser = Chooser(module.clone(), pipeline)
    engine = DiagnosticEngine()
    start, verifying = perf_counter(), 0.0

    def verified(each: Pass, _: int) -> bool:
        nonlocal verifying
        begin = perf_counter()
        found = verify_after(each.name, module, engine)
        verifying += perf_counter() - begin
        return found

    Pipeline(pipeline.passes()).run(module, engine, verified)
    engine.raise_if_errors()
    artefact = artefact_of(module)
    seconds = perf_counter() - start - verifying
    return Compiled(name, tile, module, artefact, engine, seconds, chooser)


# -- what is shown and written ---------------------------------------------------------------------


def stage_text(done: Sequence[Compiled], stage: str) -> str:
    """One stage of everything; where that is several texts, each begins with its name."""
    texts = [(each.name, _stage(each, stage)) for each in done]
    if len(texts) == 1:
        return texts[0][1]
    return SPLIT_MARKER.join(f"// {name}\n{text.rstrip()}\n" for name, text in texts)


def _stage(compiled: Compiled, stage: str) -> str:
    if stage == "tile":
        return compiled.tile
    if stage == "tensix":
        return print_module(compiled.module)
    files = compiled.artefact.files()
    plans = compiled.artefact.plans
    names = [each.file for plan in plans for each in plan.kernels if each.role == stage]
    if len(names) > 1 or (len(plans) > 1 and names):  # senders and receivers, several launches
        return SPLIT_MARKER.join(f"// {name}\n{files[name].rstrip()}\n" for name in names)
    return files[_FILES[stage]]


def explanation(done: Sequence[Compiled]) -> str:
    """Cores with their blocks, L1, predicted traffic and cost of each program."""
    return "\n".join(_explained(launch, each) for each in done for launch in each.artefact.launches)


def _explained(artefact: Artefact, compiled: Compiled) -> str:
    plan, chooser = artefact.plan, compiled.chooser
    is_last = plan == compiled.artefact.plans[-1]
    work = sum(
        len(each.cores) * op.count for each in plan.work for role in ROLES for op in each.of(role)
    )
    bill = cost_text(
        plan,
        tt_cost(plan),
        artefact.timed() if work <= LONGEST_TIMED_RUN else None,
        # Settings, and their cycles, are those of all launches of a chain.
        chooser.alternatives(chooser.axes()) if is_last else (),
    )
    return f"{program_text(plan, artefact.memory_map())}\n{bill}"


def write_files(directory: Path, done: Sequence[Compiled]) -> None:
    """The five files of every program; several programs get a directory each."""
    files = [each.artefact.files() for each in done]  # all of them, before the first is written
    assert all(files)
    try:
        for position, each in enumerate(done):
            name = each.name if position == 0 else f"{each.name}-{position + 1}"
            each.artefact.write(directory if len(done) == 1 else directory / name)
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}") from None


def rows(done: Sequence[Compiled]) -> list[tuple[str, ...]]:
    """One row per program, under a row of titles."""
    found: list[tuple[str, ...]] = [_COLUMNS]
    for each, plan in [(own, plan) for own in done for plan in own.artefact.plans]:
        found.append(
            (
                plan.kernel if each.artefact.following else each.name,
                plan.arch,
                f"{len(plan.cores.active)}/{plan.cores.num_cores}",
                str(plan.grid.total_tiles),
                plan.compute.strategy,
                f"{plan.memory.l1_used} B",
                f"{plan.memory.dram_bytes} B",
                str(plan.traffic.dram_page_reads),
                str(plan.traffic.dram_page_writes),
                f"{each.seconds * 1000:.0f} ms",
            )
        )
    return found


def json_text(done: Sequence[Compiled]) -> str:
    """The plan of every program, and the files of its kernels, as one list."""
    entries = [
        {
            "name": plan.kernel if each.artefact.following else each.name,
            "target": f"tenstorrent:{plan.arch}",
            "cores": len(plan.cores.active),
            "num_cores": plan.cores.num_cores,
            "blocks": plan.grid.total_tiles,
            "strategy": plan.compute.strategy,
            "l1_bytes": plan.memory.l1_used,
            "dram_bytes": plan.memory.dram_bytes,
            "dram_page_reads": plan.traffic.dram_page_reads,
            "dram_page_writes": plan.traffic.dram_page_writes,
            "seconds": {"passes": round(each.seconds, 4)},
        }
        for each in done
        for plan in each.artefact.plans
    ]
    return json.dumps(entries, indent=2) + "\n"
