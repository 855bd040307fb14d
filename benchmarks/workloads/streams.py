"""What the memory limits: norm and quantise, rotary embedding, cross entropy, top-k."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.h200.measure import Candidate
from benchmarks.workloads.sources import ours
from benchmarks.workloads.workload import COPY, OURS, Limit, Prepared, Workload, choices, first

OF_A_COPY = 0.97


def _norm(rows: int, columns: int) -> Prepared:
    x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-6) * w.float()
    scale = wide.abs().amax(1, keepdim=True) / 448
    expected = (wide / scale).to(torch.float8_e4m3fn).float()

    def norm(**options: int) -> torch.Tensor:
        return ours("streams").rms_norm_fp8(x, w, columns=columns, **options)[0]

    candidates = choices(norm, [{"threads": each} for each in (128, 256, 512)])
    return Prepared(expected, candidates, 2e-2)


def _rotary(tokens: int, heads: int, head: int) -> Prepared:
    x = torch.randn(tokens, heads, head, device="cuda", dtype=torch.bfloat16)
    angles = torch.rand(tokens, head // 2, device="cuda") * 6
    cosines, sines = angles.cos(), angles.sin()
    left, right = x.float().chunk(2, -1)
    c, s = cosines[:, None], sines[:, None]
    expected = torch.cat([left * c - right * s, right * c + left * s], -1)
    call = partial(ours("streams").rotary, x, cosines, sines, heads=heads, head=head)
    return Prepared(expected, [Candidate(OURS, call, is_ours=True)], 1e-2)


def _cross_entropy(rows: int, vocabulary: int) -> Prepared:
    x = torch.randn(rows, vocabulary, device="cuda", dtype=torch.bfloat16) * 3
    targets = torch.randint(0, vocabulary, (rows,), device="cuda")
    parts = zip(x.split(512), targets.split(512), strict=True)
    expected = torch.cat(
        [
            torch.nn.functional.cross_entropy(some.float(), of, reduction="none")
            for some, of in parts
        ]
    )

    def peer() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(x, targets, reduction="none")

    call = partial(ours("streams").cross_entropy, x, targets)
    options = ({"parts": 2}, {"parts": 4}, {"parts": 2, "threads": 512}, {"parts": 8})
    candidates = [Candidate("torch", peer), *choices(call, options)]
    return Prepared(expected, candidates, 1e-2)


def _top_k(rows: int, columns: int, k: int) -> Prepared:
    x = torch.randn(rows, columns, device="cuda")
    expected = torch.topk(x, k, dim=1).values
    candidates = [
        Candidate("torch", first(torch.topk, x, k, dim=1)),
        Candidate(OURS, first(ours("streams").top_k, x, k=k, columns=columns), is_ours=True),
    ]
    return Prepared(expected, candidates, 1e-6)


def workloads(tilelang: str | None) -> Iterator[Workload]:
    """All of them; none has a peer in TileLang."""
    copy = (Limit(COPY, OF_A_COPY),)
    for rows, columns in ((65536, 4096), (65536, 8192)):
        moved = rows * columns * 3 + columns * 2 + rows * 4
        prepare = partial(_norm, rows, columns)
        yield Workload("rms norm, fp8", f"{rows} x {columns}", prepare, copy, moved)
    tokens, heads, head = 131072, 32, 128
    moved = 4 * tokens * heads * head + 4 * tokens * head
    prepare = partial(_rotary, tokens, heads, head)
    yield Workload("rotary", f"{tokens} x {heads} x {head}", prepare, copy, moved)
    for rows, vocabulary in ((8192, 128256), (16384, 32000)):
        prepare = partial(_cross_entropy, rows, vocabulary)
        yield Workload(
            "cross entropy", f"{rows} x {vocabulary}", prepare, copy, 2 * rows * vocabulary
        )
    rows, columns, k = 131072, 256, 8
    moved = 4 * rows * columns + 8 * rows * k
    prepare = partial(_top_k, rows, columns, k)
    limits = (Limit("torch", 1.0),)
    yield Workload("top-k", f"{k} of {columns}, {rows} rows", prepare, limits, moved)
