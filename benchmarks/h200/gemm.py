"""Products of matrices: cuBLAS, Triton's pipelines, and ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from benchmarks.h200.measure import Candidate, Row, check, measure
from benchmarks.h200.peers import descriptor, example, triton_kernels

SHAPES = (
    (8192, 8192, 8192),
    (4096, 4096, 4096),
    (16384, 8192, 1024),
    (2048, 2048, 16384),
    (512, 8192, 8192),
)
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
CUBLAS, TRITON, OURS, UNALIASED = "cuBLAS", "Triton", "ours", "ours, unaliased"
VARIANTS = {
    "ours, ping-pong": "hopper_gemm_pingpong",
    "ours, warp-specialised": "hopper_gemm_ws",
    "ours, pipelined": "hopper_gemm_pipelined",
}
TRITON_CONFIGS = (
    ((128, 256, 64), 8, 3),
    ((128, 128, 64), 8, 4),
    ((128, 128, 64), 4, 4),
)
"""Block, warps, stages: the fastest one for a shape is taken."""
ERROR = 4e-3


def triton_matmul(
    a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, config: Any, programs: int
) -> torch.Tensor:
    """Triton's compiler on the persistent kernel with descriptors."""
    (BM, BN, BK), warps, stages = config
    module = triton_kernels()
    (M, K), N = a.shape, b.shape[1]
    tiles = -(-M // BM) * -(-N // BN)
    module.matmul_tma_kernel[(min(programs, tiles),)](
        descriptor(module, a, [BM, BK]),
        descriptor(module, b, [BK, BN]),
        descriptor(module, out, [BM, BN]),
        M, N, K, BM=BM, BN=BN, BK=BK, GROUP=8, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def best_triton(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> Callable[[], torch.Tensor]:
    """The fastest configuration, by a short measurement."""
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    row = Row("gemm", "configs", 1.0)
    calls = {
        str(config): partial(triton_matmul, a, b, out, config, programs)
        for config in TRITON_CONFIGS
    }
    wanted = a @ b
    candidates = [Candidate(name, call) for name, call in calls.items()]
    right = check(row, candidates, wanted, ERROR)
    if not right:
        raise RuntimeError(f"no configuration of Triton is right: {row.failures}")
    measure(row, right, 5)
    return calls[min(row.milliseconds, key=lambda name: row.milliseconds[name])]


def candidates_for(
    a: torch.Tensor, b: torch.Tensor, failures: dict[str, str], *, all_variants: bool
) -> list[Candidate]:
    out = a.new_empty((a.shape[0], b.shape[1]))
    persistent = example("hopper_gemm_persistent")

    ours = {
        OURS: partial(persistent.gemm, a, b, out=out),
        UNALIASED: partial(persistent.gemm, a, b, persistent.UNALIASED, out=out),
    }
    if all_variants:
        for name, file in VARIANTS.items():
            ours[name] = partial(example(file).gemm, a, b, out=out)
    found = [Candidate(CUBLAS, partial(torch.matmul, a, b, out=out))]
    try:
        found.append(Candidate(TRITON, best_triton(a, b, out)))
    except Exception as problem:
        failures[TRITON] = str(problem)
    found += [Candidate(name, call, is_ours=True) for name, call in ours.items()]
    return found


def poison(out: torch.Tensor, call: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
    """A call that has to write every element."""

    def poisoned() -> torch.Tensor:
        out.fill_(float("nan"))
        return call()

    return poisoned


def run(shape: tuple[int, int, int], name: str, rounds: int, *, all_variants: bool) -> Row:
    """One shape in one element type."""
    M, N, K = shape
    row = Row("gemm", f"{M} x {N} x {K} {name}", 2.0 * M * N * K)
    a = torch.randn((M, K), device="cuda").to(DTYPES[name])
    b = torch.randn((K, N), device="cuda").to(DTYPES[name])
    wanted = a.double() @ b.double()
    candidates = candidates_for(a, b, row.failures, all_variants=all_variants)
    out = candidates[0].call()
    checked = [Candidate(each.name, poison(out, each.call)) for each in candidates]
    right = {each.name for each in check(row, checked, wanted, ERROR)}
    del wanted
    measure(row, [each for each in candidates if each.name in right], rounds)
    return row
