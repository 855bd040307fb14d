"""An integer that the CUDA compiler takes as given.

    %base = nv.opaque %i : index

The result is the operand. A compiler that sees how an integer is computed may compute it again at
each use, in each of several branches, to save a register; this one it keeps.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from tilewright.dialects.tile.base import Operand
from tilewright.dialects.tile.mixed import INDEX
from tilewright.ir.text.assembly import AsmOp


@irdl_op_definition
class OpaqueOp(AsmOp):
    """The same integer, computed once."""

    name = "nv.opaque"
    value = operand_def(INDEX)
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$value attr-dict"

    def __init__(self, value: Operand) -> None:
        super().__init__(operands=[value], result_types=[INDEX])
