"""The `arith` dialect, a file for each of its own."""

from __future__ import annotations

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops.arith import casts, comparison, constant, floating, integer

RULES: dict[str, Rule] = {
    **casts.RULES,
    **comparison.RULES,
    **constant.RULES,
    **floating.RULES,
    **integer.RULES,
}
