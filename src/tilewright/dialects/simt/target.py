"""The GPU that a kernel is compiled for, as passes query it: the function carries the target."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tile import names
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.layouts.hardware.amd_chips import DEFAULT_CHIP, Chip, chip_named

NVIDIA_WARP = 32
"""CUDA C++ Programming Guide, "SIMT Architecture"."""
_HIP = "hip"


def target_of(op: Operation) -> TargetAttr | None:
    """The target of the function around `op`; None if no pass has bound one."""
    current: Operation | None = op
    while current is not None:
        target = current.attributes.get(names.TARGET)
        if isinstance(target, TargetAttr):
            return target
        current = current.parent_op()
    return None


def amd_chip_of(op: Operation) -> Chip | None:
    """The AMD chip that `op` is compiled for; None for another vendor's."""
    target = target_of(op)
    if target is None or target.data.kind != _HIP:
        return None
    return chip_named(target.data.arch or DEFAULT_CHIP)


def warp_size_of(op: Operation) -> int:
    """Lanes of a warp (AMD: a wave)."""
    chip = amd_chip_of(op)
    return NVIDIA_WARP if chip is None else chip.wave
