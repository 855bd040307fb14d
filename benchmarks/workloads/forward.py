"""The kernels of `benchmarks/h200.py` as workloads: GEMM, attention forward, plain streams."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.h200 import attention as attention_shapes
from benchmarks.h200 import gemm as gemm_shapes
from benchmarks.h200 import tile, tile_kernels
from benchmarks.h200.measure import Candidate
from benchmarks.workloads.workload import OURS, Prepared, Workload, choices

_STREAMS = {"add": 3, "rms_norm": 2, "softmax": 2}
"""Tensors that a kernel reads and writes."""


def _gemm(m: int, n: int, k: int) -> Prepared:
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    call = partial(tile.product, a, b, "float16")
    return Prepared(a.float() @ b.float(), [Candidate(OURS, call, is_ours=True)], tile.ERROR)


def _fp8(size: int) -> Prepared:
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    call = partial(tile_kernels.gemm_fp8, a, b)
    ours = Candidate(OURS, call, is_ours=True)
    return Prepared(a.float() @ b.float().T, [ours], tile.FP8_ERROR)


def _attention(b: int, h: int, s: int, d: int, is_causal: bool) -> Prepared:
    q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    call = partial(tile_kernels.attention, q, k, v, head=d, causal=is_causal)
    return Prepared(expected.float(), choices(call, tile.tiles_for(d, s, is_causal)), tile.ERROR)


def _stream(name: str) -> Prepared:
    given = [
        torch.randn(tile.ROWS, tile.COLUMNS, device="cuda", dtype=torch.float16)
        for _ in range(_STREAMS[name] - 1)
    ]
    call = partial(getattr(tile_kernels, name), *given)
    expected = tile.stream_result(name, *(each.float() for each in given))
    return Prepared(expected, choices(call, tile.STREAM_TILES[name]), tile.ERROR)


def workloads(directory: str | None) -> Iterator[Workload]:
    """The shapes of the tables; peers are in `benchmarks/h200.py`."""
    for m, n, k in gemm_shapes.SHAPES:
        yield Workload("gemm", f"{m}x{n}x{k}", partial(_gemm, m, n, k), flops=2.0 * m * n * k)
    yield Workload("gemm fp8", "8192x8192x8192", partial(_fp8, 8192), flops=2.0 * 8192**3)
    for is_causal in (False, True):
        for b, h, s, d in attention_shapes.SHAPES:
            flops = 4.0 * b * h * s * s * d / (2 if is_causal else 1)
            shape = f"b{b} h{h} s{s} d{d}{' causal' if is_causal else ''}"
            prepare = partial(_attention, b, h, s, d, is_causal)
            yield Workload("attention", shape, prepare, flops=flops)
    for name, tensors in _STREAMS.items():
        moved = 2 * tensors * tile.ROWS * tile.COLUMNS
        yield Workload(name, f"{tile.ROWS} x {tile.COLUMNS}", partial(_stream, name), moved=moved)
