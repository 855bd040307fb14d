"""Registers that do not suffice are told, with numbers, and with a change after which they do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tilewright import T
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module


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
    assert f"{program.spill_bytes} bytes" in warning.message
    assert f"a thread has {program.registers}" in warning.message
    assert any("go to memory and back" in each for each in program.remarks)
    notes = [note.message for note in warning.notes]
    assert "'sums' takes 32 registers of each of 128 threads" in notes


def test_what_is_proposed_suffices(crowded: tuple[Program, dict[str | None, Diagnostic]]) -> None:
    (note,) = (each for each in crowded[1]["TW5012"].notes if each.message.startswith("help"))
    found = re.search(r"T.annotate_min_blocks_per_sm\((\d+)\)", note.message)
    assert found is not None
    program, said = compiled(int(found[1]))
    assert program.spill_bytes == 0
    assert not said.keys() & {"TW5012", "TW5013"}


def test_the_last_turns_run_in_the_loop_if_that_takes_fewer_registers(
    crowded: tuple[Program, dict[str | None, Diagnostic]],
) -> None:
    program, said = crowded
    found = re.search(r": (\d+) bytes .*, and (\d+) with", said["TW5013"].message)
    assert found is not None
    assert int(found[1]) == program.spill_bytes < int(found[2])
    assert program.source.count("tw::mma_") == 1
    assert compiled(1)[0].source.count("tw::mma_") > 1
