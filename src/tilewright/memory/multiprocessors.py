"""What the blocks that run on one multiprocessor of an NVIDIA GPU share, by architecture.

The numbers of an architecture are the same for all its chips, but for the number of
multiprocessors: that is the data-centre chip's, or the largest one's where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

REGISTERS = 65536
"""CUDA C++ Programming Guide, technical specifications: 32-bit registers per multiprocessor."""
REGISTER_STEP = 8
"""Registers of a thread are allocated in eights (CUDA occupancy calculator)."""
PARTITIONS = 4
"""Parts of a multiprocessor, each with a quarter of its registers for whole warps."""
RESERVED_SMEM_BYTES = 1024
"""Shared memory that the system takes of each block, from compute capability 8.0 on."""
_KIB = 1024


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one multiprocessor, and how many of them a GPU has."""

    smem_bytes: int
    threads: int
    blocks: int
    count: int
    tmem_columns: int = 0

    def blocks_of(self, threads: int, smem_bytes: int, tmem_columns: int = 0) -> int:
        """Blocks that fit by their threads, shared and tensor memory, whatever their registers."""
        limits = [
            self.blocks,
            self.threads // threads,
            self.smem_bytes // (smem_bytes + RESERVED_SMEM_BYTES),
        ]
        if tmem_columns:
            limits.append(self.tmem_columns // tmem_columns)
        return max(1, min(limits))


MULTIPROCESSORS: Mapping[int, Multiprocessor] = MappingProxyType(
    {
        80: Multiprocessor(164 * _KIB, 2048, 32, 108),
        86: Multiprocessor(100 * _KIB, 1536, 16, 84),
        89: Multiprocessor(100 * _KIB, 1536, 24, 142),
        90: Multiprocessor(228 * _KIB, 2048, 32, 132),
        100: Multiprocessor(228 * _KIB, 2048, 32, 148, 512),
        103: Multiprocessor(228 * _KIB, 2048, 32, 148, 512),
        120: Multiprocessor(100 * _KIB, 1536, 24, 170),
    }
)
"""CUDA C++ Programming Guide, technical specifications per compute capability; the counts are of
A100, RTX 3090 Ti, L40S, H100, B200, B200, RTX 5090 (their data sheets). Columns of tensor memory:
PTX ISA, section "Tensor Memory"."""
