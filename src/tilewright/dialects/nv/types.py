"""Types of the NVIDIA machine level."""

from __future__ import annotations

from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class MBarrierType(ParametrizedAttribute, TypeAttribute):
    """A barrier in shared memory: 64 bits with a phase, pending arrivals and pending bytes."""

    name = "nv.mbarrier"


MBARRIER = MBarrierType()
