"""What a kernel can have in it comes out right at the thread level, and compiles."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.features import FEATURES, Feature
from tests.passes.gpu.odd_features import STAGED
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

RUN = [name for name, each in FEATURES.items() if each.runs]
QUICK = ("columns_of_a_matrix", "source_of_the_author", "printing", "more_than_two_to_the_31")


def inputs(feature: Feature) -> list[np.ndarray]:
    """Values that every dtype can hold."""
    rng = np.random.default_rng(1)
    found: list[np.ndarray] = []
    for param in feature.func.params:
        values = rng.integers(-3, 4, tuple(param.shape)).astype(np.float32)
        if "int" not in str(param.dtype):
            values = values / 4 + 0.5
        found.append(values.astype(param.dtype.as_numpy()))
    return found


def check(name: str, arch: str) -> tuple[str, ...]:
    """Compare the thread level with the tile level; what the compiler remarked."""
    feature = FEATURES[name]
    engine = DiagnosticEngine()
    module = feature.func.module.clone()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    wanted, found = inputs(feature), inputs(feature)
    for each in found[-feature.outputs :]:
        each.view(np.uint8).fill(0xFF)
    tw.compile(feature.func, target="numpy")(*wanted)
    params = feature.func.params
    buffers = [Buffer(param.name, each) for param, each in zip(params, found, strict=True)]
    compile_simt(module).launch(buffers, SimtOptions())
    for param, one, other in zip(params, found, wanted, strict=True):
        a, b = one.astype(np.float64), other.astype(np.float64)
        assert np.isfinite(a).all(), param.name
        assert np.abs(a - b).max() <= feature.tolerance * np.abs(b).max(), param.name
    return tuple(each.message for each in engine.diagnostics)


@pytest.mark.parametrize("name", RUN)
def test_on_hopper(name: str) -> None:
    check(name, "sm_90a")


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_on_ampere(name: str) -> None:
    check(name, "sm_80")


def test_a_fallback_is_told() -> None:
    assert any(
        "is staged through shared memory" in each
        for each in check("layouts_that_disagree", "sm_90a")
    )
    assert any("sub-tile of a buffer" in each for each in check("columns_of_a_matrix", "sm_90a"))
    assert any("converted to float16" in each for each in check("product_of_small_floats", "sm_80"))


@pytest.mark.parametrize("name", STAGED)
def test_a_trip_through_shared_memory_is_told(name: str) -> None:
    assert any("through shared memory" in each for each in check(name, "sm_90a"))


@pytest.mark.parametrize("name", ["rows_by_96_threads", "columns_of_seven", "a_warp_for_each_row"])
def test_rows_are_reduced_in_registers(name: str) -> None:
    assert not any("through shared memory" in each for each in check(name, "sm_90a"))


@pytest.mark.parametrize("name", QUICK)
def test_machine_code(name: str) -> None:
    compiled(name, "sm_90a")


TOO_LARGE = {("matrices_in_pieces", "sm_120a"), ("product_of_floats", "sm_120a")}
"""Two stages of 64 KiB: more than the 99 KiB that a block has there."""


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("name", FEATURES)
def test_machine_code_everywhere(name: str, arch: str) -> None:
    if (name, arch) in TOO_LARGE:
        with pytest.raises(CompileError, match=r"(?s)TW5001.*help: use num_stages=1 \(65568 B\)"):
            compiled(name, arch)
        return
    compiled(name, arch)


def compiled(name: str, arch: str) -> None:
    program = compile_module(FEATURES[name].func.module, arch)
    for kernel in program.kernels.values():
        assert kernel.cubin[:4] == b"\x7fELF"
        assert kernel.metadata.spill_bytes == 0


def test_large_tensors_are_addressed_with_64_bits() -> None:
    program = compile_module(FEATURES["more_than_two_to_the_31"].func.module)
    (kernel,) = program.kernels.values()
    assert "const long long by" in kernel.source
    assert kernel.metadata.index_bits == 64
    small = compile_module(FEATURES["a_choice"].func.module)
    assert small.index_bits == 32
