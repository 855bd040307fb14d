"""Functions of FPU and SFPU, and the configuration that each of them needs.

The FPU and the SFPU are configured separately: an init of one leaves the other as it was, and an
init of the same engine replaces what was configured before. Unpackers and packer convert between
the format of a circular buffer and that of the engine, which ``hw_startup`` and ``reconfig`` set.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import unique

from xdsl.utils.str_enum import StrEnum

UNARY = (
    "exp",
    "exp2",
    "log",
    "recip",
    "sqrt",
    "rsqrt",
    "relu",
    "gelu",
    "sigmoid",
    "tanh",
    "square",
    "abs",
    "negative",
    "sign",
    "expm1",
    "log1p",
    "erf",
    "erfc",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "floor",
    "ceil",
    "trunc",
    "softsign",
)
"""SFPU functions of one DST tile."""

UNARY_SCALAR = ("add", "sub", "mul", "div", "rsub")
"""SFPU functions of a DST tile and a scalar.

``rsub`` is scalar minus tile; ``div`` multiplies by the reciprocal of the scalar.
"""

BINARY_DST = (
    "add",
    "sub",
    "mul",
    "div",
    "rsub",
    "power",
    "max",
    "min",
    "eq",
    "ne",
    "lt",
    "gt",
    "le",
    "ge",
    "add_int",
    "sub_int",
    "mul_int",
    "div_int",
    "floordiv_int",
    "max_int",
    "min_int",
    "eq_int",
    "ne_int",
    "lt_int",
    "gt_int",
    "le_int",
    "ge_int",
)
"""SFPU functions of two DST tiles; comparisons give 1.0 or 0.0, those of integers 1 or 0."""

BINARY = ("add", "sub", "mul")
"""FPU functions of two tiles in circular buffers."""

BROADCASTS = ("row", "col", "scalar")
"""What of operand 1 is repeated: its row 0, its column 0, its element [0, 0]."""

REDUCTIONS = ("sum", "avg", "max")

REDUCE_DIMS = ("row", "col", "scalar")
"""``row`` reduces each row to column 0, ``col`` each column to row 0, ``scalar`` all to [0, 0]."""


@unique
class Engine(StrEnum):
    """What an init configures."""

    FPU = "fpu"
    SFPU = "sfpu"


INIT_KINDS: dict[str, Engine] = {
    "matmul": Engine.FPU,
    "matmul_block": Engine.FPU,
    "binary": Engine.FPU,
    "bcast": Engine.FPU,
    "copy": Engine.FPU,
    "transpose": Engine.FPU,
    "reduce": Engine.FPU,
    "reduce_end": Engine.FPU,
    "unary": Engine.SFPU,
    "unary_scalar": Engine.SFPU,
    "binary_dst": Engine.SFPU,
    "fill": Engine.SFPU,
    "where": Engine.SFPU,
    "typecast": Engine.SFPU,
}
"""The kinds of ``tensix.init`` and the engine each configures.

``reduce_end`` removes the packer's mask that ``reduce`` sets.
"""

INIT_BUFFERS: dict[str, int] = {
    "matmul": 2,
    "matmul_block": 2,
    "binary": 2,
    "bcast": 2,
    "copy": 1,
    "transpose": 1,
    "reduce": 3,
    "reduce_end": 1,
}
"""How many circular buffers an init takes; none if not listed."""


@dataclass(frozen=True)
class InitKey:
    """A configuration: what an init sets, and what a math op requires."""

    kind: str
    function: str = ""
    dim: str = ""
    transpose: bool = False
    accumulate: bool = False
    block: tuple[int, ...] = ()

    @property
    def engine(self) -> Engine:
        return INIT_KINDS[self.kind]

    def __str__(self) -> str:
        parts = [self.kind, self.function, self.dim]
        parts += ["transpose"] * self.transpose + ["accumulate"] * self.accumulate
        parts += [f"block{list(self.block)}"] if self.block else []
        return " ".join(filter(None, parts))
