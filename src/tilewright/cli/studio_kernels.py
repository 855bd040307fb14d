"""The kernels of a studio page: IR after every pass, generated code, memory, layouts, remarks.

`T` kernels, and `tl` and `tlx` kernels raised to tiles, are compiled for the target. Of a kernel on
pointers there is the IR as written as well, and the map of its memory with the aliasing as it was
written; if it is not raised, the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.command_line import UsageError
from tilewright.dialects.tile import KernelOp
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import DEFAULT_CHIP
from tilewright.memory.map import MemoryMap, memory_maps
from tilewright.memory.targets import target_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.report.layout_document import KernelLayouts, Limits, layouts_of
from tilewright.report.studio.document import Kernel, Message, Sources, Stage
from tilewright.report.studio.stages import code_stage, ir_stage, plain_stage
from tilewright.runtime.addresses import named_module
from tilewright.runtime.choice import spec_named
from tilewright.runtime.memory_maps.plans import Unlimited, allocations
from tilewright.runtime.memory_maps.tiles import shared_memory_maps
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.runtime.pointer.raised import RaisedTileKernel
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.targets import default_arch
from tilewright.targets.cuda import compile as cuda
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.cuda.settings import DEFAULT_ARCH
from tilewright.targets.cxx.kernel import Lowered
from tilewright.targets.errors import CompilerError, HipCompilerMissing
from tilewright.targets.hip import compile as hip
from tilewright.targets.triton.sass import NoDisassembler, disassembled

if TYPE_CHECKING:
    from tilewright.targets.tenstorrent.artefact import Artefact

_DRAWN = Limits(32, 32)
_RESOURCES = ("registers", "vgprs", "agprs", "sgprs", "spill_bytes", "shared", "threads")
"""Of the metadata of a kernel, what the page shows where the target has it."""


@dataclass
class _Watched:
    """What was seen while a pipeline ran."""

    sources: Sources
    target: str
    stages: list[Stage] = field(default_factory=list[Stage])
    layouts: tuple[KernelLayouts, ...] = ()

    def saw(self, name: str, module: ModuleOp) -> None:
        """Note the IR, unless the pass has left it as it was."""
        stage = ir_stage(name, module, self.sources)
        before = self.stages[-1].lines if self.stages else ()
        if [one.text for one in stage.lines] != [one.text for one in before]:
            self.stages.append(stage)

    def run(self, module: ModuleOp, passes: Iterable[Pass], engine: DiagnosticEngine) -> None:
        """Run passes until the first error, and note the IR after each."""
        self.saw("as written", module)
        for each in passes:
            each.run(module, engine)
            self.saw(each.name, module)
            if engine.has_errors:
                return
            if isinstance(each, InferLayouts):
                kernels = [op for op in walk(module) if isinstance(op, KernelOp)]
                self.layouts = tuple(layouts_of(op, self.target, _DRAWN) for op in kernels)


def tile_kernels(
    kernels: Iterable[CompiledTileKernel], requested: str | None, sources: Sources
) -> list[Kernel]:
    """Kernels on tiles, compiled for a GPU; each once for its IR and settings."""
    found: dict[tuple[str, object], Kernel] = {}
    for each in kernels:
        target = requested or _target_of(each)
        arch = target.partition(":")[2]
        is_amd = target.startswith("hip")
        settings = each.hip_settings_for(arch) if is_amd else each.settings_for(arch)
        key = (str(each.prim_func.module), settings)
        if key not in found:
            with collector_paused():
                found[key] = _tile_kernel(each, target, settings, sources)
    return list(found.values())


def _target_of(kernel: CompiledTileKernel) -> str:
    """The GPU that a kernel is written for."""
    kind, _, arch = kernel.target.partition(":")
    if kind == "hip":
        return f"hip:{arch or DEFAULT_CHIP}"
    return f"cuda:{arch or default_arch(kernel.prim_func.module)}"


def raised_or_reason(kernel: CompiledKernel) -> CompiledTileKernel | Sequence[Diagnostic]:
    """A kernel raised to tiles for the GPU whose instructions it may use, or why it is not."""
    if kernel.choice.raised is None:
        machine = kernel.choice.machine
        target = f"cuda:sm_{machine.arch}a" if machine.is_cuda else f"hip:{machine.arch}"
        kernel = replace(kernel, choice=replace(kernel.choice, raised=target))
    try:
        return kernel.raised
    except CompileError as error:
        return error.diagnostics


def _tile_kernel(
    kernel: CompiledTileKernel, target: str, settings: Any, sources: Sources
) -> Kernel:
    watched = _Watched(sources, target)
    written: tuple[MemoryMap, ...] = ()
    if isinstance(kernel, RaisedTileKernel):
        watched.saw("on pointers", named_module(kernel.compiled))
        written = _written_memory(kernel.compiled, DiagnosticEngine())
    module, engine = kernel.prim_func.module.clone(), DiagnosticEngine()
    watched.run(module, _pipeline(settings, target).passes(), engine)
    if engine.has_errors:
        return Kernel(
            kernel.name,
            target,
            stages=tuple(watched.stages),
            layouts=watched.layouts,
            written_memory=written,
            remarks=_messages(engine.diagnostics, sources),
            absent=dict.fromkeys(("code", "memory"), "the kernel does not compile"),
        )
    absent: dict[str, str] = {}
    remarks, properties, engine = engine.diagnostics, list[tuple[str, str]](), DiagnosticEngine()
    try:
        program = _compiled(kernel.prim_func.module, settings, target, engine)
    except (NvrtcMissing, HipCompilerMissing) as error:
        lowered = _lowered(kernel.prim_func.module, settings, target)
        remarks, module = lowered.diagnostics, lowered.module
        end = "hip" if target.startswith("hip") else "cu"
        watched.stages += [
            code_stage(f"{each.name}.{end}", each.text, sources) for each in lowered.sources
        ]
        absent["sass"] = str(error)
    except (CompilerError, CompileError) as error:
        absent["code"] = str(error).rstrip()
    else:
        remarks = engine.diagnostics
        # The form that was chosen: passes are left out where the machine code is better without.
        module = program.module or module
        for name, each in program.kernels.items():
            properties += _resources(name, each.metadata)
            watched.stages += _code(name, each, sources, absent)
    maps = shared_memory_maps(module, target_named(target.partition(":")[2]))
    return Kernel(
        kernel.name,
        target,
        tuple(properties),
        tuple(watched.stages),
        maps,
        written,
        watched.layouts,
        _messages(remarks, sources),
        absent,
    )


def _pipeline(settings: Any, target: str) -> GpuPipeline | AmdPipeline:
    if target.startswith("hip"):
        return AmdPipeline(**hip.pipeline_options(settings))
    return GpuPipeline(**cuda.pipeline_options(settings))


def _compiled(module: ModuleOp, settings: Any, target: str, engine: DiagnosticEngine) -> Any:
    """The program of a module: that of either vendor."""
    compile_as: Any = hip.compile_as if target.startswith("hip") else cuda.compile_as
    return compile_as(module, settings, engine)


def _lowered(module: ModuleOp, settings: Any, target: str) -> Lowered:
    """The source of a module, for which no compiler is needed."""
    return (hip if target.startswith("hip") else cuda).lower_as(module, settings)


def _resources(name: str, metadata: object) -> list[tuple[str, str]]:
    titles = {"spill_bytes": "bytes spilled", "shared": "bytes of shared memory"}
    return [
        (f"{name}: {titles.get(field, field)}", str(getattr(metadata, field)))
        for field in _RESOURCES
        if hasattr(metadata, field)
    ]


def _code(name: str, kernel: Any, sources: Sources, absent: dict[str, str]) -> list[Stage]:
    """Source and machine code of one kernel."""
    isa: str | None = getattr(kernel, "isa", None)
    stages = [code_stage(f"{name}.{'cu' if isa is None else 'hip'}", kernel.source, sources)]
    if isa is not None:
        return [*stages, plain_stage(f"{name}.s", isa, sources)] if isa else stages
    try:
        stages.append(plain_stage(f"{name}.sass", disassembled(kernel.cubin), sources))
    except NoDisassembler as error:
        absent["sass"] = str(error)
    return stages


# -- kernels on pointers ---------------------------------------------------------------------------


def pointer_kernel(
    kernel: CompiledKernel, reason: Sequence[Diagnostic], sources: Sources
) -> Kernel:
    """A kernel on pointers that was not raised; `reason` is why."""
    module = named_module(kernel)
    stages = [ir_stage("as written", module, sources)]
    for name in ("optimised", "numpy"):
        text = kernel.text(name)
        stages.append(plain_stage(name, text, sources))
    engine = DiagnosticEngine()
    maps = _written_memory(kernel, engine)
    why = reason[0].message if reason else "it has no layouts of fragments"
    absent = {
        "code": "machine code: tilewright compile --target triton:sm_90",
        "layouts": f"layouts are those of kernels on tiles: {why}",
    }
    if not maps:
        absent["memory"] = "the kernel allocates no shared or tensor memory of its own"
    return Kernel(
        kernel.name,
        "pointers",
        (),
        tuple(stages),
        maps,
        (),
        (),
        _messages([*reason, *engine.diagnostics], sources),
        absent,
    )


def _written_memory(kernel: CompiledKernel, engine: DiagnosticEngine) -> tuple[MemoryMap, ...]:
    """The map of shared and tensor memory, with the aliasing as it was written."""
    target = kernel.choice.machine
    gpu = target_named(f"sm_{target.arch}") if target.is_cuda else None
    plans = allocations(named_module(kernel), Unlimited(), engine)
    return tuple(
        each for found in plans or () for each in memory_maps(found.plans, gpu, found.kernel)
    )


# -- Tenstorrent -----------------------------------------------------------------------------------


def tenstorrent_kernel(
    name: str,
    module: ModuleOp,
    pipeline: TenstorrentPipeline,
    artefact: Artefact,
    sources: Sources,
) -> Kernel:
    """A program for Tenstorrent: its passes, the files of all kernels, the L1 of a core."""
    watched, engine = _Watched(sources, pipeline.target), DiagnosticEngine()
    watched.run(module, pipeline.passes(), engine)
    files: Mapping[str, str] = artefact.files()
    stages = [*watched.stages, *(code_stage(file, text, sources) for file, text in files.items())]
    plan = artefact.plan
    return Kernel(
        name,
        pipeline.target,
        (
            ("cores", f"{len(plan.cores.active)} of {plan.cores.num_cores}"),
            ("blocks", str(plan.grid.total_tiles)),
            ("strategy", plan.compute.strategy),
            ("bytes of L1", str(plan.memory.l1_used)),
        ),
        tuple(stages),
        tuple(each.memory_map() for each in artefact.launches),
        (),
        (),
        _messages(engine.diagnostics, sources),
        {"layouts": "fragments are those of GPUs: tiles of 32 x 32 are in circular buffers"},
    )


def _messages(diagnostics: Iterable[Diagnostic], sources: Sources) -> tuple[Message, ...]:
    """Each once: the copies of an unrolled loop body have one source line."""
    made = [Message.of(each, sources) for each in diagnostics]
    return tuple(dict.fromkeys(made))


def checked_target_name(target: str) -> str:
    """A target with its architecture; raises `UsageError` for what studio has no page about."""
    from tilewright.runtime.tile.targets import checked_target

    kind, _, arch = target.partition(":")
    if kind not in ("cuda", "hip", "tenstorrent"):
        raise UsageError(
            f"--target: '{target}': pass one like cuda:sm_90a, hip:gfx942 or tenstorrent:wormhole"
        )
    try:
        checked_target(target)
        spec_named(target)
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None
    defaults = {"cuda": DEFAULT_ARCH, "hip": DEFAULT_CHIP, "tenstorrent": "wormhole"}
    return f"{kind}:{arch or defaults[kind]}"
