"""Counts of `Analyzer`, drawings of `plot_layout`, marks of IKET, maps of operands."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.compat import tilelang_iket as iket
from tilewright.compat import tilelang_maps as maps
from tilewright.compat.tilelang import CUDA
from tilewright.compat.tilelang_sparse import GROUP_CONFIG, TORCH_NAMES, get_e_factor
from tilewright.compat.tilelang_tools import Analyzer, plot_layout
from tilewright.runtime.tile import settings


@tw.jit
def matmul(a, b, block=64, block_k=32):
    a: T.Tensor((256, 128), "float16")
    b: T.Tensor((128, 192), "float16")
    c = T.empty((256, 192), "float16")
    with T.Kernel(192 // block, 256 // block, threads=128) as (bx, by):
        a_tile, b_tile = (
            T.alloc_shared((block, block_k), "float16"),
            T.alloc_shared((block_k, block), "float16"),
        )
        sums = T.alloc_fragment((block, block), "float32")
        T.clear(sums)
        for k in T.Pipelined(128 // block_k, num_stages=2):
            T.copy(a[by * block, k * block_k], a_tile)
            T.copy(b[k * block_k, bx * block], b_tile)
            T.gemm(a_tile, b_tile, sums)
        T.copy(sums, c[by * block, bx * block])
    return c


def test_work_and_traffic_are_counted():
    device = CUDA("cuda")
    found = Analyzer.analysis(matmul.get_tir(), device)
    blocks, steps = 3 * 4, 4
    assert found.total_flops == 2 * 256 * 192 * 128
    assert found.total_global_bytes == 2 * blocks * (steps * 2 * 64 * 32 + 64 * 64)
    least = found.total_global_bytes / (found.expected_bandwidth_GBps * 1e9)
    assert found.estimated_time == max(least, found.total_flops / (device.peak_tflops * 1e12))
    assert 3300 < found.expected_bandwidth_GBps < 3400 and 60 < found.expected_tflops < 70


def test_layouts_are_drawn(tmp_path):
    plot_layout(T.Layout((4, 4), lambda i, j: (j, i)), str(tmp_path), "turned", formats="svg")
    text = (tmp_path / "turned.svg").read_text()
    assert text.count("<rect") == 16 and ">3, 1<" in text
    plot_layout(T.make_gemm_fragment_8x8(), str(tmp_path), "owners", formats="svg")
    assert ">T14 L1<" in (tmp_path / "owners.svg").read_text()
    with pytest.raises(TypeError, match="got int"):
        plot_layout(3, str(tmp_path))


def test_marks_are_listed_and_left_out():
    with iket.session():

        @T.prim_func
        def twice(x: T.Tensor((32,), "float32")):
            with T.Kernel(1, threads=32) as bx, iket.range("all"):
                for i in T.Parallel(32):
                    x[i] = x[i] * 2
                iket.mark("end", payload=iket.payload(bx, dtype="int32"))

        assert iket.is_enabled()
        assert [(each["kind"], each["name"]) for each in iket.event_table()] == [
            ("range", "all"),
            ("mark", "end"),
        ]
    assert not iket.is_enabled()
    x = np.ones(32, np.float32)
    tw.compile(twice)(x)
    assert (x == 2).all()
    with pytest.raises(RuntimeError, match="without a range_push"):
        iket.range_pop()


@pytest.mark.parametrize("depth", [8, 16, 32])
@pytest.mark.parametrize("side", ["a", "b"])
def test_operands_of_mma_use_every_register_once(depth, side):
    place = getattr(maps, f"shared_16x{depth}_to_mma_32x{depth // 2}_layout_sr_{side}")
    found = {place(i, j) for i in range(16) for j in range(depth)}
    assert found == {(lane, each) for lane in range(32) for each in range(depth // 2)}
    # Lane 5 of the second row of lanes has the first elements of row 1 (PTX, mma.m16n8k*).
    assert place(1, depth // 8) == (5, 0)
    first = depth // 8  # of neighbours along K
    assert place(8, 0) == (0, 2 * first if side == "b" else first)


def test_operands_of_mfma_use_every_register_once():
    for depth, count in ((4, 1), (16, 4), (32, 8), (64, 16)):
        place = getattr(maps, f"shared_16x{depth}_to_local_64x{count}_layout_A")
        found = {place(i, j) for i in range(16) for j in range(depth)}
        assert found == {(lane, each) for lane in range(64) for each in range(count)}


def test_metadata_of_sparse_operands():
    assert get_e_factor("float16", "int16") == 16 and get_e_factor("float32", "int32") == 16
    assert GROUP_CONFIG[T.dtype("int8")] == (2, 4) and TORCH_NAMES["torch.bfloat16"] == "bfloat16"


def test_the_source_is_that_of_the_described_gpu(monkeypatch):
    monkeypatch.setattr(settings, "_arch", ["sm_90a"])
    traced = matmul.get_tir()
    assert "wgmma" in tw.compile(traced).get_kernel_source()
    assert "mma.sync" in tw.compile(traced, target="cuda:sm_80").get_kernel_source()
    assert "NumPy code" in tw.compile(traced, target="numpy").get_kernel_source()
