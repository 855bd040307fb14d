"""``tilewright memory`` on kernels of `T`: at the tile level, and placed, at the thread level."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tilewright import T
from tilewright.cli import memory
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline


def functions() -> Any:
    """A product in a pipelined loop, whose result goes through shared memory."""

    @T.prim_func
    def product(
        A: T.Tensor((64, 256), "float16"),
        B: T.Tensor((256, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            out = T.alloc_shared((64, 64), "float32")
            sums = T.alloc_fragment((64, 64), "float32")
            T.clear(sums)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, sums)
            T.copy(sums, out)
            T.copy(out, C)

    return product


@pytest.fixture
def lowered() -> Any:
    module, engine = functions().module.clone(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80").run(module, engine)
    engine.raise_if_errors()
    return module


def drawn(text: str, tmp_path, capsys, *flags: str) -> str:
    path = tmp_path / "kernel.mlir"
    path.write_text(text)
    assert memory.run([str(path), *flags], "tilewright memory") == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize(
    ("target", "capacity"), [("cuda:sm_80", 163 * 1024), ("hip:gfx942", 64 * 1024)]
)
def test_the_capacity_is_that_of_the_target_of_the_kernel(target, capacity, tmp_path, capsys):
    module, engine = functions().module.clone(), DiagnosticEngine()
    lowering = AmdPipeline if target.startswith("hip") else GpuPipeline
    lowering(target=target).run(module, engine)
    engine.raise_if_errors()
    found = json.loads(drawn(print_module(module), tmp_path, capsys, "--format", "json"))
    (drawn_map,) = found["memories"]
    assert (drawn_map["target"], drawn_map["capacity"]) == (target.partition(":")[2], capacity)


def test_the_arena_of_a_placed_kernel(lowered, tmp_path, capsys):
    allocs = [op for op in lowered.walk() if isinstance(op, AllocOp) and op.space.is_shared]
    places = {op.buffer_name: op.offset_bytes for op in allocs}
    assert places["out"] == 0  # shares bytes with the operands, which are done by then
    text = print_module(lowered)
    found = json.loads(drawn(text, tmp_path, capsys, "--format", "json"))
    (drawn_map,) = found["memories"]
    (region,) = drawn_map["regions"]
    assert region["name"] == "arena"
    assert f"{simt_names.SHARED_BYTES} = {drawn_map['used']} " in text


def test_every_version_of_a_ring_has_its_place(lowered, tmp_path, capsys):
    shown = drawn(print_module(lowered), tmp_path, capsys)
    assert "shared memory on sm_80: 32768 of 166912 bytes" in shown
    assert "a: 2 x 8192 bytes at 0 8192" in shown
    assert "b: 2 x 8192 bytes at 16384 24576" in shown
    assert "out: 1 x 16384 bytes at 0" in shown


def test_the_tile_level_has_one_region_for_each_buffer(tmp_path, capsys):
    shown = drawn(print_module(functions().module), tmp_path, capsys)
    assert "shared memory: 32768 bytes" in shown
    for line in ("a    8192", "b    8192", "out 16384"):
        assert line in shown
