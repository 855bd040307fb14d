"""The kernels of `examples/tile`, and those of the benchmarks, at the sizes a GPU is given.

Examples run at sizes that a processor can follow. Here the same kernels have the tiles and the
matrices they are written for; each of the entries 1 to 19 of the compatibility suite
has one of the same shape. `fits` are the GPUs whose shared memory is
large enough for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.examples.tile_examples import load
from tilewright.language.T.prim_func import PrimFunc

AMPERE, HOPPER, BLACKWELL = ARCHS = ("sm_80", "sm_90a", "sm_120a")
GEMM, ATTENTION, OTHER = "gemm", "attention", "other"


@dataclass(frozen=True)
class GpuKernel:
    """A kernel, and what it is compiled for."""

    example: str
    """A file of `examples/tile`; nothing for the kernels of the benchmarks."""
    function: str
    arguments: Mapping[str, Any]
    kind: str = GEMM
    entry: int | None = None
    """The entry of the compatibility suite that has this shape."""
    fits: tuple[str, ...] = ARCHS
    variant: str = ""

    @property
    def archs(self) -> tuple[str, ...]:
        """The GPUs to compile for; the benchmarks are those of one."""
        return ARCHS if self.example else (HOPPER,)

    @property
    def label(self) -> str:
        words = (self.example or "benchmarks", self.function, self.variant)
        return ".".join(dict.fromkeys(word for word in words if word))

    def trace(self) -> PrimFunc:
        """Trace it."""
        return self.load().get_tir(**self.arguments)

    def load(self) -> Any:
        """The function; a file of the examples is loaded anew, so nothing is left of the last
        time."""
        if self.example:
            found = load(self.example)
        else:
            import benchmarks.h200.tile_kernels as found
        return getattr(found, self.function)


SQUARE = {"M": 4096, "N": 4096, "K": 4096}
TILE = {"block_M": 128, "block_N": 128, "block_K": 32}
WIDE_TILE = {"block_M": 128, "block_N": 256, "block_K": 64}
ROWS = {"M": 8192, "N": 8192}
HEADS = {"batch": 4, "heads": 32, "context": 4096}
SCORES = {"block_M": 128, "block_N": 128, "threads": 256}
PACKED = {"sequences": 8, "heads": 64, "groups": 16, "queries": 16000, "keys": 16000}
EXPERTS = {"M": 8192, "N": 4096, "K": 4096, "groups": 16, "tiles": 144}
IMAGES = {"N": 128, "H": 64, "W": 64, "C": 128, "window": 3, "F": 128}
BATCH = {"batch": 4, "heads": 32, "length": 4096}

EXAMPLES = (
    GpuKernel("elementwise_add", "add", {**ROWS, "block_N": 256, "threads": 256}, OTHER, entry=1),
    GpuKernel("gemm_relu", "matmul_relu", {**SQUARE, **TILE}, entry=2),
    GpuKernel("gemm", "gemm", {**SQUARE, **WIDE_TILE}, fits=(HOPPER,)),
    GpuKernel("gemm", "gemm", {**SQUARE, **TILE, "num_stages": 3}, entry=3, variant="128x128"),
    GpuKernel("rms_norm", "rms_norm", {**ROWS, "block_M": 1}, OTHER, entry=4),
    GpuKernel("rms_norm", "rms_norm_in_pieces", {**ROWS, "block_N": 512}, OTHER),
    GpuKernel("online_softmax", "softmax", {**ROWS, "block_N": 4096}, OTHER, entry=5),
    GpuKernel("cast_to_fp8", "cast_to_fp8", {**ROWS, "group": 128}, OTHER, entry=6),
    GpuKernel("top_k", "top_k", {"M": 320, "N": 128, "k": 6, "block_M": 64}, OTHER, entry=7),
    GpuKernel("dynamic_shapes", "matmul", {"m": 4096, "n": 4096, "k": 4096, **TILE}, entry=8),
    GpuKernel("gemv", "gemv", {"M": 8192, "K": 8192}, OTHER, entry=9),
    GpuKernel("gemv", "gemv_tiles", {"M": 8192, "K": 8192}, OTHER),
    GpuKernel("split_k", "matmul_split_k", {**SQUARE, **TILE}, entry=10),
    GpuKernel("batched_gemm", "batched_gemm", {"batch": 8, **SQUARE, **TILE}),
    GpuKernel("mlp", "mlp", {**SQUARE, "F": 4096, **TILE}),
    GpuKernel("gemm_fp8", "gemm_fp8", SQUARE, entry=11),
    GpuKernel(
        "persistent_gemm",
        "matmul_persistent",
        {**SQUARE, **WIDE_TILE, "processors": 132, "num_stages": 3},
        fits=(AMPERE, HOPPER),
    ),
    GpuKernel(
        "persistent_gemm",
        "matmul_persistent",
        {**SQUARE, **TILE, "processors": 132, "num_stages": 3},
        entry=12,
        variant="128x128",
    ),
    GpuKernel(
        "persistent_gemm",
        "matmul_persistent",
        {**SQUARE, **WIDE_TILE, "processors": 132, "num_stages": 4, "parts": 2},
        fits=(HOPPER,),
        variant="parts",
    ),
    GpuKernel(
        "autotuned_gemm", "matmul", {**SQUARE, **TILE, "num_stages": 3, "threads": 256}, entry=13
    ),
    GpuKernel("convolution", "convolution", IMAGES, entry=14),
    GpuKernel("block_sparse_gemm", "block_sparse_gemm", SQUARE, entry=15),
    GpuKernel("grouped_gemm", "grouped_gemm", EXPERTS, entry=16),
    GpuKernel("stream_k", "stream_k", SQUARE, entry=17),
    GpuKernel(
        "attention",
        "attention",
        {**HEADS, "dim": 64, "is_causal": True, **SCORES},
        ATTENTION,
        entry=18,
    ),
    GpuKernel(
        "attention_varlen",
        "attention_varlen",
        {**PACKED, "dim": 64, "is_causal": True},
        ATTENTION,
        entry=19,
    ),
    GpuKernel("attention_backward", "row_products", {**HEADS, "dim": 64}, OTHER),
    GpuKernel(
        "attention_backward",
        "gradients",
        {**HEADS, "dim": 64, "is_causal": True, "block_M": 32, "block_N": 64},
        ATTENTION,
    ),
    GpuKernel("dequant_gemm", "matmul_int4", {**SQUARE, **TILE}),
    GpuKernel(
        "linear_attention",
        "linear_attention",
        {"B": 4, "S": 4096, "H": 32, "D": 64, "chunk": 64, "block_V": 32},
        ATTENTION,
    ),
)

BENCHMARKS = (
    GpuKernel("", "gemm_fp8", SQUARE),
    GpuKernel("", "attention", BATCH, ATTENTION),
    GpuKernel("", "attention", {**BATCH, "causal": True}, ATTENTION, variant="causal"),
    GpuKernel("", "add", ROWS, OTHER),
    GpuKernel("", "rms_norm", {"M": 8192}, OTHER),
    GpuKernel("", "softmax", {"M": 8192}, OTHER),
)
KERNELS = {each.label: each for each in (*EXAMPLES, *BENCHMARKS)}
