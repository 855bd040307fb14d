"""Evaluating a region, whatever its shape."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Region

from tilewright.analysis.pid_address.control.blocks import Exit, leave, run_block
from tilewright.analysis.pid_address.control.graph import run_graph
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.values import Value


def run_region(scope: Scope, region: Region, arguments: Sequence[Value] = ()) -> list[Exit]:
    """Evaluate a region with `arguments`; returns the points where control leaves it."""
    block = region.first_block
    if block is None:
        return []
    for argument, value in zip(block.args, arguments, strict=True):
        scope.set(argument, value)
    if block is not region.last_block:
        return run_graph(scope, region)
    return [leave(run_block(scope, block), block)]
