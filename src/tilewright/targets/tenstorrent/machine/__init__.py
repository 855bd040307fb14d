"""The IR executor: a functional model of Tensix cores that runs ``tensix.kernel`` ops.

    tiles, functions        bytes to tiles and back, what functions compute
    memory, circular        DRAM, L1 with the state of its bytes, circular buffers
    thread                  what every kernel does: arguments, circular buffers
    dataflow, multicast     what readers and writers do besides, on their core and to others
    compute                 what compute kernels do besides
    translate               kernels as Python generators
    run                     cores under a seeded schedule

The scheduler is the concurrent machine of the NumPy target; its operations in flight are the NoC
transfers.
"""

from __future__ import annotations

from tilewright.targets.tenstorrent.machine.run import run_kernels
from tilewright.targets.tenstorrent.machine.translate import translate

__all__ = ["run_kernels", "translate"]
