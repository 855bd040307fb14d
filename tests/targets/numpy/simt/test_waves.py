"""Waves of 64 and of 32 lanes: exchanges, votes, races within and between waves, barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.simt_support import device_module, run_device
from tilewright import T
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
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


@pytest.mark.parametrize("chip", WAVES)
@pytest.mark.parametrize("far", [1, 32, 64])
def test_the_analysis_of_a_compile_agrees(chip: str, far: int) -> None:
    def reported(sync: str) -> list[str]:
        body = EXCHANGE.replace("%SYNC%", sync).replace("%FAR%", str(far))
        engine = DiagnosticEngine()
        text = device_module(body, target=target(chip))
        source = parse_source(make_context(), text, "kernel.mlir", engine)
        assert source is not None
        CheckThreadSync().run(source.module, engine)
        return [each.message for each in engine.diagnostics if each.severity is Severity.ERROR]

    assert reported("gpu.barrier") == []
    (race,) = reported("")
    assert race.startswith(f"data race: thread 0 reads s[{far}]")
    assert (reported("tile.sync warp") == []) == (far < WAVES[chip])


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
    """What kernels do that were written for warps of 32 threads."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((8, 256), "int32")) -> None:
        with T.Kernel(1, threads=256):
            tid = T.get_thread_binding(0)
            x = A[tid]
            B[0, tid] = T.warp_reduce_sum(x)
            B[1, tid] = T.warp_reduce_max(x)
            B[2, tid] = T.cast(T.ballot(x > 0), "int32")
            B[3, tid] = T.shfl_down(x, 17)
            B[4, tid] = T.get_warp_idx() * 1000 + T.get_lane_idx()
            B[5, tid] = T.if_then_else(T.any_sync(x > 990), 1, 0)
            B[6, tid] = T.if_then_else(T.all_sync(x > -980), 1, 0)
            B[7, tid] = 0
            if tid < 32:
                B[7, tid] = T.warp_reduce_sum(B[0, tid * 8]) + T.cast(T.ballot(x > 7), "int32")

    return kernel


def reference(x: np.ndarray) -> np.ndarray:
    warps, tids = x.reshape(-1, 32), np.arange(256)
    ballots = (warps[..., None, :] > np.array([0, 7])[:, None]).astype(np.uint32)
    bits = (ballots << np.arange(32, dtype=np.uint32)).sum(axis=-1).astype(np.uint32).view(np.int32)
    each = [
        warps.sum(axis=1),
        warps.max(axis=1),
        bits[:, 0],
        None,
        None,
        (warps > 990).any(axis=1),
        (warps > -980).all(axis=1),
    ]
    found = np.zeros((8, 256), np.int32)
    for row, values in enumerate(each):
        if values is not None:
            found[row] = np.repeat(values, 32)
    found[3] = np.where(tids % 32 < 15, np.roll(x, -17), x)
    found[4] = tids // 32 * 1000 + tids % 32
    found[7, :32] = found[0, ::8].sum() + bits[0, 1]
    return found


def amd(module: ModuleOp, chip: str) -> ModuleOp:
    engine = DiagnosticEngine()
    AmdPipeline(target=f"hip:{chip}").run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    return module


def simt(module: ModuleOp, chip: str, *arrays: np.ndarray) -> None:
    buffers = [Buffer(name, each) for name, each in zip("AB", arrays, strict=True)]
    compile_simt(amd(module.clone(), chip)).launch(buffers, SimtOptions(unit=WAVES[chip]))


@pytest.mark.parametrize("chip", WAVES)
def test_a_warp_of_the_language_is_32_threads(chip: str) -> None:
    x = np.random.default_rng(3).integers(-1000, 1000, 256, dtype=np.int32)
    out = np.zeros((8, 256), np.int32)
    simt(exchanges().module, chip, x, out)
    np.testing.assert_array_equal(out, reference(x))
    tiles = np.zeros((8, 256), np.int32)
    program = compile_tile_module(exchanges().module.clone())
    program.launch([Buffer("A", x), Buffer("B", tiles)], TileOptions())
    np.testing.assert_array_equal(tiles, reference(x))


def test_waves_of_64_by_name() -> None:
    """A kernel for waves of 64 names their width, and takes all their votes."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((3, 256), "int64")) -> None:
        with T.Kernel(1, threads=256):
            tid = T.get_thread_binding(0)
            x = A[tid]
            B[0, tid] = T.cast(T.shfl_xor(x, 33, width=64), "int64")
            B[1, tid] = T.cast(T.ballot(x > 0, dtype="uint64"), "int64")
            B[2, tid] = T.cast(T.get_lane_idx(64), "int64")

    x = np.random.default_rng(4).integers(-1000, 1000, 256, dtype=np.int32)
    out, tids = np.zeros((3, 256), np.int64), np.arange(256)
    simt(kernel.module, "gfx942", x, out)
    np.testing.assert_array_equal(out[0], x[tids ^ 33])
    votes = (x.reshape(4, 64) > 0).astype(np.uint64) << np.arange(64, dtype=np.uint64)
    np.testing.assert_array_equal(out[1], np.repeat(votes.sum(axis=1).view(np.int64), 64))
    np.testing.assert_array_equal(out[2], tids % 64)
    with pytest.raises(CompileError, match="shuffle too wide: 64 lanes, but a warp of gfx1100 has"):
        amd(kernel.module.clone(), "gfx1100")
