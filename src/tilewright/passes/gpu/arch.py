"""The GPU that a kernel is compiled for."""

from __future__ import annotations

import re

from xdsl.ir import Operation

from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import names
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.layouts.hardware.amd_chips import Chip

_HOPPER = 90


def arch_name(op: Operation) -> str:
    """The GPU that `op` is compiled for, as messages name it: ``sm_90``, ``gfx942``."""
    chip = amd_chip_of(op)
    return f"sm_{arch_of(op)}" if chip is None else chip.name


def gpu_of(op: Operation) -> int | Chip:
    """The GPU that `op` is compiled for: NVIDIA's number, or AMD's chip."""
    chip = amd_chip_of(op)
    return arch_of(op) if chip is None else chip


def arch_of(op: Operation) -> int:
    """The number in ``sm_90a``: of the target of the function around `op`, or Hopper's.

    Only NVIDIA's GPUs have one.
    """
    current: Operation | None = op
    while current is not None:
        target = current.attributes.get(names.TARGET)
        if isinstance(target, TargetAttr):
            found = re.search(r"\d+", str(target.data.arch))
            return int(found[0]) if found else _HOPPER
        current = current.parent_op()
    return _HOPPER
