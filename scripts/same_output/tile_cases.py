"""Cases of the tile language: examples at the sizes of a GPU, and random kernels."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from scripts.same_output.stages import Stages
from scripts.same_output.text import cuda_parts, plan_parts, python_parts
from tests.examples.gpu_sizes import KERNELS
from tests.fuzz.device.tile import FORMS, HOPPER, TileJudge
from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import traced
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.report import memory_json
from tilewright.runtime.memory_maps.tiles import shared_memory_maps
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.host.read import host_steps
from tilewright.targets.numpy.tile import compile_tile_module

NUMPY = "numpy"


def examples() -> list[str]:
    """`label@target` of each kernel; one that does not fit a GPU records the error."""
    return [f"{label}@{arch}" for label, each in KERNELS.items() for arch in (*each.archs, NUMPY)]


def run_example(name: str, stages: Stages) -> None:
    label, _, arch = name.rpartition("@")
    module = KERNELS[label].trace().module
    if arch == NUMPY:
        run_on_host(module, stages)
    else:
        run_on_gpu(module, GpuPipeline(target=f"cuda:{arch}"), stages)


def run_seed(name: str, stages: Stages) -> None:
    """A random kernel in the form and of the family that its seed has in the GPU runs."""
    seed, judge = int(name), TileJudge()
    case = generate(seed, judge.family_of(seed))
    form = judge.form_of(seed)
    if case.only_hopper and form not in HOPPER:
        form = HOPPER[seed % len(HOPPER)]
    stages.code("source", case.source)
    module = traced(case).module
    with stages.guarded("gpu"):
        run_on_gpu(module, FORMS[form], stages)
    run_on_host(module, stages)


def run_on_gpu(
    module: ModuleOp, pipeline: GpuPipeline, stages: Stages, *, way: str = "gpu"
) -> None:
    module, engine = module.clone(), DiagnosticEngine()
    try:
        if stages.passes(way, pipeline.passes(), module, engine):
            _run_to_source(module, pipeline.target.removeprefix("cuda:"), stages)
    finally:
        stages.diagnostics(f"{way}/diagnostics", engine.diagnostics)


def _run_to_source(module: ModuleOp, arch: str, stages: Stages) -> None:
    kernels = kernels_of(module)
    for function in kernels:
        source = emit_kernel(function)
        stages.add(f"cuda/{source.name}", cuda_parts(source.text))
        if stages.wants_ptx:
            with stages.guarded(f"ptx/{source.name}"):
                stages.add(f"ptx/{source.name}", cuda_parts(compile_source(source.text, arch).ptx))
    for op in module.body.ops:
        if isinstance(op, FuncOp) and op not in kernels:
            stages.code("cuda/host-steps", "\n".join(map(repr, host_steps(op))))
    stages.add("memory-plan", plan_parts(memory_json.render(shared_memory_maps(module))))


def run_on_host(module: ModuleOp, stages: Stages) -> None:
    """NumPy source of a kernel as it was traced, and after the passes of the tile level."""
    with stages.guarded("numpy"):
        stages.add("numpy/traced", python_parts(compile_tile_module(module.clone()).source))
    module, engine = module.clone(), DiagnosticEngine()
    with stages.guarded("tile-level"):
        passes = TilePipeline(check_races=True, check_pipelines=True).passes()
        if stages.passes("tile-level", passes, module, engine):
            stages.add("numpy/scheduled", python_parts(compile_tile_module(module.clone()).source))
    stages.diagnostics("tile-level/diagnostics", engine.diagnostics)
