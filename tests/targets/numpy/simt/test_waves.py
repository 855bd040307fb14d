"""Waves of 64 and of 32 lanes: exchanges, votes, races within and between waves, barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.simt_support import run_device
from tilewright import T
from tilewright.dialects.amd.chips import chip_named
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.verify import verify
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.tile.bind_target import BindTarget
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

WAVES = {"gfx942": 64, "gfx1100": 32}
THREADS = 128
TIDS = np.arange(THREADS)
OUT = "memref<1024xf32, #global>"
SHARED = "memref<128xf32, #shared>"


def target(chip: str) -> str:
    return f"hip, {chip}"


@pytest.mark.parametrize("chip", WAVES)
def test_the_chips_have_these_waves(chip: str) -> None:
    assert chip_named(chip).wave == WAVES[chip]


def _source(mode: str, by: int, width: int) -> np.ndarray:
    lane, first = TIDS % width, TIDS - TIDS % width
    other = {"xor": lane ^ by, "down": lane + by, "up": lane - by, "idx": np.full(THREADS, by)}[
        mode
    ]
    inside = (other >= 0) & (other < width)
    return np.where(inside, first + other, TIDS)


@pytest.mark.parametrize("chip", WAVES)
@pytest.mark.parametrize("width", [None, 16, 32, 64])
@pytest.mark.parametrize(("mode", "by"), [("xor", 5), ("down", 3), ("up", 9), ("idx", 11)])
def test_shuffles(chip: str, width: int | None, mode: str, by: int) -> None:
    lanes = WAVES[chip]
    if width is not None and width > lanes:
        return
    text = "" if width is None else f"width {width}"
    body = f"""
    %x = memref.load %In[%tid] : {OUT}
    %by = arith.constant {by} : i32
    %y = tile.shuffle {mode} %x, %by {text} : f32
    memref.store %y, %Out[%tid] : {OUT}"""
    out, _ = run_device(body, target=target(chip))
    np.testing.assert_array_equal(out[:THREADS], _source(mode, by, width or lanes))


@pytest.mark.parametrize("chip", WAVES)
def test_lanes_and_their_waves(chip: str) -> None:
    body = f"""
    %lane = gpu.lane_id
    %wave = gpu.subgroup_id : index
    %scaled = arith.muli %wave, %c127 : index
    %sum = arith.addi %scaled, %lane : index
    %y = memref.load %In[%sum] : {OUT}
    memref.store %y, %Out[%tid] : {OUT}"""
    out, _ = run_device(body, target=target(chip))
    lanes = WAVES[chip]
    np.testing.assert_array_equal(out[:THREADS], TIDS // lanes * 127 + TIDS % lanes)


EXCHANGE = f"""
    %s = tile.alloc "s" : {SHARED}
    %x = memref.load %In[%tid] : {OUT}
    memref.store %x, %s[%tid] : {SHARED}
    %SYNC%
    %far = arith.constant %FAR% : index
    %other = arith.xori %tid, %far : index
    %y = memref.load %s[%other] : {SHARED}
    memref.store %y, %Out[%tid] : {OUT}"""


def exchange(chip: str, far: int, sync: str) -> np.ndarray:
    body = EXCHANGE.replace("%SYNC%", sync).replace("%FAR%", str(far))
    out, _ = run_device(body, SimtOptions(unit=WAVES[chip]), target=target(chip))
    return out[:THREADS]


@pytest.mark.parametrize("chip", WAVES)
@pytest.mark.parametrize("far", [1, 32, 64])
def test_which_lanes_a_wave_orders(chip: str, far: int) -> None:
    """Lanes 32 apart are in one wave of 64, and in two of 32."""
    wave = "tile.sync warp"
    if far < WAVES[chip]:
        np.testing.assert_array_equal(exchange(chip, far, wave), TIDS ^ far)
    else:
        with pytest.raises(SimtFault, match=r"data race|uninitialised"):
            exchange(chip, far, wave)
    with pytest.raises(SimtFault, match=r"data race|uninitialised"):
        exchange(chip, far, "")
    np.testing.assert_array_equal(exchange(chip, far, "gpu.barrier"), TIDS ^ far)


def test_a_race_names_the_threads_of_a_wide_wave() -> None:
    """The number of a thread is that of its wave times 64, and its lane."""
    with pytest.raises(SimtFault, match=r"thread \d+ reads s\[\d+\]"):
        run_device(EXCHANGE.replace("%SYNC%", "").replace("%FAR%", "1"), target=target("gfx942"))


def test_an_exchange_needs_whole_waves() -> None:
    body = f"""
    %low = arith.cmpi ult, %tid, %c32 : index
    scf.if %low {{
      %x = memref.load %In[%tid] : {OUT}
      %by = arith.constant 1 : i32
      %y = tile.shuffle xor %x, %by : f32
      memref.store %y, %Out[%tid] : {OUT}
    }}"""
    run_device(body, target=target("gfx1100"))
    with pytest.raises(SimtFault, match="only some lanes of warp 0"):
        run_device(body, target=target("gfx942"))


# -- kernels -----------------------------------------------------------------------------------


def exchanges() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((6, 256), "int64")) -> None:
        with T.Kernel(1, threads=256):
            tid = T.get_thread_binding(0)
            x = A[tid]
            B[0, tid] = T.cast(T.warp_reduce_sum(x), "int64")
            B[1, tid] = T.cast(T.warp_reduce_max(x), "int64")
            B[2, tid] = T.cast(T.ballot(x > 0, dtype="uint64"), "int64")
            B[3, tid] = T.cast(T.shfl_xor(x, 17), "int64")
            B[4, tid] = T.cast(T.get_warp_idx() * 1000 + T.get_lane_idx(), "int64")
            B[5, tid] = T.if_then_else(T.any_sync(x > 990), T.int64(1), T.int64(0))

    return kernel


def reference(x: np.ndarray, lanes: int) -> np.ndarray:
    waves, warps = x.reshape(-1, lanes), x.reshape(-1, 32)
    found = np.zeros((6, 256), np.int64)
    # Reductions combine 32 threads on every GPU.
    found[0], found[1] = np.repeat(warps.sum(axis=1), 32), np.repeat(warps.max(axis=1), 32)
    ballots = [sum(int(v > 0) << n for n, v in enumerate(wave)) for wave in waves]
    found[2] = np.repeat(np.array(ballots, np.uint64).view(np.int64), lanes)
    found[3] = waves[:, np.arange(lanes) ^ 17].reshape(-1)
    tids = np.arange(256)
    found[4] = tids // lanes * 1000 + tids % lanes
    found[5] = np.repeat((waves > 990).any(axis=1), lanes)
    return found


def amd(module: ModuleOp, chip: str) -> ModuleOp:
    engine = DiagnosticEngine()
    AmdPipeline(target=f"hip:{chip}").run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    return module


@pytest.mark.parametrize("chip", WAVES)
def test_kernels_that_name_their_lanes(chip: str) -> None:
    """At both levels a warp has as many lanes as the target of the module."""
    x = np.random.default_rng(3).integers(-1000, 1000, 256, dtype=np.int32)
    expected = reference(x, WAVES[chip])
    out = np.zeros((6, 256), np.int64)
    compile_simt(amd(exchanges().module.clone(), chip)).launch([Buffer("A", x), Buffer("B", out)])
    np.testing.assert_array_equal(out, expected)
    module = exchanges().module.clone()
    BindTarget(target=f"hip:{chip}").run(module, DiagnosticEngine())
    tiles = np.zeros((6, 256), np.int64)
    compile_tile_module(module).launch([Buffer("A", x), Buffer("B", tiles)], TileOptions())
    np.testing.assert_array_equal(tiles, expected)


def test_a_ballot_of_64_lanes_needs_64_bits() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")) -> None:
        with T.Kernel(1, threads=128):
            tid = T.get_thread_binding(0)
            B[tid] = T.cast(T.ballot(A[tid] > 0), "int32")

    amd(kernel.module.clone(), "gfx1100")
    with pytest.raises(CompileError, match="ballot too narrow: 32 bits, but a wave of gfx942"):
        amd(kernel.module.clone(), "gfx942")
