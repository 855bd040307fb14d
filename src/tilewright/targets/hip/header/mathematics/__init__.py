"""Mathematics without a device library: C's names, `float` with an f at the end."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.hip.header.mathematics.angles import ANGLES
from tilewright.targets.hip.header.mathematics.builtins import BUILTINS
from tilewright.targets.hip.header.mathematics.error_function import ERROR_FUNCTION
from tilewright.targets.hip.header.mathematics.exponentials import DOUBLE_EXPONENTIALS, EXPONENTIALS
from tilewright.targets.hip.header.mathematics.function import MathFunction
from tilewright.targets.hip.header.mathematics.logarithms import DOUBLE_LOGARITHMS, LOGARITHMS
from tilewright.targets.hip.header.mathematics.powers import POWERS
from tilewright.targets.hip.header.mathematics.precision import DOUBLE, FLOAT, in_both
from tilewright.targets.hip.header.mathematics.remainder import REMAINDER
from tilewright.targets.hip.header.mathematics.trigonometry import LARGE, TRIGONOMETRY

_IN_BOTH = (
    *EXPONENTIALS,
    *LOGARITHMS,
    *POWERS,
    *TRIGONOMETRY,
    *ANGLES,
    *ERROR_FUNCTION,
    *REMAINDER,
)

MATHEMATICS: Mapping[str, MathFunction] = {
    **BUILTINS,
    **in_both(_IN_BOTH),
    **{each.name: each.of(DOUBLE) for each in (*DOUBLE_EXPONENTIALS, *DOUBLE_LOGARITHMS)},
    **{f"{each.name}{p.suffix}": each.of(p) for p in (FLOAT, DOUBLE) for each in (LARGE[p.type],)},
}
