"""The layouts that Triton's IR names, each as a value that becomes a linear layout for a shape.

========================  ===========================================================
``Blocked``               threads in tiles, the layout of ordinary loads and stores
``NvidiaMma``             accumulators of ``mma.sync`` (version 2) and ``wgmma`` (3)
``DotOperand``            operands of those instructions, held in registers
``Linear``                any layout over bits, given by its bases
``Slice``                 a layout with one dimension taken away, as after a reduction
``NvmmaShared``           shared memory as TMA writes it and ``wgmma`` reads it
``SwizzledShared``        shared memory with columns exchanged row by row
``TensorMemory``          the 128 lanes and 512 columns next to Blackwell's tensor cores
========================  ===========================================================

Triton defines what each one means; tests compare with the installed release, 3.9. Differences of
releases since 3.6 are noted in the modules.
"""

from tilewright.layouts.encodings.blocked import Blocked, Encoding, blocked_for
from tilewright.layouts.encodings.dot_operand import DotOperand
from tilewright.layouts.encodings.linear_encoding import Linear
from tilewright.layouts.encodings.nvidia_mma import NvidiaMma
from tilewright.layouts.encodings.nvmma_shared import NvmmaShared, default_nvmma_shared
from tilewright.layouts.encodings.slice import Slice
from tilewright.layouts.encodings.swizzled_shared import SwizzledShared
from tilewright.layouts.encodings.tensor_memory import TensorMemory, TensorMemoryScales
from tilewright.layouts.encodings.tensor_memory_access import TMEM_ATOMS, tensor_memory_registers

__all__ = [
    "TMEM_ATOMS",
    "Blocked",
    "DotOperand",
    "Encoding",
    "Linear",
    "NvidiaMma",
    "NvmmaShared",
    "Slice",
    "SwizzledShared",
    "TensorMemory",
    "TensorMemoryScales",
    "blocked_for",
    "default_nvmma_shared",
    "tensor_memory_registers",
]
