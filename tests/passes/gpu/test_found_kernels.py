"""Kernels that were once compiled wrong compute what they should, at the thread level too."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.found_kernels import KERNELS, Arrays, Wanted
from tilewright import T
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

HOPPER_ONLY = ("roles_one_after_the_other",)
"""Those with mbarriers."""
CASES = [
    (name, arch)
    for name in KERNELS
    for arch in ("sm_90a", "sm_80")
    if arch == "sm_90a" or name not in HOPPER_ONLY
]


def poisoned(arrays: Arrays, written: Wanted) -> Arrays:
    found = [each.copy() for each in arrays]
    for number in written:
        found[number].view(np.uint8).fill(1 if found[number].dtype == np.bool_ else 0xFF)
    return found


def compare(found: Arrays, wanted: Wanted) -> None:
    for number, expected in wanted.items():
        np.testing.assert_allclose(
            found[number].astype(np.float64), expected.astype(np.float64), rtol=2e-3, atol=1e-2
        )


@pytest.mark.parametrize("name", KERNELS)
def test_tile_level(name: str) -> None:
    func, arrays, wanted = KERNELS[name]()
    found = poisoned(arrays, wanted)
    tw.compile(func, target="numpy")(*found)
    compare(found, wanted)


@pytest.mark.parametrize(("name", "arch"), CASES)
def test_thread_level(name: str, arch: str) -> None:
    func, arrays, wanted = KERNELS[name]()
    module, engine = func.module.clone(), DiagnosticEngine()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    found = poisoned(arrays, wanted)
    buffers = [Buffer(param.name, each) for param, each in zip(func.params, found, strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(schedules=2))
    compare(found, wanted)


@pytest.mark.parametrize("name", KERNELS)
def test_machine_code(name: str) -> None:
    func, _, _ = KERNELS[name]()
    for kernel in compile_module(func.module, "sm_90a").kernels.values():
        assert kernel.cubin[:4] == b"\x7fELF"
        assert kernel.metadata.spill_bytes == 0


def test_atomics_of_bytes_are_refused() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "int8"), R: T.Tensor((1,), "int8")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                T.atomic_add(R[0], A[i])

    with pytest.raises(
        CompileError, match=r"error\[TW6211\]: atomic add on 8-bit elements .* 16, 32"
    ):
        compile_module(main.module, "sm_90a")


def test_an_atomic_that_publishes_is_fenced() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), flags: T.Tensor((2, 2), "int32")):
        with T.Kernel(1, threads=32):
            T.atomic_store(flags[0, 1], A[0], memory_order="release")
            A[1] = T.atomic_load(flags[1, 0], memory_order="acquire")

    (kernel,) = compile_module(main.module, "sm_90a").kernels.values()
    lines = [line.strip() for line in kernel.source.splitlines()]
    store = next(n for n, line in enumerate(lines) if "volatile int*" in line)
    load = next(n for n, line in enumerate(lines) if "volatile const int*" in line)
    assert lines[store - 1] == lines[load + 1] == "__threadfence();"
