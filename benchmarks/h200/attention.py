"""Attention, forward: cuDNN's and flash attention behind torch, Triton's pipelines, and ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.h200.gemm import poison
from benchmarks.h200.measure import Candidate, Row, check, measure
from benchmarks.h200.peers import descriptor, example, triton_kernels

SHAPES = ((4, 32, 4096, 128), (2, 16, 16384, 128), (4, 32, 4096, 64))
CUDNN, FLASH, TRITON, OURS = "cuDNN", "flash", "Triton", "ours"
VARIANTS = {
    "ours, tile per program": "hopper_attention_pipelined",
    "ours, warp-specialised": "hopper_attention_ws",
}
BACKENDS = {CUDNN: SDPBackend.CUDNN_ATTENTION, FLASH: SDPBackend.FLASH_ATTENTION}
TRITON_CONFIGS = (
    ((128, 128), 8, 2),
    ((128, 64), 8, 3),
    ((128, 128), 8, 3),
    ((64, 128), 4, 2),
    ((64, 64), 4, 3),
)
"""Rows of queries and keys, warps, stages: the fastest one for a shape is taken."""
LOG2_E = 1.4426950408889634
ERROR = 4e-3
CHUNK = 1 << 30
"""Scores that the reference holds at once."""


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """In float32, a few heads at a time, without the shortcuts of the tensor cores."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    context, head = q.shape[-2:]
    flat = [each.reshape(-1, context, head) for each in (q, k, v)]
    out = torch.empty(flat[0].shape, device=q.device, dtype=torch.float32)
    step = max(CHUNK // (context * context), 1)
    mask = torch.ones((context, context), device=q.device, dtype=torch.bool).triu(1)
    for first in range(0, len(out), step):
        part = [each[first : first + step].float() for each in flat]
        scores = part[0] @ part[1].transpose(-1, -2) / math.sqrt(head)
        if causal:
            scores.masked_fill_(mask, -float("inf"))
        out[first : first + step] = torch.softmax(scores, -1) @ part[2]
        del scores
    torch.backends.cuda.matmul.allow_tf32 = before
    return out.reshape(q.shape)


def torch_attention(
    backend: SDPBackend, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> torch.Tensor:
    with sdpa_kernel([backend]):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


def plain_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    causal: bool,
    config: Any,
    module: ModuleType | None = None,
) -> torch.Tensor:
    """The plain kernel, by Triton unless another module says otherwise."""
    (BM, BN), warps, stages = config
    module = module or triton_kernels()
    context, head = q.shape[-2:]
    flat = [each.reshape(-1, head) for each in (q, k, v, out)]
    descriptors = [
        descriptor(module, each, [rows, head])
        for each, rows in zip(flat, (BM, BN, BN, BM), strict=True)
    ]
    module.attention_kernel[(context // BM, len(flat[0]) // context)](
        *descriptors, LOG2_E / math.sqrt(head), context,
        HEAD=head, BM=BM, BN=BN, CAUSAL=causal, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def best_triton(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, causal: bool
) -> Callable[[], torch.Tensor]:
    """The fastest configuration, by a short measurement."""
    row = Row("attention", "configs", 1.0)
    calls = {
        str(config): partial(plain_attention, q, k, v, out, causal, config)
        for config in TRITON_CONFIGS
    }
    wanted = torch_attention(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
    candidates = [Candidate(name, call) for name, call in calls.items()]
    right = check(row, candidates, wanted, ERROR)
    if not right:
        raise RuntimeError(f"no configuration of Triton is right: {row.failures}")
    measure(row, right, 3)
    return calls[min(row.milliseconds, key=lambda name: row.milliseconds[name])]


def run(shape: tuple[int, int, int, int], causal: bool, rounds: int, *, all_variants: bool) -> Row:
    """One shape, with or without the mask."""
    batch, heads, context, head = shape
    words = f"b{batch} h{heads} s{context} d{head}{' causal' if causal else ''}"
    work = 4.0 * batch * heads * context * context * head * (0.5 if causal else 1.0)
    row = Row("attention", words, work)
    q, k, v = (torch.randn(shape, device="cuda").half() for _ in range(3))
    out = torch.empty_like(q)
    candidates = [
        Candidate(name, partial(torch_attention, backend, q, k, v, causal))
        for name, backend in BACKENDS.items()
    ]
    try:
        candidates.append(Candidate(TRITON, best_triton(q, k, v, out, causal)))
    except Exception as problem:
        row.failures[TRITON] = str(problem)
    files = {OURS: "hopper_attention_persistent", **(VARIANTS if all_variants else {})}
    candidates += [
        Candidate(name, partial(example(file).attention, q, k, v, causal, out=out), is_ours=True)
        for name, file in files.items()
    ]
    wanted = reference(q, k, v, causal=causal)
    checked = [Candidate(each.name, poison(out, each.call)) for each in candidates]
    right = {each.name for each in check(row, checked, wanted, ERROR)}
    del wanted
    measure(row, [each for each in candidates if each.name in right], rounds)
    return row
