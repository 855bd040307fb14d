"""``nvg``: single instructions of NVIDIA GPUs, the few that occur above code generation."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i32
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure

from tilewright.dialects.members import dialect_of
from tilewright.ir.text.assembly import AsmOp


@irdl_op_definition
class ClusterIdOp(AsmOp):
    """The rank of this CTA in its cluster."""

    name = "nvg.cluster_id"
    result = result_def(i32)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


Nvg = dialect_of("nvg", globals())

__all__ = ["ClusterIdOp", "Nvg"]
