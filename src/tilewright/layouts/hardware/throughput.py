"""What one multiprocessor of an NVIDIA GPU does in a clock cycle, by architecture: for models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SMEM_BYTES = 128
"""Of shared memory, read in a cycle: 32 banks of 4 bytes (CUDA C++ Programming Guide)."""
MAX_REGISTERS = 255
"""32-bit registers of a thread (CUDA C++ Programming Guide, technical specifications)."""


@dataclass(frozen=True)
class Throughput:
    """Rates of one multiprocessor, and how long an access to memory takes."""

    mma_flops: int
    """Of the tensor cores with operands of 16 bits, dense, in a cycle."""
    l2_bytes: int
    """From the L2 cache in a cycle."""
    latency: int
    """Cycles from a load of global memory to its data."""


THROUGHPUT: Mapping[int, Throughput] = MappingProxyType(
    {
        80: Throughput(2048, 47, 600),
        86: Throughput(1024, 40, 600),
        89: Throughput(1024, 40, 600),
        90: Throughput(4096, 42, 800),
        100: Throughput(8192, 42, 800),
        103: Throughput(8192, 42, 800),
        120: Throughput(1024, 40, 800),
    }
)
"""Tensor cores: white papers of A100, H100, RTX Blackwell and the data sheet of B200, dense peak by
multiprocessors and boost clock. L2: 5120 B a cycle for 108 multiprocessors (A100 white paper), 5.5
TB/s measured on H100 (Chips and Cheese, 2023). Latencies: Luo et al., "Benchmarking and Dissecting
the Nvidia Hopper GPU Architecture" (2024), rounded."""
