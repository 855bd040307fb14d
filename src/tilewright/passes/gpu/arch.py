"""The generation of GPUs that a kernel is compiled for."""

from __future__ import annotations

import re

from xdsl.ir import Operation

from tilewright.dialects.tile import names
from tilewright.dialects.tile.attributes import TargetAttr

_HOPPER = 90


def arch_of(op: Operation) -> int:
    """The number in ``sm_90a``: of the target of the function around `op`, or Hopper's."""
    current: Operation | None = op
    while current is not None:
        target = current.attributes.get(names.TARGET)
        if isinstance(target, TargetAttr):
            found = re.search(r"\d+", str(target.data.arch))
            return int(found[0]) if found else _HOPPER
        current = current.parent_op()
    return _HOPPER
