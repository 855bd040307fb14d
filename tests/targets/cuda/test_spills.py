"""Registers that do not suffice are told, with numbers, and with a change after which they do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile.double_threads import DoubleThreads
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt


def product(blocks: int) -> Any:
    """A product of which so many blocks share a multiprocessor."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 256), "float16"),
        B: T.Tensor((256, 256), "float16"),
        C: T.Tensor((256, 256), "float32"),
    ):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            sums = T.alloc_fragment((64, 64), "float32")
            T.annotate_min_blocks_per_sm(blocks)
            T.clear(sums)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, sums)
            T.copy(sums, C[by * 64, bx * 64])

    return main


def compiled(blocks: int) -> tuple[Program, dict[str | None, Diagnostic]]:
    engine = DiagnosticEngine()
    program = compile_module(product(blocks).module, "sm_80", engine=engine)
    return program, {each.code: each for each in engine.diagnostics}


@pytest.fixture(scope="module")
def crowded() -> tuple[Program, dict[str | None, Diagnostic]]:
    return compiled(10)


def test_spills_are_told(crowded: tuple[Program, dict[str | None, Diagnostic]]) -> None:
    program, said = crowded
    assert program.registers == 65536 // 10 // 128 // 8 * 8
    assert program.spill_bytes > 0
    warning = said["TW5012"]
    assert warning.severity is Severity.WARNING
    assert f"{program.spill_bytes} B per thread" in warning.message
    assert f"{program.registers} available" in warning.message
    assert any("spill to local memory" in each for each in program.remarks)
    notes = [note.message for note in warning.notes]
    assert "'sums' needs 32 registers per thread (128 threads)" in notes


def test_what_is_proposed_suffices(crowded: tuple[Program, dict[str | None, Diagnostic]]) -> None:
    (note,) = (each for each in crowded[1]["TW5012"].notes if each.message.startswith("help"))
    found = re.search(r"T.annotate_min_blocks_per_sm\((\d+)\)", note.message)
    assert found is not None
    program, said = compiled(int(found[1]))
    assert program.spill_bytes == 0
    assert "TW5012" not in said


def test_the_last_turns_run_in_the_loop_if_that_takes_fewer_registers(
    crowded: tuple[Program, dict[str | None, Diagnostic]],
) -> None:
    program, said = crowded
    found = re.search(r": (\d+) B per thread spill, (\d+) B with", said["TW5013"].message)
    assert found is not None
    assert int(found[1]) == program.spill_bytes < int(found[2])
    assert program.source.count("tw::mma_") == 1
    assert compiled(1)[0].source.count("tw::mma_") > 1


# -- more threads --------------------------------------------------------------------------------


def two_sums(*, names_a_thread: bool, width: int = 128) -> Any:
    """Two fragments of 128 x 128 floats are 256 registers of each of 128 threads."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 512), "float16"),
        B: T.Tensor((512, width), "float16"),
        C: T.Tensor((128, width), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((128, 64), "float16")
            B_shared = T.alloc_shared((64, width), "float16")
            part = T.alloc_fragment((128, width), "float32")
            whole = T.alloc_fragment((128, width), "float32")
            T.clear(whole)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[0, k * 64], A_shared)
                T.copy(B[k * 64, 0], B_shared)
                T.clear(part)
                T.gemm(A_shared, B_shared, part)
                for i, j in T.Parallel(128, width):
                    whole[i, j] += part[i, j]
            T.copy(whole, C)
            if names_a_thread:
                C[0, T.get_thread_binding()] = 0.0

    return main


def test_more_threads_if_registers_do_not_suffice():
    engine = DiagnosticEngine()
    program = compile_module(two_sums(names_a_thread=False).module, engine=engine)
    assert program.spill_bytes == 0
    (kernel,) = program.kernels.values()
    assert kernel.metadata.threads == 2 * 128 + 128  # and those that copy
    said = {each.code: each.message for each in engine.diagnostics}
    assert "TW5012" not in said
    assert re.search(r"thread count doubled to 384 .* \d+ B", said["TW5017"])


def test_more_threads_and_less_code_if_either_is_not_enough():
    program = compile_module(two_sums(names_a_thread=False).module, "sm_80")
    assert program.spill_bytes == 0
    (kernel,) = program.kernels.values()
    assert kernel.metadata.threads == 2 * 128


def test_a_kernel_of_much_code_is_compiled_once(monkeypatch: pytest.MonkeyPatch):
    """Other forms of it would each take as long."""
    monkeypatch.setattr("tilewright.targets.cuda.compile._LARGE_CODE", 1 << 10)
    engine = DiagnosticEngine()
    program = compile_module(two_sums(names_a_thread=False).module, engine=engine)
    assert program.spill_bytes > 0
    assert "TW5012" in {each.code for each in engine.diagnostics}


def test_what_was_tried_before_is_not_told():
    """With fewer copies of the loop fewer registers spill, and with more threads none."""
    engine = DiagnosticEngine()
    program = compile_module(
        two_sums(names_a_thread=False, width=112).module, "sm_80", engine=engine
    )
    assert program.spill_bytes == 0
    assert program.source.count("tw::mma_") > 1  # all turns are written out again
    assert [each.code for each in engine.diagnostics] == ["TW4020", "TW5017"]


def test_copies_of_a_loop_tell_once():
    """The turns before and after a pipelined loop are its lines again."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "float16"),
        K: T.Tensor((256, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            q = T.alloc_shared((64, 64), "float16")
            k = T.alloc_shared((64, 64), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            p = T.alloc_fragment((64, 64), "float16")
            o = T.alloc_fragment((64, 64), "float32")
            T.copy(Q, q)
            T.clear(o)
            for n in T.Pipelined(4, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True)
                T.copy(s, p)
                T.gemm(p, k, o)
            T.copy(o, C)

    engine, bare = DiagnosticEngine(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80").run(main.module.clone(), bare)
    assert [each.code for each in bare.diagnostics].count("TW2023") > 1
    compile_module(main.module, "sm_80", engine=engine)
    assert [each.code for each in engine.diagnostics].count("TW2023") == 1


def test_more_threads_compute_the_same():
    module, engine = two_sums(names_a_thread=False).module.clone(), DiagnosticEngine()
    DoubleThreads().run(module, engine)
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    rng = np.random.default_rng(0)
    a = rng.standard_normal((128, 512)).astype(np.float16)
    b = rng.standard_normal((512, 128)).astype(np.float16)
    c = np.full((128, 128), np.nan, np.float32)
    arguments = [Buffer(name, each) for name, each in zip("ABC", (a, b, c), strict=True)]
    compile_simt(module).launch(arguments, SimtOptions())
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-3)


def test_a_kernel_that_names_a_thread_keeps_its_number():
    engine = DiagnosticEngine()
    program = compile_module(two_sums(names_a_thread=True).module, engine=engine)
    assert program.spill_bytes > 0
    said = {each.code: each for each in engine.diagnostics}
    assert "TW5017" not in said
    (note,) = (each for each in said["TW5012"].notes if each.message.startswith("help"))
    assert "threads=256" in note.message
