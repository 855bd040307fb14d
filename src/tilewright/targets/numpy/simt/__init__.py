"""The thread level on NumPy: every thread of a block, with the hardware's own layouts.

Device functions run as the CUDA printed from them would: registers in the order of the PTX manual,
shared memory as one arena of bytes with its swizzles, matrix descriptors decoded, barriers with
phases, copies and MMAs that complete whenever the schedule lets them. Results are those of the tile
level; what would fail sporadically on a GPU is an error at the source line.
"""

from __future__ import annotations

from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt.api import SimtFault, SimtOptions, SimtReport
from tilewright.targets.numpy.simt.launch import SimtProgram, compile_simt

__all__ = [
    "Buffer",
    "SimtFault",
    "SimtOptions",
    "SimtProgram",
    "SimtReport",
    "compile_simt",
]
