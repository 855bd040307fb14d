"""`T` kernels through our own code generator: products, attention, and what memory limits.

With TileLang at hand the same sources go through it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.h200 import attention as attention_shapes
from benchmarks.h200 import gemm as gemm_shapes
from benchmarks.h200 import tile_kernels
from benchmarks.h200.measure import Candidate, Row, check, measure
from benchmarks.h200.peers import tile_example, tilelang_kernels

OURS = "ours"
ERROR = 4e-3
FP8_ERROR = 4e-2
STAYING = {"block_M": 128, "block_N": 256, "block_K": 64, "num_stages": 4, "parts": 2}
"""Tiles of the persistent product."""
ATTENTION_TILES: Mapping[int, tuple[dict[str, int], ...]] = {
    # Three warp groups that compute; small blocks of keys waste less on the diagonal of a mask.
    64: tuple({"block_M": 192, "block_N": n, "threads": 384} for n in (128, 96, 64)),
    128: ({}, {"block_N": 96}),
}
"""Tiles of attention by the size of a head; the fastest ones for a shape are taken. Under a mask,
where blocks differ in length, the first ones are tried in both orders of the grid."""
ROWS, COLUMNS = 65536, 8192
"""1 GiB of 16-bit elements."""
STREAM_TILES: Mapping[str, tuple[dict[str, int], ...]] = {
    "add": ({},),
    "rms_norm": tuple({"rows": r, "threads": t} for r, t in ((1, 256), (1, 512), (2, 256))),
    "softmax": tuple({"rows": r, "threads": t} for r, t in ((1, 256), (1, 512), (2, 256))),
}
"""Rows of a block, and its threads; the fastest are taken."""


Kernels = Mapping[str, Any]
"""Modules with the kernels, by the name of who compiles them."""


def product(a: torch.Tensor, b: torch.Tensor, dtype: str) -> torch.Tensor:
    """By blocks that stay where each gets several tiles, by a block for each tile otherwise."""
    tiles = -(-a.shape[0] // STAYING["block_M"]) * -(-b.shape[1] // STAYING["block_N"])
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    if tiles <= processors:
        return tile_kernels.gemm(a, b, dtype=dtype)
    staying = tile_example("persistent_gemm").matmul_persistent
    return staying(a, b, processors=processors, dtype=dtype, **STAYING)


def products(rounds: int, kernels: Kernels) -> list[Row]:
    """fp16 and bf16, beside cuBLAS."""
    rows: list[Row] = []
    for name, dtype in gemm_shapes.DTYPES.items():
        spelled = {"fp16": "float16", "bf16": "bfloat16"}[name]
        for m, n, k in gemm_shapes.SHAPES:
            a = torch.randn(m, k, device="cuda", dtype=dtype)
            b = torch.randn(k, n, device="cuda", dtype=dtype)
            row = Row("T gemm", f"{m}x{n}x{k} {name}", 2.0 * m * n * k)
            wanted = a.float() @ b.float()
            candidates = [
                Candidate("cuBLAS", partial(torch.matmul, a, b)),
                *(
                    Candidate(_one_source(who), partial(each.gemm, a, b, dtype=spelled))
                    for who, each in kernels.items()
                ),
                Candidate(OURS, partial(product, a, b, spelled), is_ours=True),
            ]
            measure(row, check(row, candidates, wanted, ERROR), rounds)
            rows.append(row)
    return rows


def _one_source(who: str) -> str:
    """The kernel that TileLang compiles as well; what else we have comes beside it."""
    return f"{OURS}, tile per block" if who == OURS else who


def fp8_product(rounds: int, kernels: Kernels) -> Row:
    """fp8 beside torch's scaled product, which takes B as we do: with K contiguous."""
    m = n = k = 8192
    a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    row = Row("T gemm fp8", f"{m}x{n}x{k} e4m3", 2.0 * m * n * k)
    wanted = a.float() @ b.float().T

    def peer() -> torch.Tensor:
        return torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16)

    candidates = [
        Candidate("torch._scaled_mm", peer),
        *(
            Candidate(who, partial(each.gemm_fp8, a, b), who == OURS)
            for who, each in kernels.items()
        ),
    ]
    measure(row, check(row, candidates, wanted, FP8_ERROR), rounds)
    return row


