"""Clusters of CTAs: fences, barriers across CTAs, remote buffers, and dynamic scheduling.

*Cluster launch control* lets a running CTA take over the work of one that has not started yet. The
request writes a 16-byte response to shared memory and completes on an mbarrier; it has
whether a CTA was cancelled and which one. Triton and the TLX fork have ops of their own for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    result_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import FALSE, Operand, bool_prop, enum_prop, string_prop
from tilewright.dialects.tt.constraints import BOOL_LIKE, INT_LIKE, TENSOR
from tilewright.dialects.tt.enums import PROGRAM_DIM
from tilewright.dialects.ttg.struct import bases_text
from tilewright.dialects.ttg.types import MEMDESC, MemDescType, SharedMemorySpace, comma
from tilewright.dialects.ttng.attributes import SHARED_CLUSTER_MEMORY, SharedClusterMemorySpace
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import (
    cga_of,
    verify_completion_barrier,
)
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.ttng.text import attributes
from tilewright.dialects.type_utils import (
    element_type_of,
    encoding_of,
    is_tensor,
    shape_of,
    with_element_type,
)
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.flavour import Flavour

i128 = IntegerType(128)


# -- fences and cluster barriers -----------------------------------------------------------------


@irdl_op_definition
class FenceAsyncSharedOp(AsmOp):
    """Makes writes to shared memory visible to the async proxy (TMA, tensor cores)."""

    name = "ttng.fence_async_shared"
    b_cluster = bool_prop(name="bCluster")

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self, *, cluster: bool = False) -> None:
        super().__init__(properties={"bCluster": IntegerAttr.from_bool(cluster)})


@irdl_op_definition
class FenceOp(AsmOp):
    """A memory fence of scope ``"gpu"`` or ``"sys"``."""

    name = "ttng.fence"
    scope = string_prop()

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self, scope: str) -> None:
        super().__init__(properties={"scope": StringAttr(scope)})


@irdl_op_definition
class FenceMBarrierInitReleaseClusterOp(AsmOp):
    """Makes initialised mbarriers visible to the other CTAs of the cluster."""

    name = "ttng.fence_mbarrier_init_release_cluster"

    ASM: ClassVar[str] = "attr-dict"


def _always_print_relaxed(shown: dict[str, Attribute], flavour: Flavour) -> dict[str, Attribute]:
    """Older parsers insist on the attribute."""
    if flavour.at_least(3, 8):
        return shown
    return {"relaxed": FALSE, **shown}


@irdl_op_definition
class ClusterArriveOp(AsmOp):
    """Signals that this CTA has reached a point that all CTAs of the cluster will pass."""

    name = "ttng.cluster_arrive"
    relaxed = bool_prop(False)

    ASM: ClassVar[str] = "`` custom<Attributes>()"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": attributes({"relaxed": FALSE}, _always_print_relaxed)
    }

    def __init__(self, *, relaxed: bool = False) -> None:
        super().__init__(properties={"relaxed": IntegerAttr.from_bool(relaxed)})


@irdl_op_definition
class ClusterWaitOp(AsmOp):
    """Waits until all CTAs of the cluster have arrived."""

    name = "ttng.cluster_wait"

    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class ClusterBarrierOp(AsmOp):
    """Arrival and wait in one."""

    name = "ttng.cluster_barrier"
    relaxed = bool_prop(False)

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self, *, relaxed: bool = False) -> None:
        super().__init__(properties={"relaxed": IntegerAttr.from_bool(relaxed)})


@irdl_op_definition
class ClusterSize1DOp(AsmOp):
    """The number of CTAs in the cluster."""

    name = "ttng.cluster_size_1d"
    result = result_def(i32)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


@irdl_op_definition
class MapToRemoteBufferOp(AsmOp):
    """The buffer of the CTA of rank `cta_rank` that corresponds to a buffer of this one."""

    name = "ttng.map_to_remote_buffer"
    src = operand_def(MEMDESC)
    cta_rank = operand_def(i32)
    result = result_def(MEMDESC)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$src `,` $cta_rank attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, cta_rank: Operand) -> None:
        value = SSAValue.get(src)
        assert isinstance(value.type, MemDescType)
        remote = replace(value.type, memory_space=SHARED_CLUSTER_MEMORY)
        super().__init__(operands=[value, cta_rank], result_types=[remote])

    def verify_(self) -> None:
        local, remote = self.src.type, self.result.type
        assert isinstance(local, MemDescType)
        assert isinstance(remote, MemDescType)
        if _without_space(local) != _without_space(remote):
            raise VerifyException(
                f"Local MemDesc not matching Remote MemDesc: '{local}' vs '{remote}'"
            )
        if not isinstance(local.memory_space, SharedMemorySpace):
            raise VerifyException(f"Invalid memory space for local MemDesc: '{local}'")
        if not isinstance(remote.memory_space, SharedClusterMemorySpace):
            raise VerifyException(f"Invalid memory space for remote MemDesc: '{remote}'")


def _without_space(type: MemDescType) -> tuple[object, ...]:
    return type.shape, type.element_type, type.encoding, type.mutable, type.alloc_shape


@irdl_op_definition
class AsyncSharedStoreOp(AsmOp):
    """Stores a tensor to shared memory of the cluster; completes on an mbarrier."""

    name = "ttng.async_shared_store"
    src = operand_def(TENSOR)
    dst = operand_def(MEMDESC)
    mbarrier = operand_def(MEMDESC)
    traits = ttng_traits(AccessEffect(writes=("dst", "mbarrier")))

    ASM: ClassVar[str] = (
        "$src `,` $dst `,` $mbarrier attr-dict `:` type($src) `->` type($dst) `,` type($mbarrier)"
    )


# -- cluster launch control ----------------------------------------------------------------------


def verify_launch_response(type: Attribute) -> None:
    """Raise if `type` is not a buffer for the response to a request, the same in all CTAs."""
    assert isinstance(type, MemDescType)
    element = type.element_type
    if not isinstance(element, IntegerType) or element.width.data != 64:
        raise VerifyException(f"Expected CLC result buffer to have type int64, but got'{element}'")
    if type.shape != (2,):
        raise VerifyException(
            "Expected CLC result buffer to have rank 1 and a single dimension equal to 2, "
            f"but got {comma(type.shape)}."
        )
    bases = cga_of(type)
    if any(any(basis) for basis in bases):
        raise VerifyException(
            f"Expected CLC result buffer cga_layout bases to be all zeros. Got {bases_text(bases)}"
        )


def _with_multicast(shown: dict[str, Attribute], flavour: Flavour) -> dict[str, Attribute]:
    """The attribute exists only in 3.8 and in the fork, and is required there."""
    if flavour.is_tlx or not flavour.at_least(3, 9):
        return {"multicast": FALSE, **shown}
    return shown


@irdl_op_definition
class CLCTryCancelOp(AsmOp):
    """Requests the work of a CTA that has not started."""

    name = "ttng.clc_try_cancel"
    result = operand_def(MEMDESC)
    mbarrier = operand_def(MEMDESC)
    multicast = bool_prop(False)
    traits = ttng_traits(AccessEffect(writes=("result", "mbarrier")))

    ASM: ClassVar[str] = (
        "$result `,` $mbarrier `` custom<Attributes>() `:` type($result) `,` type($mbarrier)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": attributes({"multicast": FALSE}, _with_multicast)
    }

    def verify_(self) -> None:
        verify_launch_response(self.result.type)
        verify_completion_barrier(self, self.mbarrier.type)


@irdl_op_definition
class CLCLoadResultOp(AsmOp):
    """Loads the response into registers."""

    name = "ttng.clc_load_result"
    src = operand_def(MEMDESC)
    clc_result = result_def(i128)
    traits = ttng_traits(AccessEffect(reads=("src",)))

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($clc_result)"

    def verify_(self) -> None:
        verify_launch_response(self.src.type)


@irdl_op_definition
class CLCTryCancelSyncOp(AsmOp):
    """Requests, waits and loads the response, as a tensor of two words of 64 bits."""

    name = "ttng.clc_try_cancel_sync"
    result = result_def(TENSOR)

    ASM: ClassVar[str] = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        if shape_of(self.result.type) != (2,):
            raise VerifyException("response must have shape [2]")


@irdl_op_definition
class CLCIsCanceledOp(AsmOp):
    """Whether the response names a CTA."""

    name = "ttng.clc_is_canceled"
    clc_result = operand_def(i128)
    is_canceled = result_def(i1)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$clc_result attr-dict `:` type($clc_result) `->` type($is_canceled)"


@irdl_op_definition
class CLCGetProgramIdOp(AsmOp):
    """One coordinate of the program whose work was taken over."""

    name = "ttng.clc_get_program_id"
    clc_result = operand_def(i128)
    dim = enum_prop(PROGRAM_DIM)
    result = result_def(i32)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$clc_result `,` $dim attr-dict `:` type($clc_result) `->` type($result)"


@irdl_op_definition
class AsyncCLCTryCancelOp(AsmOp):
    """The fork's request; the response is one 128-bit element."""

    name = "ttng.async_clc_try_cancel"
    mbar_alloc = operand_def(MEMDESC)
    clc_res_alloc = operand_def(MEMDESC)
    traits = ttng_traits(AccessEffect(writes=("mbar_alloc", "clc_res_alloc")))

    ASM: ClassVar[str] = (
        "$mbar_alloc `,` $clc_res_alloc attr-dict `:` type($mbar_alloc) `,` type($clc_res_alloc)"
    )

    def __init__(self, mbar_alloc: Operand, clc_res_alloc: Operand) -> None:
        super().__init__(operands=[mbar_alloc, clc_res_alloc])


