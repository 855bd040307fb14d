"""`tw.memory_map`: the memory of any kernel, for arguments or the last launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.memory.support import planned, raw
from tilewright import T, tl, tlx
from tilewright.cli.command_line import text_of
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.memory import Memory, shared


def aliased() -> Any:
    @tw.jit
    def stage(x_desc, y_desc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
        tile = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1, reuse=storage)
        result = tlx.local_alloc((ROWS, COLUMNS), tl.float16, 1, reuse=storage)
        storage.set_buffer_overlap(
            tlx.reuse_group(tile, result, group_type=tlx.reuse_group_type.shared)
        )
        full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
        tlx.barrier_expect_bytes(full[0], ROWS * COLUMNS * 4)
        tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0])
        tlx.barrier_wait(full[0], 0)
        value = tlx.local_load(tile[0])
        tlx.local_store(result[0], value.to(tl.float16))
        tlx.fence("async_shared")
        tlx.async_descriptor_store(y_desc, result[0], [0, 0])
        tlx.async_descriptor_store_wait(0)

    return stage


def arguments() -> list[tw.TensorDescriptor]:
    arrays = np.zeros((16, 32), np.float32), np.zeros((16, 32), np.float16)
    return [tw.TensorDescriptor.from_tensor(array, [16, 32]) for array in arrays]


@tw.jit
def row_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(x, axis=0))


@tw.jit
def gemm(A, B):
    M = T.const("M")
    A: T.Tensor((M, 64), "float16")
    B: T.Tensor((64, 64), "float16")
    C = T.empty((M, 64), "float32")
    with T.Kernel(T.ceildiv(M, 64), threads=128) as block:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        T.copy(A[block * 64, 0], a)
        T.copy(B, b)
        T.gemm(a, b, c)
        T.copy(c, C[block * 64, 0])
    return C


def test_aliasing_is_shown_as_it_is_written() -> None:
    found = tw.memory_map(aliased(), *arguments(), ROWS=16, COLUMNS=32)
    (memory,) = found.maps
    assert found.note == "as written"
    assert (memory.target, memory.capacity) == ("sm_90", 232448)
    region = next(each for each in memory.regions if len(each.rows) == 2)
    assert [(row.name, str(row.cells[0].interval)) for row in region.rows] == [
        ("tile", "0..2048"),
        ("result", "0..1024"),
    ]
    assert all(f"{__file__}:" in row.source for row in region.rows)
    assert "tile" in str(found)
    assert "result" in str(found)


def test_without_arguments_it_is_the_last_launch() -> None:
    kernel = aliased()
    with pytest.raises(
        ValueError, match=r"stage was not launched yet: pass the arguments of a launch"
    ):
        tw.memory_map(kernel)
    compiled = kernel[(1,)](*arguments(), ROWS=16, COLUMNS=32)
    assert tw.memory_map(kernel) == tw.memory_map(compiled)
    assert tw.memory_map(kernel).maps[0].used >= 2048


def test_a_kernel_without_memory_of_its_own_is_raised() -> None:
    x = np.ones(1024, np.float32)
    found = tw.memory_map(row_sum, x, x, BLOCK=1024)
    assert found.note == "as placed for sm_90a"
    assert [row.name for region in found.maps[0].regions for row in region.rows] == ["exchange"]


def test_tile_kernels_are_placed_for_a_target() -> None:
    compiled = gemm.compile(M=128)
    hopper = tw.memory_map(gemm, M=128)
    assert hopper == tw.memory_map(compiled) == tw.memory_map(compiled, target="cuda:sm_90a")
    names = [row.name for region in hopper.maps[0].regions for row in region.rows]
    assert {"a", "b"} <= set(names)
    assert hopper.maps[0].used <= 232448
    amd = tw.memory_map(compiled, target="hip:gfx942")
    assert (amd.maps[0].target, amd.maps[0].capacity) == ("gfx942", 65536)


def test_tenstorrent_has_the_l1_of_a_core() -> None:
    found = tw.memory_map(gemm.compile(M=128), target="tenstorrent:wormhole")
    assert found.note == "as placed for tenstorrent:wormhole"
    assert found.maps[0].used > 0


def test_a_plan_and_a_module() -> None:
    plan = planned(shared(raw("a", Memory.SMEM, 2, 128), raw("b", Memory.SMEM, 2, 64)))
    assert [row.name for row in tw.memory_map(plan).maps[0].regions[0].rows] == ["a", "b"]
    file = "examples/storage_alias/fa_forward_2slices_bf16_d64.mlir"
    source = parse_source(make_context(), text_of(file), file, DiagnosticEngine(), keep_names=True)
    assert source is not None
    tensor = next(each for each in tw.memory_map(source.module).maps if each.memory is Memory.TMEM)
    assert [row.name for row in tensor.regions[0].rows] == ["qk", "p", "alpha", "l", "m"]


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(
        TypeError, match="memory_map expects a kernel, a plan or a module of IR, got 3"
    ):
        tw.memory_map(3)
    with pytest.raises(ValueError, match="unknown target 'cuda:none'"):
        tw.memory_map(gemm.compile(M=128), target="cuda:none")
