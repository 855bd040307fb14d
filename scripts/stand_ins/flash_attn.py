"""Stands in for the package `flash_attn` where it is not installed: slow, in float32, with torch.

Only what TileLang's examples compare themselves with. `run_tilelang_examples.py` puts this folder
at the end of the path, so an installed package comes first.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch


def flash_attn_varlen_func(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
) -> Any:
    """Attention of packed sequences, (tokens, heads, dim) each; a causal mask ends at the corner.

    Queries that see no key give zero, as the package has it.
    """
    if dropout_p:
        raise ValueError(f"dropout_p={dropout_p}: references are compared without dropout, 0.0")
    scale = 1 / math.sqrt(q.shape[-1]) if softmax_scale is None else softmax_scale
    out = torch.zeros_like(q)
    bounds = zip(
        itertools.pairwise(cu_seqlens_q.tolist()),
        itertools.pairwise(cu_seqlens_k.tolist()),
        strict=True,
    )
    for (q_start, q_end), (k_start, k_end) in bounds:
        out[q_start:q_end] = _one(
            q[q_start:q_end], k[k_start:k_end], v[k_start:k_end], scale, causal
        ).to(q.dtype)
    return out


def _one(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = (each.float().repeat_interleave(groups, dim=1) for each in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), wide_k) * scale
    if causal:
        seen = torch.ones(q.shape[0], k.shape[0], dtype=torch.bool, device=q.device)
        seen = seen.tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~seen, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    return torch.einsum("hqk,khd->qhd", weights, wide_v)
