"""The model that orders configurations: what it knows of sizes, occupancy and pipelines."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.config_model import estimate, ranked


@tw.jit(out_idx=-1)
def matmul(M, N, K, m=128, n=128, k=64, stages=3, threads=256):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, n), T.ceildiv(M, m), threads=threads) as (bx, by):
            a = T.alloc_shared((m, k), "float16")
            b = T.alloc_shared((k, n), "float16")
            c = T.alloc_fragment((m, n), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(K, k), num_stages=stages):
                T.copy(A[by * m, step * k], a)
                T.copy(B[step * k, bx * n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * m, bx * n])

    return main


def cycles(*sizes: object, **config: int) -> float:
    found = estimate(matmul.traced(*sizes, **config))
    assert found is not None
    return found.cycles


def test_large_tiles_are_for_large_products():
    configs = [
        {"m": m, "n": n, "threads": 2 * m} for m, n in ((64, 64), (64, 128), (128, 128), (128, 256))
    ]

    def best(size: int) -> dict[str, int]:
        return ranked(configs, lambda each: matmul.traced(size, size, size, **each))[0]

    assert (best(8192)["m"], best(8192)["n"]) == (128, 256)
    assert best(512)["m"] * best(512)["n"] < 128 * 256, "132 multiprocessors want 64 blocks"


def test_a_pipeline_overlaps_copies():
    assert cycles(4096, 4096, 4096, stages=3) < 0.8 * cycles(4096, 4096, 4096, stages=0)


def test_no_estimate_beats_the_peak_of_the_tensor_cores():
    """2 M N K flops, 4096 a cycle on each of 132 multiprocessors."""
    for m, n in ((64, 64), (128, 128), (128, 256)):
        assert cycles(8192, 8192, 8192, m=m, n=n) > 2 * 8192**3 / (4096 * 132)


def test_accumulators_that_do_not_fit_into_registers_come_last():
    """256 x 256 floats for 128 threads are 512 registers of each."""
    assert cycles(4096, 4096, 4096, m=256, n=256, threads=128) > 4 * cycles(4096, 4096, 4096)


def test_twice_the_work_takes_twice_the_waves():
    once, twice = (estimate(matmul.traced(size, 4096, 4096)) for size in (8192, 16384))
    assert once is not None and twice is not None
    assert twice.waves == pytest.approx(2 * once.waves, abs=1)
    assert once.blocks_per_multiprocessor == twice.blocks_per_multiprocessor == 2


def test_sizes_of_the_run_have_no_estimate_and_keep_their_order():
    size = T.dynamic("M")
    assert estimate(matmul.traced(size, 4096, 4096)) is None
    configs = [{"m": 64}, {"m": 128}, {"m": 256}]
    kept = ranked(configs, lambda each: matmul.traced(size, 4096, 4096, **each))
    assert kept == configs
    assert ranked(configs, lambda each: matmul.traced(size, 4096, 4096, **each), 2) == configs[:2]


def test_what_cannot_be_traced_comes_last():
    def compiled(config: dict[str, int]) -> object:
        if config["m"] == 128:
            raise ValueError("not this one")
        return matmul.traced(4096, 4096, 4096, **config)

    assert ranked([{"m": 128}, {"m": 64}], compiled) == [{"m": 64}, {"m": 128}]
