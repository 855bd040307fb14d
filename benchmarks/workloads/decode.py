"""Attention of one new query per sequence: grouped heads, pages, MLA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.measure import Candidate
from benchmarks.workloads.sources import ours, tilelang
from benchmarks.workloads.workload import COPY, OURS, Limit, Prepared, Workload, choices

OF_A_COPY = 0.85
TENSOR_CORES, OF_TENSOR_CORES = 790e12, 0.80
"""Operations a second of large GEMMs on an H200, and the part of it that MLA has to reach."""
_TOLERANCE = 1e-2


def _splits(blocks_without: int, key_blocks: int, waves: float = 2) -> int:
    """So many parts of the keys that blocks fill the processors `waves` times."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    return max(1, min(key_blocks, int(waves * processors) // blocks_without))


_TILES_OF_KEYS = (
    *((64, 2, 2), (64, 3, 2), (64, 2, 4), (64, 4, 1), (64, 6, 1)),
    *((128, 2, 1), (128, 3, 1), (128, 2, 2)),
)
"""Keys of a tile, stages, and blocks for a processor."""


def _splittings(blocks_without: int, length: int) -> list[dict[str, int]]:
    """Numbers of parts and tiles of keys worth a try: one, two or four blocks a processor."""
    found: list[dict[str, int]] = []
    for block_N, stages, waves in _TILES_OF_KEYS:
        splits = _splits(blocks_without, -(-length // block_N), waves)
        each = {"splits": splits, "block_N": block_N, "num_stages": stages}
        found += [each] if each not in found else []
    return found


def _attend(
    modules: Any, q: Any, k: Any, v: Any, splits: int, block_N: int = 64, num_stages: int = 2
) -> torch.Tensor:
    dim = q.shape[-1]
    parts, logs = modules.decode_parts(
        q, k, v, splits=splits, dim=dim, block_N=block_N, num_stages=num_stages
    )
    if splits == 1:
        return parts[:, :, 0].to(q.dtype)
    return modules.combine(parts, logs, splits=splits, dim=dim, **_pieces(q, splits))


_TILES_AT_ONCE = ((64, 3, 2), (64, 2, 2), (64, 4, 1), (128, 2, 1), (128, 3, 1))


def _together(blocks_without: int, length: int) -> list[dict[str, int]]:
    """Configurations of one kernel whose blocks all run at the same time, and combine."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    found: list[dict[str, int]] = []
    for block_N, stages, waves in _TILES_AT_ONCE:
        splits = _splits(blocks_without, -(-length // block_N), waves)
        if splits == 1 or blocks_without * splits > waves * processors:
            continue
        columns = 32 if splits <= 32 else 16
        found.append(
            {"splits": splits, "block_N": block_N, "num_stages": stages, "columns": columns}
        )
    return found


def _pieces(q: Any, splits: int) -> dict[str, int]:
    """Blocks of the second kernel: at least as many as processors, with as few rounds of loads."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    if q.shape[0] * q.shape[1] >= processors:
        return {}
    return {"columns": 32, "chunk": 32 if splits <= 32 else 64 if splits <= 64 else 128}


def _grouped(batch: int, heads: int, kv_heads: int, length: int, directory: str | None) -> Prepared:
    q = torch.randn(batch, heads, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (
        torch.randn(batch, length, kv_heads, 128, device="cuda", dtype=torch.bfloat16)
        for _ in range(2)
    )

    def peer() -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(
            q[:, :, None], k.transpose(1, 2), v.transpose(1, 2), enable_gqa=True
        )[:, :, 0]

    group = heads // kv_heads
    wide = k.float().repeat_interleave(group, 2), v.float().repeat_interleave(group, 2)
    scores = torch.einsum("bhd,blhd->bhl", q.float(), wide[0]) * 128**-0.5
    expected = torch.einsum("bhl,blhd->bhd", torch.softmax(scores, -1), wide[1])
    splits = _splits(batch * kv_heads, -(-length // 128))
    candidates = [Candidate("torch", peer)]
    if directory is not None:
        call_tilelang = partial(_attend, tilelang("decode", directory), q, k, v, splits)
        candidates.append(Candidate("TileLang", call_tilelang))
    call = partial(_attend, ours("decode"), q, k, v)
    candidates += choices(call, _splittings(batch * kv_heads, length))
    at_once = partial(ours("decode").decode_at_once, q, k, v)
    candidates += choices(at_once, _together(batch * kv_heads, length))
    return Prepared(expected, candidates, _TOLERANCE)


def _paged(batch: int, heads: int, kv_heads: int, length: int, page: int) -> Prepared:
    q = torch.randn(batch, heads, 128, device="cuda", dtype=torch.bfloat16)
    longest = -(-length // page)
    pages = batch * longest
    k, v = (
        torch.randn(pages, page, kv_heads, 128, device="cuda", dtype=torch.bfloat16)
        for _ in range(2)
    )
    tables = torch.randperm(pages, device="cuda").int().reshape(batch, longest)
    lengths = torch.linspace(length // 2, length, batch)[torch.randperm(batch)].int().cuda()
    splits = _splits(batch * kv_heads, longest)
    expected = torch.empty(batch, heads, 128, device="cuda")
    group = heads // kv_heads
    for b, count in enumerate(lengths.tolist()):
        key, value = (
            each[tables[b]].reshape(-1, kv_heads, 128)[:count].float().repeat_interleave(group, 1)
            for each in (k, v)
        )
        weights = torch.softmax(torch.einsum("hd,lhd->hl", q[b].float(), key) * 128**-0.5, -1)
        expected[b] = torch.einsum("hl,lhd->hd", weights, value)

    def attend(splits: int) -> torch.Tensor:
        kernels = ours("decode")
        parts, logs = kernels.paged_parts(q, k, v, tables, lengths, splits=splits)
        return kernels.combine(parts, logs, splits=splits)

    def gathered() -> torch.Tensor:
        key, value = (each[tables].view(batch, -1, kv_heads, 128) for each in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(
            q[:, :, None], key.transpose(1, 2), value.transpose(1, 2), mask, enable_gqa=True
        )[:, :, 0]

    mask = (torch.arange(longest * page, device="cuda") < lengths[:, None])[:, None, None]
    options = [{"splits": each} for each in dict.fromkeys((splits, 2 * splits, 4 * splits))]
    candidates = [Candidate("torch, gathered", gathered), *choices(attend, options)]
    return Prepared(expected, candidates, _TOLERANCE)


def _mla(modules: Any, combined: Any, given: Any, splits: int) -> torch.Tensor:
    parts, logs = modules.mla_parts(*given, splits=splits)
    if splits == 1:
        return parts[:, :, 0]
    return combined.combine(parts, logs, splits=splits, dim=512)


def _latent(batch: int, heads: int, length: int, directory: str | None) -> Prepared:
    shapes = ((batch, heads, 512), (batch, heads, 64), (batch, length, 512), (batch, length, 64))
    given = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]
    q, q_rope, latent, k_rope = (each.float() for each in given)
    scores = torch.einsum("bhd,bld->bhl", q, latent) + torch.einsum("bhd,bld->bhl", q_rope, k_rope)
    expected = torch.einsum("bhl,bld->bhd", torch.softmax(scores * 576**-0.5, -1), latent)
    splits = max(1, _splits(batch * heads // 64, -(-length // 64)) // 2)
    call_ours = partial(_mla, ours("attention"), ours("decode"), given, splits)
    candidates = [Candidate(OURS, call_ours, is_ours=True)]
    if directory is not None:
        modules = tilelang("attention", directory), tilelang("decode", directory)
        candidates.insert(0, Candidate("TileLang", partial(_mla, *modules, given, splits)))
    return Prepared(expected, candidates, _TOLERANCE)


def workloads(directory: str | None) -> Iterator[Workload]:
    """Batches of 1 to 64; at small ones the second kernel counts."""
    limits = Limit(COPY, OF_A_COPY), Limit("TileLang", 1.0)
    for batch, heads, kv_heads, length in (
        (1, 64, 8, 32768),
        (8, 64, 8, 8192),
        (64, 32, 8, 4096),
        (1, 32, 2, 131072),
    ):
        shape = f"b{batch} h{heads}/{kv_heads} {length} keys"
        prepare = partial(_grouped, batch, heads, kv_heads, length, directory)
        moved = 4 * batch * kv_heads * length * 128
        yield Workload("decode", shape, prepare, limits, moved)
    for batch, length, page in ((32, 8192, 64), (128, 2048, 64)):
        prepare = partial(_paged, batch, 64, 8, length, page)
        limits_of_pages = (Limit(COPY, OF_A_COPY), Limit("torch, gathered", 1.0))
        moved = 4 * batch * 8 * (length * 3 // 4) * 128  # lengths are half to all of it
        shape = f"b{batch} h64/8 {length} keys"
        yield Workload("decode, paged", shape, prepare, limits_of_pages, moved)
    for batch, length in ((32, 8192), (128, 4096)):
        prepare = partial(_latent, batch, 128, length, directory)
        flops = 2.0 * batch * 128 * length * (512 + 64 + 512)
        limits_of_mla = (Limit("TileLang", 1.0),)
        shape = f"b{batch} h128 {length} keys"
        yield Workload(
            "decode, MLA",
            shape,
            prepare,
            limits_of_mla,
            flops=flops,
            least_rate=OF_TENSOR_CORES * TENSOR_CORES,
        )