def attentions(rounds: int, kernels: Kernels) -> list[Row]:
    """Forward attention, beside cuDNN."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    rows: list[Row] = []
    for causal in (False, True):
        for b, h, s, d in attention_shapes.SHAPES:
            q, k, v = (
                torch.randn(b, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3)
            )
            flops = 4.0 * b * h * s * s * d / (2 if causal else 1)
            row = Row("T attention", f"b{b} h{h} s{s} d{d}{' causal' if causal else ''}", flops)

            def cudnn(q: Any = q, k: Any = k, v: Any = v, causal: bool = causal) -> torch.Tensor:
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal
                    )

            wanted = cudnn().float()
            tiles = _best_tiles(q, k, v, causal, wanted)
            candidates = [Candidate("cuDNN", cudnn)]
            for who, each in kernels.items():
                call = partial(each.attention, q, k, v, head=d, causal=causal, **tiles)
                candidates.append(Candidate(who, call, who == OURS))
            measure(row, check(row, candidates, wanted, ERROR), rounds)
            rows.append(row)
    return rows


def tiles_for(head: int, length: int, causal: bool) -> list[dict[str, int]]:
    """Tiles of attention worth a try; without a mask they divide the keys."""
    known = ATTENTION_TILES[head]
    if causal:
        return [*known, {**known[0], "heads_first": True}]
    return [each for each in known if length % each.get("block_N", 128) == 0]


def _best_tiles(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, wanted: torch.Tensor
) -> dict[str, int]:
    """The fastest tiles, by a short measurement."""
    head = q.shape[-1]
    tiles = {str(each): each for each in tiles_for(head, q.shape[2], causal)}
    calls = {
        name: partial(tile_kernels.attention, q, k, v, head=head, causal=causal, **each)
        for name, each in tiles.items()
    }
    row = Row("T attention", "tiles", 1.0)
    right = check(row, [Candidate(*each) for each in calls.items()], wanted, ERROR)
    measure(row, right, 5)
    fastest = min(row.milliseconds, key=lambda name: row.milliseconds[name], default=None)
    return ATTENTION_TILES[head][0] if fastest is None else tiles[fastest]


def _best_streams(name: str, given: list[torch.Tensor], wanted: torch.Tensor) -> dict[str, int]:
    """The fastest configuration of a stream, by a short measurement."""
    tiles = {str(each): each for each in STREAM_TILES[name]}
    calls = [
        Candidate(key, partial(getattr(tile_kernels, name), *given, **each))
        for key, each in tiles.items()
    ]
    row = Row("T memory", "tiles", 1.0)
    measure(row, check(row, calls, wanted, ERROR), 5)
    fastest = min(row.milliseconds, key=lambda key: row.milliseconds[key], default=None)
    return STREAM_TILES[name][0] if fastest is None else tiles[fastest]


def stream_result(name: str, *given: torch.Tensor) -> torch.Tensor:
    """What a memory-bound kernel computes, of float32."""
    x = given[0]
    if name == "add":
        return x + given[1]
    if name == "softmax":
        return torch.softmax(x, 1)
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6)


def memory_bound(rounds: int, kernels: Kernels) -> list[Row]:
    """Bytes per second beside a copy of as many bytes."""
    x = torch.randn(ROWS, COLUMNS, device="cuda", dtype=torch.float16)
    y = torch.randn(ROWS, COLUMNS, device="cuda", dtype=torch.float16)
    out = torch.empty_like(x)
    size = x.numel() * x.element_size()
    cases = {"add": [x, y], "rms_norm": [x], "softmax": [x]}
    rows: list[Row] = []
    for name, given in cases.items():
        wanted = stream_result(name, *(each.float() for each in given))
        moved = len(given) + 1
        # A rate of Row is in units of 1e12: a thousand times the bytes gives GB/s.
        row = Row("T memory", f"{name}, {size >> 30} GiB", 1e3 * moved * size)
        tiles = _best_streams(name, given, wanted)
        candidates = [
            Candidate(who, partial(getattr(each, name), *given, **tiles), who == OURS)
            for who, each in kernels.items()
        ]
        right = check(row, candidates, wanted, ERROR)
        copy = Candidate("copy", lambda: out.copy_(x))
        measure(row, [*right, copy], rounds)
        # The copy moves two times the tensor; its time is brought to the same bytes.
        row.milliseconds["copy"] *= moved / 2
        rows.append(row)
    return rows


def run(rounds: int, tilelang: str | None = None) -> list[Row]:
    """Everything, in the order of the tables; `tilelang` is the folder of a TileLang."""
    kernels: dict[str, Any] = {OURS: tile_kernels}
    if tilelang is not None:
        kernels["TileLang"] = tilelang_kernels(tilelang)
    return [
        *products(rounds, kernels),
        fp8_product(rounds, kernels),
        *attentions(rounds, kernels),
        *memory_bound(rounds, kernels),
    ]
