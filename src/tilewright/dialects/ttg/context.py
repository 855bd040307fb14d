"""How many CTAs, warps and threads run an op, by module, function and partition.

The number of warps is that of the closest of these around the op: a partition of a
``ttg.warp_specialize``, a function with ``"ttg.num-warps"``, the module. Ops are identified by
name, so that layouts need not import the op classes that have layouts in their types.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation

NUM_WARPS = "ttg.num-warps"
NUM_CTAS = "ttg.num-ctas"
THREADS_PER_WARP = "ttg.threads-per-warp"
TARGET = "ttg.target"

PARTITIONS_OP = "ttg.warp_specialize.partitions"
PARTITION_NUM_WARPS = "partitionNumWarps"

_DEFAULT_NUM_CTAS = 1
_DEFAULT_THREADS_PER_WARP = 32


def num_warps_at(op: Operation) -> int | None:
    """The number of warps that run `op`, or None where it is not specified."""
    current = op
    while True:
        if isinstance(current, ModuleOp) or current.name == "tt.func":
            found = _integer(current.attributes.get(NUM_WARPS))
            if found is not None:
                return found
        parent = current.parent_op()
        if parent is None:
            return None
        if parent.name == PARTITIONS_OP:
            found = _partition_warps(parent, current)
            if found is not None:
                return found
        current = parent


def num_ctas_at(op: Operation) -> int:
    """The number of CTAs of a cluster."""
    return _module_integer(op, NUM_CTAS, _DEFAULT_NUM_CTAS)


def threads_per_warp_at(op: Operation) -> int:
    """The number of threads of a warp."""
    return _module_integer(op, THREADS_PER_WARP, _DEFAULT_THREADS_PER_WARP)


def _partition_warps(partitions: Operation, op: Operation) -> int | None:
    """The number of warps of the partition that `op` is in."""
    owner, region = partitions.parent_op(), op.parent_region()
    if owner is None or region is None:
        return None
    sizes = owner.properties.get(PARTITION_NUM_WARPS)
    index = partitions.regions.index(region)
    if not isinstance(sizes, DenseArrayBase) or index >= len(sizes):
        return None
    return int(cast("Any", sizes).get_values()[index])


def _module_integer(op: Operation, name: str, default: int) -> int:
    current: Operation | None = op
    while current is not None and not isinstance(current, ModuleOp):
        current = current.parent_op()
    found = None if current is None else _integer(current.attributes.get(name))
    return default if found is None else found


def _integer(attribute: Attribute | None) -> int | None:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None
