"""Attention beyond the forward pass of plain heads: backward, sliding window with sinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.h200.measure import Candidate, relative_error
from benchmarks.workloads.sources import ours, tilelang
from benchmarks.workloads.workload import OURS, Limit, Prepared, Workload, choices

_TOLERANCE = 1e-2
_BACKWARD: Mapping[bool, Sequence[Mapping[str, Any]]] = {
    False: (
        *({"together": each} for each in (1, 2, 4, 8, 16)),
        *({"together": each, "early": False} for each in (1, 4)),
    ),
    True: ({"together": 8}, {"together": 16}, {"together": 1}, {"together": 8, "early": False}),
}
"""Configurations, by whether there is a mask: blocks of so many heads run at a time."""


def _window(heads: int, kv_heads: int, length: int, window: int, directory: str | None) -> Prepared:
    q = torch.randn(1, heads, length, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (
        torch.randn(1, kv_heads, length, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2)
    )
    sinks = torch.randn(heads, device="cuda")
    expected = torch.empty(q.shape, device="cuda")
    position = torch.arange(length, device="cuda")
    distance = position[:, None] - position
    mask = (distance >= 0) & (distance < window)
    for head in range(heads):
        key, value = (each[0, head * kv_heads // heads].float() for each in (k, v))
        scores = (q[0, head].float() @ key.T * 128**-0.5).masked_fill(~mask, float("-inf"))
        scores = torch.cat([scores, sinks[head].expand(length, 1)], 1)
        expected[0, head] = torch.softmax(scores, 1)[:, :-1] @ value
    given = (q, k, v, sinks)
    call_ours = partial(ours("attention").window_attention, *given, window=window)
    candidates = [Candidate(OURS, call_ours, is_ours=True)]
    if directory is not None:
        kernel = tilelang("attention", directory).window_attention
        candidates.insert(0, Candidate("TileLang", partial(kernel, *given, window=window)))
    return Prepared(expected, candidates, 1e-2)


def _backward(batch: int, heads: int, kv_heads: int, length: int, is_causal: bool) -> Prepared:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v, do = (
        torch.randn(batch, length, each, 128, device="cuda", dtype=torch.bfloat16)
        for each in (heads, kv_heads, kv_heads, heads)
    )
    leaves = [each.transpose(1, 2).detach().requires_grad_() for each in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(
            *leaves, is_causal=is_causal, enable_gqa=heads != kv_heads
        )
    upstream = do.transpose(1, 2)

    def peer() -> torch.Tensor:
        found = torch.autograd.grad(out, leaves, upstream, retain_graph=True)
        return found[1].transpose(1, 2)

    logs = torch.empty(batch, heads, length, device="cuda")
    group = heads // kv_heads
    for b in range(batch):
        for head in range(heads):
            scores = (q[b, :, head].float() @ k[b, :, head // group].float().T) * 128**-0.5
            if is_causal:
                hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(hidden, float("-inf"))
            logs[b, head] = torch.logsumexp(scores, 1) * 1.44269504
    kernels = ours("backward")
    o = out.detach().transpose(1, 2).contiguous()
    dq = torch.empty(q.shape, device="cuda")  # a whole number of tiles

    def gradients(**options: Any) -> list[torch.Tensor]:
        rows = kernels.row_statistics(o, do, logs, dq)
        dk, dv = kernels.gradients(q, k, v, do, rows, dq, is_causal=is_causal, **options)
        return [kernels.scaled(dq, length, 128**-0.5), dk, dv]

    expected = [each.transpose(1, 2) for each in torch.autograd.grad(out, leaves, upstream, True)]
    for options in _BACKWARD[is_causal]:
        for found, reference in zip(gradients(**options), expected, strict=True):
            error = relative_error(found.float(), reference.float())
            assert error < _TOLERANCE, f"a gradient is wrong: {options}"
    candidates = [
        Candidate("cuDNN", peer),
        *choices(lambda **options: gradients(**options)[1], _BACKWARD[is_causal]),
    ]
    return Prepared(expected[1].float(), candidates, _TOLERANCE)


def workloads(directory: str | None) -> Iterator[Workload]:
    """Sizes of training and prefill."""
    for heads, kv_heads, length, window in ((64, 8, 8192, 128), (64, 8, 16384, 4096)):
        prepare = partial(_window, heads, kv_heads, length, window, directory)
        flops = 4.0 * heads * length * min(window, length) * 128
        shape = f"h{heads}/{kv_heads} {length}, window {window}"
        limits = (Limit("TileLang", 1.0),)
        yield Workload("sliding window, sinks", shape, prepare, limits, flops=flops)
    for batch, heads, kv_heads, length, is_causal in (
        (4, 16, 16, 4096, False),
        (4, 16, 16, 4096, True),
        (2, 32, 8, 4096, True),
    ):
        prepare = partial(_backward, batch, heads, kv_heads, length, is_causal)
        flops = 10.0 * batch * heads * length * length * 128 / (2 if is_causal else 1)
        kind = " causal" if is_causal else ""
        shape = f"b{batch} h{heads}/{kv_heads} s{length} d128{kind}"
        limits = (Limit("cuDNN", 1.0),)
        yield Workload("attention backward", shape, prepare, limits, flops=flops)
