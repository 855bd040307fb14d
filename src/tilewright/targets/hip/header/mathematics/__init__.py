"""Mathematics without a device library: C's names, `float` with an f at the end."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.hip.header.mathematics.builtins import BUILTINS
from tilewright.targets.hip.header.mathematics.function import MathFunction

MATHEMATICS: Mapping[str, MathFunction] = {**BUILTINS}
