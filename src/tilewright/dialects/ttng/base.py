"""What all ops of the dialect have in common: the layouts of their types fit where they stand."""

from __future__ import annotations

from typing_extensions import override
from xdsl.ir import Operation, OpTrait, OpTraits
from xdsl.irdl import traits_def

from tilewright.dialects.tt.constraints import TENSOR
from tilewright.dialects.tt.layout_rules import VerifyTensorLayouts
from tilewright.dialects.ttg.base import VerifyMemDescLayouts
from tilewright.dialects.ttg.context import num_ctas_at
from tilewright.dialects.ttg.types import MEMDESC
from tilewright.ir.constraints import either


class VerifyClusterLayouts(VerifyMemDescLayouts):
    """The layouts of memory descriptors fit the size of the cluster.

    TLX starts clusters of CTAs that are programs of their own, so a module of one CTA may well
    have buffers that several share. The check is made where the module itself counts more.
    """

    @override
    def verify(self, op: Operation) -> None:
        if num_ctas_at(op) > 1:
            super().verify(op)


def ttng_traits(*traits: OpTrait) -> OpTraits:
    """`traits`, and those that all ops of the dialect have."""
    return traits_def(*traits, VerifyTensorLayouts(), VerifyClusterLayouts())


TENSOR_OR_MEMDESC = either(TENSOR, MEMDESC)
