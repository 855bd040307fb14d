"""The GPU properties that scripts read before they choose block sizes and grids.

There is none; what is described is the GPU that kernels are compiled for: a Hopper GPU when nothing
else is set (``python -m tilewright.compat --target cuda:100 FILE``, ``TILEWRIGHT_COMPAT_TARGET``,
``tw.running(target=)``). Scripts then choose as they would there. Nothing computed depends on it,
except how many programs share the work.
"""

from __future__ import annotations

from tilewright.runtime.options import current_target

CAPABILITY = (9, 0)
"""Of the GPU that is described when nothing else is set."""

# H100 SXM: NVIDIA's Hopper tuning guide (registers, shared memory, threads per multiprocessor) and
# data sheet (multiprocessors, clocks in kHz, width of the memory bus in bits, L2 and memory size).
MULTIPROCESSORS = 132
REGISTERS = 65536
SHARED_MEMORY_BYTES = 227 * 1024
SHARED_MEMORY_DEFAULT_BYTES = 48 * 1024
THREADS_PER_MULTIPROCESSOR = 2048
CLOCK_KHZ = 1_980_000
MEMORY_CLOCK_KHZ = 2_619_000
MEMORY_BUS_BITS = 5120
L2_BYTES = 50 * 1024 * 1024
MEMORY_BYTES = 80 * 1024**3
WARP_SIZE = 32


def capability() -> tuple[int, int]:
    """The compute capability of the GPU that is described."""
    arch = current_target().arch
    return divmod(arch, 10) if isinstance(arch, int) else CAPABILITY


def name() -> str:
    """What the GPU that is described calls itself."""
    return f"Tilewright on the CPU, described as {current_target().arch_name}"
