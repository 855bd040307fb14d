"""The ``tt`` dialect: Triton's own ops, text-compatible with Triton 3.6 to 3.9 and TLX.

Reading accepts the text of all of them, and one form is stored: passes need not handle releases.
Writing queries the printer's flavour. The stored form, where releases differ:

* cache modifier and eviction policy: the ``cachePolicy`` property of 3.9 (``attributes``);
* pointers and descriptors: see ``types``;
* ``tt.descriptor_store`` with a reduction (TLX): ``tt.descriptor_reduce``.

Ops are grouped by what they are about, one file a group.
"""

from tilewright.dialects.members import dialect_of
from tilewright.dialects.tt.atomics import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from tilewright.dialects.tt.attributes import CachePolicy, CachePolicyAttr
from tilewright.dialects.tt.descriptors import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    MakeTensorDescOp,
)
from tilewright.dialects.tt.elementwise import (
    ApproxDivFOp,
    BitcastOp,
    ClampFOp,
    ElementwiseInlineAsmOp,
    ExternElementwiseOp,
    FpToFpOp,
    MulhiUIOp,
    PreciseDivFOp,
    PreciseSqrtOp,
)
from tilewright.dialects.tt.functions import CallOp, FuncOp, ReturnOp
from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.dialects.tt.matmul import DotOp, DotScaledOp
from tilewright.dialects.tt.memory import LoadOp, StoreOp
from tilewright.dialects.tt.pointers import (
    AddPtrOp,
    AdvanceOp,
    IntToPtrOp,
    MakeTensorPtrOp,
    PtrToIntOp,
)
from tilewright.dialects.tt.program import (
    AssertOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    GridDependencyLaunchDependentsOp,
    GridDependencyWaitOp,
    MakeRangeOp,
    PrintOp,
)
from tilewright.dialects.tt.reductions import (
    HistogramOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
    ReduceOp,
    ReduceReturnOp,
    ScanOp,
    ScanReturnOp,
)
from tilewright.dialects.tt.shape import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    GatherOp,
    JoinOp,
    ReshapeOp,
    SplatOp,
    SplitOp,
    TransOp,
    UnsplatOp,
)
from tilewright.dialects.tt.traits import GlobalMemory
from tilewright.dialects.tt.types import PtrType, TensorDescType

Tt = dialect_of("tt", globals())

__all__ = [
    "AddPtrOp",
    "AdvanceOp",
    "ApproxDivFOp",
    "AssertOp",
    "AtomicCASOp",
    "AtomicLoadOp",
    "AtomicPollOp",
    "AtomicRMWOp",
    "AtomicStoreOp",
    "BitcastOp",
    "BroadcastOp",
    "CachePolicy",
    "CachePolicyAttr",
    "CallOp",
    "CatOp",
    "ClampFOp",
    "DescriptorGatherOp",
    "DescriptorLoadOp",
    "DescriptorReduceOp",
    "DescriptorScatterOp",
    "DescriptorStoreOp",
    "DotOp",
    "DotScaledOp",
    "ElementwiseInlineAsmOp",
    "ExpandDimsOp",
    "ExternElementwiseOp",
    "FpToFpOp",
    "FuncOp",
    "GatherOp",
    "GetNumProgramsOp",
    "GetProgramIdOp",
    "GlobalMemory",
    "GridDependencyLaunchDependentsOp",
    "GridDependencyWaitOp",
    "HistogramOp",
    "IntToPtrOp",
    "JoinOp",
    "LayoutRules",
    "LoadOp",
    "MakeRangeOp",
    "MakeTensorDescOp",
    "MakeTensorPtrOp",
    "MapElementwiseOp",
    "MapElementwiseReturnOp",
    "MulhiUIOp",
    "PreciseDivFOp",
    "PreciseSqrtOp",
    "PrintOp",
    "PtrToIntOp",
    "PtrType",
    "ReduceOp",
    "ReduceReturnOp",
    "ReshapeOp",
    "ReturnOp",
    "ScanOp",
    "ScanReturnOp",
    "SplatOp",
    "SplitOp",
    "StoreOp",
    "TensorDescType",
    "TransOp",
    "Tt",
    "UnsplatOp",
]
