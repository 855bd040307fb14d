"""Cases of `tl` and `tlx`: examples as a program launches them, and random kernels."""

from __future__ import annotations

from types import ModuleType

import numpy as np

import tilewright as tw
from scripts.same_output.stages import Stages
from scripts.same_output.text import python_parts
from tests.examples import tl_examples, tlx_examples
from tests.fuzz.tl.generator import FAMILIES, generate
from tests.fuzz.tl.running import described, kernel
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.passes import PASSES
from tilewright.passes.stock_triton.pipeline import pipeline_text
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.runtime.compile_only import compiling_only
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.targets.triton.lowering import CompileOptions, kind_of, lower

CAPABILITIES = {"tl": (80, 90, 100), "tlx": (90, 100), "fuzz-tl": (90,)}
"""Compute capabilities that kernels of a kind are lowered for."""
CLEAN_UP = "canonicalize,cse,dce"


def run_tl(name: str, stages: Stages) -> None:
    _run_example(tl_examples.load(name), CAPABILITIES["tl"], stages)


def run_tlx(name: str, stages: Stages) -> None:
    _run_example(tlx_examples.load(name), CAPABILITIES["tlx"], stages)


def _run_example(example: ModuleType, capabilities: tuple[int, ...], stages: Stages) -> None:
    """Each different kernel that the example launches."""
    launched: list[CompiledKernel] = []
    with (
        stages.guarded("launches"),
        tw.running(target="numpy"),
        compiling_only(launched.append),
        np.errstate(all="ignore"),
    ):
        example.example(np.random.default_rng(0))
    for each in {id(each): each for each in launched}.values():
        _run_kernel(each, capabilities, stages)


def run_seed(name: str, stages: Stages) -> None:
    seed = int(name)
    case = generate(seed, FAMILIES[seed % len(FAMILIES)])
    stages.code("source", case.source)
    arguments = described(case, case.arrays(), tw.TensorDescriptor)
    launched: list[CompiledKernel] = []
    with tw.running(target="numpy"), compiling_only(launched.append):
        kernel(case)[case.grid](
            *arguments,
            *case.scalars.values(),
            **case.constants,
            num_warps=case.num_warps,
            num_stages=case.num_stages,
        )
    for each in launched:
        _run_kernel(each, CAPABILITIES["fuzz-tl"], stages)


def _run_kernel(compiled: CompiledKernel, capabilities: tuple[int, ...], stages: Stages) -> None:
    way = compiled.name
    with stages.guarded(f"{way}/clean-up"):
        _run_pipeline(f"{way}/clean-up", CLEAN_UP, compiled, stages)
    with stages.guarded(f"{way}/numpy"):
        stages.add(f"{way}/numpy", python_parts(compiled.numpy.source))
    for capability in capabilities:
        with stages.guarded(f"{way}/sm_{capability}"):
            _run_to_ttgir(f"{way}/sm_{capability}", capability, compiled, stages)


def _run_to_ttgir(way: str, capability: int, compiled: CompiledKernel, stages: Stages) -> None:
    metadata = compiled.metadata
    text = pipeline_text(
        capability=capability,
        num_warps=metadata["num_warps"],
        num_ctas=metadata["num_ctas"],
        cluster_dims=tuple(metadata["ctas_per_cga"] or ()),
        phases=named_phases(compiled.module),
    )
    with stages.guarded(way):
        _run_pipeline(way, text, compiled, stages)
    module, engine = compiled.module.clone(), DiagnosticEngine()
    options = CompileOptions(capability, metadata["num_warps"], num_ctas=metadata["num_ctas"])
    lower(module, kind_of(module), options, engine)
    stages.module(f"{way}/for-triton", module)


def _run_pipeline(way: str, pipeline: str, compiled: CompiledKernel, stages: Stages) -> None:
    module, engine = compiled.module.clone(), DiagnosticEngine()
    passes = Pipeline.build(parse_pipeline(pipeline), PASSES).passes
    try:
        stages.passes(way, passes, module, engine)
    finally:
        stages.diagnostics(f"{way}/diagnostics", engine.diagnostics)
