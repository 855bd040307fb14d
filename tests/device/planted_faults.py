"""Kernels with one fault each, run as a script under compute-sanitizer: it must see our kernels.

``python planted_faults.py race`` reads what other threads of the block write, with no barrier
between; ``python planted_faults.py bounds`` writes far behind the end of a tensor, with no guard.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

import tilewright as tw
from tilewright import T

SIZE = 256
STEP = 8192
"""Times 256 elements of 4 bytes: beyond any memory that torch keeps beside a small tensor."""


@T.prim_func
def reversed_in_shared(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1, threads=SIZE):
        held = T.alloc_shared((SIZE,), "float32")
        for i in T.Parallel(SIZE):
            held[i] = A[i]
        for i in T.Parallel(SIZE):
            B[i] = held[SIZE - 1 - i]


@T.prim_func
def far_behind(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            B[i * STEP] = A[i]


FAULTS: dict[str, tuple[Any, str]] = {
    "race": (reversed_in_shared, "tl.disable_thread_storage_sync"),
    "bounds": (far_behind, "tl.disable_safe_memory_legalize"),
}
"""The kernel, and the setting that lets its fault through."""


def compiled(name: str) -> Any:
    """The kernel for a GPU, with its fault."""
    kernel, setting = FAULTS[name]
    return tw.compile(kernel, target="cuda", pass_configs={setting: True})


def main(name: str) -> None:
    source = torch.arange(SIZE, device="cuda", dtype=torch.float32)
    compiled(name)(source, torch.full_like(source, float("nan")))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1])
