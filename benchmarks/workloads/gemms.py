"""GEMMs with scales, groups and patches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.measure import Candidate
from benchmarks.workloads.sources import ours, tilelang
from benchmarks.workloads.workload import OURS, Limit, Prepared, Workload, choices


def _w4a16(m: int, n: int, k: int, directory: str | None) -> Prepared:
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    nibbles = torch.randint(0, 16, (n, k), device="cuda", dtype=torch.uint8)
    scales = (torch.rand(n, k // 128, device="cuda") * 0.02 + 0.01).half()
    packed = nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)
    weights = (nibbles.float() - 8) * scales.float().repeat_interleave(128, 1)
    expected = a.float() @ weights.T
    name, options = _choice(m)
    kernels = ours("weights")
    candidates = [
        Candidate("cuBLAS, 16-bit weights", partial(torch.matmul, a, weights.half().T)),
        *choices(partial(getattr(kernels, name), a, packed, scales), [options]),
    ]

    def in_registers(splits: int, **sizes: int) -> torch.Tensor:
        parts = kernels.w4a16_rows(a, packed, scales, splits=splits, **sizes)
        return parts[0] if splits == 1 else kernels.added(parts)

    candidates += choices(in_registers, _IN_REGISTERS.get(m, ()))
    if directory is not None:
        kernel = getattr(tilelang("weights", directory), name)
        candidates.append(Candidate("TileLang", partial(kernel, a, packed, scales, **options)))
    return Prepared(expected, candidates, 4e-3)


_IN_REGISTERS = {
    16: ({"splits": 2, "block_M": 16}, {"splits": 4, "block_M": 16}),
    64: ({"splits": 2, "block_M": 64}, {"splits": 4, "block_M": 64}),
    256: (
        {"splits": 1, "block_M": 256},
        {"splits": 1, "block_M": 128, "num_stages": 2},
        {"splits": 1, "block_M": 256, "block_N": 128, "num_stages": 2, "threads": 256},
    ),
}


def _choice(m: int) -> tuple[str, dict[str, int]]:
    if m == 1:
        return "w4a16_one", {}
    if m <= 64:  # as many blocks as processors
        return "w4a16", {"block_M": 64, "block_N": 64, "threads": 128}
    return "w4a16", {"block_M": 128}


def _fp8(m: int, n: int, k: int, directory: str | None) -> Prepared:
    a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    a_scales = torch.rand(m, k // 128, device="cuda") + 0.5
    b_scales = torch.rand(n // 128, k // 128, device="cuda") + 0.5
    wide_a = a.float() * a_scales.repeat_interleave(128, 1)
    wide_b = b.float() * b_scales.repeat_interleave(128, 1).repeat_interleave(128, 0)
    expected = wide_a @ wide_b.T

    def peer() -> torch.Tensor:
        return torch._scaled_mm(
            a,
            b.T,
            a_scales.T.contiguous().T,
            b_scales.T,
            out_dtype=torch.bfloat16,
        )

    candidates = [Candidate("torch._scaled_mm", peer)]
    if directory is not None:
        call_tilelang = partial(tilelang("weights", directory).fp8_blocks, a, b, a_scales, b_scales)
        candidates.append(Candidate("TileLang", call_tilelang))
    call_ours = partial(ours("weights").fp8_blocks, a, b, a_scales, b_scales)
    return Prepared(expected, [*candidates, Candidate(OURS, call_ours, is_ours=True)], 4e-2)


_GROUPED = (
    {"block_M": 128, "block_N": 256, "num_stages": 4, "parts": 2, "panel": 8},
    {"block_M": 128, "block_N": 256, "num_stages": 4, "parts": 2, "panel": 2},
    {"block_M": 128, "block_N": 128, "num_stages": 5, "parts": 1, "panel": 8},
    {"block_M": 64, "block_N": 256, "num_stages": 4, "parts": 1, "panel": 4},
)


def _grouped(groups: int, rows: int, n: int, k: int) -> Prepared:
    sizes = torch.randint(0, 2 * rows, (groups,)).tolist()
    kernels = ours("grouped")
    a = torch.randn(sum(sizes), k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(groups, k, n, device="cuda", dtype=torch.bfloat16)
    ends = torch.cumsum(torch.tensor(sizes, device="cuda"), 0).int()
    expected = torch.cat(
        [part.float() @ b[g].float() for g, part in enumerate(a.split(sizes)) if part.shape[0]]
    )
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def multiply(block_M: int, **options: int) -> torch.Tensor:
        tiles = sum(-(-size // block_M) for size in sizes)
        table = kernels.tiles_of(ends, tiles, block_M=block_M)
        return kernels.grouped_gemm(a, b, table, block_M=block_M, processors=processors, **options)

    candidates = [
        Candidate("torch._grouped_mm", lambda: torch._grouped_mm(a, b, offs=ends)),
        *choices(multiply, _GROUPED),
    ]
    return Prepared(expected, candidates, 1e-2)


def _convolution(batch: int, side: int, channels: int, filters: int, stride: int) -> Prepared:
    images = torch.randn(batch, side, side, channels, device="cuda", dtype=torch.float16)
    weights = torch.randn(3, 3, channels, filters, device="cuda", dtype=torch.float16) / 32
    inner = images.permute(0, 3, 1, 2)
    kernel = weights.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    def peer() -> torch.Tensor:
        found = torch.nn.functional.conv2d(inner, kernel, stride=stride, padding=1)
        return found.permute(0, 2, 3, 1)

    call = partial(ours("convolution").convolution, images, weights, stride=stride)
    candidates = [Candidate("cuDNN", peer), *choices(call, _CONVOLUTIONS[stride])]
    return Prepared(peer().float(), candidates, 4e-3)


_CONVOLUTIONS: dict[int, tuple[dict[str, Any], ...]] = {
    1: (
        {"tile": (2, 8, 8)},
        {"tile": (2, 8, 8), "num_stages": 2, "threads": 128},
        {"tile": (4, 8, 8), "num_stages": 3},
    ),
    2: (
        {"tile": (8, 2, 8)},
        {"tile": (4, 2, 16)},
        {"tile": (8, 2, 8), "block_N": 256, "num_stages": 3},
        {"tile": (8, 2, 8), "num_stages": 2, "threads": 128},
    ),
}


def workloads(directory: str | None) -> Iterator[Workload]:
    """Sizes of decoding and prefill."""
    for m in (1, 16, 64, 256):
        n, k = 8192, 8192
        prepare = partial(_w4a16, m, n, k, directory)
        limits = (Limit("TileLang", 1.0),)
        yield Workload("W4A16", f"{m}x{n}x{k}", prepare, limits, flops=2.0 * m * n * k)
    for m, n, k in ((4096, 7168, 2048), (8192, 8192, 8192)):
        prepare = partial(_fp8, m, n, k, directory)
        yield Workload("fp8 blocks", f"{m}x{n}x{k}", prepare, flops=2.0 * m * n * k)
    for groups, rows, n, k in ((8, 1024, 4096, 4096), (64, 128, 2048, 7168)):
        prepare = partial(_grouped, groups, rows, n, k)
        limits = (Limit("torch._grouped_mm", 1.0),)
        shape = f"{groups} groups of {rows}, {n}x{k}"
        yield Workload("grouped", shape, prepare, limits, flops=2.0 * groups * rows * n * k)
    for batch, side, channels, filters, stride in ((32, 56, 128, 128, 1), (32, 28, 256, 512, 2)):
        prepare = partial(_convolution, batch, side, channels, filters, stride)
        out = side // stride
        flops = 2.0 * batch * out * out * 9 * channels * filters
        limits = (Limit("cuDNN", 0.9),)
        shape = f"{batch} x {side}^2 x {channels} -> {filters}, stride {stride}"
        yield Workload("convolution", shape, prepare, limits, flops=flops)
