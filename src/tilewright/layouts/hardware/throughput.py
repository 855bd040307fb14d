"""What one multiprocessor of an NVIDIA GPU does in a clock cycle, by architecture.

The model that orders configurations before they are measured (`runtime.tile.config_model`) compares
times of one GPU with each other, so ratios matter, not digits.
"""

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
"""Which of these are public figures.

Tensor cores: the dense peak of operands of 16 bits divided by multiprocessors and clock, which is
a power of two (`tests/layouts/test_throughput.py` has the division):

    A100 SXM           312 TFLOPS    108    1.41 GHz    2048    data sheet
    RTX A6000          154.8          84    1.80        1024    data sheet
    RTX 6000 Ada       364.2         142    2.505       1024    data sheet
    H100 SXM           989.4         132    1.83        4096    white paper
    B200              2250           148    1.86        8192    data sheet; clock of tensor cores
    RTX 5090           419           170    2.407       1024    white paper

The GeForce cards of 86, 89 and 120 accumulate in 32 bits at half that rate; B300 (103) is taken to
have B200's.

L2: A100's 5120 bytes a cycle for 108 multiprocessors (NVIDIA A100 white paper) are 47. NVIDIA has
not published the others. 42 is about the same 5120 bytes for H100's 114 (45) to 132 (39)
multiprocessors, which is an upper bound: 5.5 TB/s measured on an H100 PCIe at 1.40 to 1.755 GHz
(Chips and Cheese, July 2023) are 27 to 35. 40 and the values of Blackwell are assumptions.

Latencies are not published figures but assumptions for a memory system under load; a lone load
takes less.
"""
