"""The same plain kernel through both compilers: how fast the code is, and what a launch costs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch

from benchmarks.h200.attention import plain_attention
from benchmarks.h200.measure import Candidate, Row, check, measure
from benchmarks.h200.peers import ROOT, our_kernels, triton_kernels

TRITON, OURS = "Triton", "ours"
LAUNCHES = 300
"""In a row, without waiting: fewer than the queue of a stream holds."""


def _softmax(module: ModuleType) -> tuple[str, float, Callable[[], torch.Tensor]]:
    x = _random(8192, 8192)
    out = torch.empty_like(x)

    def call() -> torch.Tensor:
        module.softmax_kernel[(8192,)](x, out, 8192, BLOCK=8192, num_warps=8)
        return out

    return "softmax of 8192 rows of 8192", 5.0 * x.numel(), call


def _matmul(module: ModuleType) -> tuple[str, float, Callable[[], torch.Tensor]]:
    size = 4096
    a, b = _random(size, size), _random(size, size)
    out = torch.empty_like(a)

    def call() -> torch.Tensor:
        module.matmul_kernel[(size // 128 * (size // 256),)](
            a, b, out, size, size, size,
            BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3,
        )  # fmt: skip
        return out

    return "matmul by pointers, 4096 cubed", 2.0 * size**3, call


def _attention(module: ModuleType) -> tuple[str, float, Callable[[], torch.Tensor]]:
    shape = (4, 16, 4096, 128)
    q, k, v = (_random(*shape) for _ in range(3))
    out = torch.empty_like(q)
    work = 2.0 * 4 * 16 * 4096 * 4096 * 128
    call = partial(plain_attention, q, k, v, out, True, ((128, 64), 8, 3), module)
    return "attention by descriptors, causal", work, call


CASES = (_softmax, _matmul, _attention)


def _random(*shape: int) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(0)
    return torch.randn(shape, device="cuda", generator=generator).half()


def run(rounds: int) -> list[Row]:
    """Both compilers on every case; the results must be the same up to rounding."""
    rows: list[Row] = []
    for case in CASES:
        name, work, peer = case(triton_kernels())
        row = Row("plain", name, work)
        candidates = [
            Candidate(TRITON, peer),
            Candidate(OURS, case(our_kernels())[2], is_ours=True),
        ]
        wanted = peer().float().clone()
        measure(row, check(row, candidates, wanted, 1e-3), rounds)
        rows.append(row)
    return rows


# -- launches -----------------------------------------------------------------------------------


def launch_microseconds(rounds: int) -> dict[str, float]:
    """What the host pays for one launch of a small kernel."""
    x, y = (torch.randn(1024, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    kernels = {TRITON: triton_kernels().add_kernel, OURS: our_kernels().add_kernel}
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(rounds + 1):
        for name, kernel in kernels.items():
            times[name].append(_launch_time(kernel, x, y, out))
    assert torch.equal(out, x + y)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def _launch_time(kernel: Any, x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> float:
    grid = (8,)
    kernel[grid](x, y, out, 1024, BLOCK=128)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        kernel[grid](x, y, out, 1024, BLOCK=128)
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return elapsed / LAUNCHES * 1e6


_START = """
import json, sys, time
import torch
sys.path.insert(0, {root!r})
from benchmarks.h200.peers import example
import tilewright as tw
module = example("hopper_gemm_persistent")
a = torch.randn((512, 512), device="cuda").half()
torch.cuda.synchronize()
first = time.perf_counter()
module.gemm(a, a)
torch.cuda.synchronize()
second = time.perf_counter()
module.gemm(a, a)
torch.cuda.synchronize()
print(json.dumps([(second - first) * 1e3, (time.perf_counter() - second) * 1e3]))
"""


def start_milliseconds() -> dict[str, float]:
    """The first call of the persistent GEMM in a new process, without and with the disk cache."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="start-") as folder:
        # Byte code is kept too, as it is of an installed package.
        places = ("TILEWRIGHT_CACHE_DIR", "TRITON_CACHE_DIR", "PYTHONPYCACHEPREFIX")
        environment = {**os.environ, **dict.fromkeys(places, folder)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in ("cold", "warm", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", _START.format(root=str(ROOT))],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            found[name] = json.loads(done.stdout.splitlines()[-1])[0]
    return found
