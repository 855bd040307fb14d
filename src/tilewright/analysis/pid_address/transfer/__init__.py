"""What ops do to abstract values: tables from op name to rule, one file per kind of op.

An op without a rule gives results of which only the dependencies are known: they depend on what
its operands depend on, and the reason is ``unsupported``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.analysis.pid_address.transfer.arith import ARITH_RULES, Rule
from tilewright.analysis.pid_address.transfer.async_memory import ASYNC_ACCESS_RULES, ASYNC_RULES
from tilewright.analysis.pid_address.transfer.memory import ACCESS_OPS as PLAIN_ACCESS_OPS
from tilewright.analysis.pid_address.transfer.memory import MEMORY_RULES
from tilewright.analysis.pid_address.transfer.shape import SHAPE_RULES
from tilewright.analysis.pid_address.transfer.tile import TILE_RULES

RULES: Mapping[str, Rule] = {
    **ARITH_RULES,
    **SHAPE_RULES,
    **MEMORY_RULES,
    **ASYNC_RULES,
    **TILE_RULES,
}

ACCESS_OPS = PLAIN_ACCESS_OPS | ASYNC_ACCESS_RULES.keys()
"""Ops that are accesses, numbered in textual order."""

__all__ = ["ACCESS_OPS", "RULES", "Rule"]