@irdl_op_definition
class CLCQueryCancelOp(AsmOp):
    """The fork's op to read a response: the coordinates of the CTA, or -1.

    Older text returns the first coordinate only.
    """

    name = "ttng.clc_query_cancel"
    clc_res_alloc = operand_def(MEMDESC)
    cta_ids = var_result_def(i32)
    traits = ttng_traits(AccessEffect(reads=("clc_res_alloc",)))

    ASM: ClassVar[str] = "$clc_res_alloc attr-dict `:` functional-type(operands, results)"

    def __init__(self, clc_res_alloc: Operand) -> None:
        super().__init__(operands=[clc_res_alloc], result_types=[[i32] * 3])

    def asm_result_names(self) -> list[str]:
        return ["x", "y", "z"] if len(self.cta_ids) == 3 else []

    def verify_(self) -> None:
        if len(self.cta_ids) not in (1, 3):
            raise VerifyException("expected one or three coordinates")


# -- votes ---------------------------------------------------------------------------------------


@irdl_op_definition
class VoteBallotSyncOp(AsmOp):
    """For each warp, the bits of all its threads' predicates; a tensor's elements are or-ed."""

    name = "ttng.vote_ballot_sync"
    mask = operand_def(i32)
    pred = operand_def(BOOL_LIKE)
    result = result_def(INT_LIKE)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$mask `,` $pred attr-dict `:` type($pred) `->` type($result)"

    def __init__(self, mask: Operand, pred: Operand) -> None:
        value = SSAValue.get(pred)
        super().__init__(operands=[mask, value], result_types=[with_element_type(value.type, i32)])

    def verify_(self) -> None:
        pred, result = self.pred.type, self.result.type
        if is_tensor(pred) != is_tensor(result):
            raise VerifyException(
                "predicate and result must both be scalars or both be tensors, "
                f"got pred='{pred}' and result='{result}'"
            )
        if element_type_of(result) != i32:
            must = "tensor result must have i32 element type"
            requirement = must if is_tensor(result) else "scalar result must be i32"
            raise VerifyException(f"{requirement}, got '{element_type_of(result)}'")
        if shape_of(pred) != shape_of(result):
            raise VerifyException(
                "predicate and result tensor shapes must match, "
                f"got {comma(shape_of(pred))} vs {comma(shape_of(result))}"
            )
        if encoding_of(pred) != encoding_of(result):
            raise VerifyException(
                "predicate and result tensor encodings must match, "
                f"got {encoding_of(pred)} vs {encoding_of(result)}"
            )
