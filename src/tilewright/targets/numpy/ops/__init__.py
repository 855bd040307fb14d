"""What every op does, one table a dialect file; `RULES` has them all."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops import amd, arith, cf, functions, math, scf, tt

RULES: Mapping[str, Rule] = {
    **amd.RULES,
    **arith.RULES,
    **cf.RULES,
    **functions.RULES,
    **math.RULES,
    **scf.RULES,
    **tt.RULES,
}
