"""Floating-point arithmetic. Every op rounds to its own type; nothing is fused."""

from __future__ import annotations

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops.elementwise import float_rule, plain_rule

# The `num` forms ignore a NaN if the other operand is none; the others hand it on.
RULES: dict[str, Rule] = {
    "arith.addf": float_rule("{0} + {1}"),
    "arith.subf": float_rule("{0} - {1}"),
    "arith.mulf": float_rule("{0} * {1}"),
    "arith.divf": float_rule("{0} / {1}"),
    "arith.remf": float_rule("np.fmod({0}, {1})"),
    "arith.negf": plain_rule("-{0}"),
    "arith.maximumf": plain_rule("maximumf({0}, {1})"),
    "arith.minimumf": plain_rule("minimumf({0}, {1})"),
    "arith.maxnumf": plain_rule("maxnumf({0}, {1})"),
    "arith.minnumf": plain_rule("minnumf({0}, {1})"),
}
