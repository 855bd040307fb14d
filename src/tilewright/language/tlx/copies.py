"""Copies between global memory and buffers that go on while the kernel does.

cp.async     every thread starts copies; groups of them are committed and waited for
bulk         one copy of consecutive bytes, complete on a barrier
TMA          whole blocks by descriptor: loads complete on a barrier, stores in groups
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects.nvg import ClusterIdOp
from tilewright.dialects.tt import CachePolicyAttr
from tilewright.dialects.tt.attributes import NO_MODIFIER, NORMAL_EVICTION
from tilewright.dialects.tt.enums import EVICTION_POLICY
from tilewright.dialects.tt.memory import LOAD_MODIFIERS
from tilewright.dialects.ttg import AsyncCommitGroupOp, AsyncCopyGlobalToLocalOp, AsyncWaitOp
from tilewright.dialects.ttg.types import TOKEN_TYPE
from tilewright.dialects.ttng import (
    AsyncStoreOp,
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAPrefetchOp,
    AsyncTMAReduceOp,
    FenceAsyncSharedOp,
    FenceOp,
    PrefetchOp,
    PrefetchTensormapOp,
    TMAStoreWaitOp,
)
from tilewright.frontend.builder import current
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import scalar_constant, to_tensor
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.create import arange
from tilewright.language.tl.descriptors import tensor_descriptor
from tilewright.language.tl.dtypes import int1, int8, int32
from tilewright.language.tl.memory import as_bytes, check_mask, check_scalar, pointee
from tilewright.language.tl.operands import indices
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.barriers import known_integer, predicate
from tilewright.language.tlx.demands import require_nv_mma_shared
from tilewright.language.tlx.storage import async_token, buffered_tensor, mbarrier
from tilewright.language.tlx.views import remote_view

_EVICTIONS = ("", "evict_first", "evict_last")
_REDUCTIONS = ("", "add", "min", "max", "and", "or", "xor")
_FENCES = ("gpu", "sys")
_PREFETCH_LEVELS = {"L1": "ca", "L2": "cg"}


def cache_policy(modifier: str, eviction: str) -> CachePolicyAttr | None:
    """The cache hints of an access; None for none."""
    name = (unwrap(modifier) or NO_MODIFIER).removeprefix(".")
    policy = unwrap(eviction) or NORMAL_EVICTION
    if name not in LOAD_MODIFIERS:
        raise ValueError(f"Cache modifier {modifier} not supported")
    if policy not in EVICTION_POLICY.keywords:
        raise ValueError(f"Eviction policy {eviction} not supported")
    if (name, policy) == (NO_MODIFIER, NORMAL_EVICTION):
        return None
    return CachePolicyAttr.get(name, policy)


# -- cp.async -----------------------------------------------------------------------------------


def async_load(
    src: tensor,
    result: buffered_tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    is_volatile: bool = False,
    bulk: bool = False,
    bulk_size: Operand | None = None,
    barrier: mbarrier | None = None,
) -> async_token:
    """Start copying what `src` points to into `result`.

    Where `mask` is false the buffer gets `other`, 0 by default. With `bulk`, one copy of
    `bulk_size` bytes (the whole buffer by default) is started that completes on `barrier`.
    """
    policy = cache_policy(cache_modifier, eviction_policy)
    if unwrap(bulk):
        return _bulk_load(src, result, mask, other, policy, is_volatile, bulk_size, barrier)
    if bulk_size is not None:
        raise AssertionError("bulk_size requires bulk=True")
    if barrier is not None:
        raise AssertionError("barrier requires bulk=True")
    pointers, valid, filler = _prepared(src, unwrap(mask), unwrap(other))
    op = AsyncCopyGlobalToLocalOp(
        pointers.handle,
        result.handle,
        None if valid is None else valid.handle,
        None if filler is None else filler.handle,
        policy=policy,
    )
    op.is_volatile = IntegerAttr.from_bool(bool(unwrap(is_volatile)))
    return async_token(current().insert(op).token)


def _prepared(
    src: tensor, mask: Operand | None, other: Operand | None
) -> tuple[tensor, tensor | None, tensor | None]:
    """Pointers, mask and filler in one shape."""
    if mask is not None and other is None:
        other = 0.0
    valid = None if mask is None else to_tensor(mask)
    filler = None if other is None else to_tensor(other)
    element = pointee(src, "async_load")
    if filler is not None and valid is None:
        raise ValueError("`other` cannot be provided without `mask`")
    pointers = src
    if pointers.type.is_block():
        if valid is not None:
            pointers, valid = broadcast_values(pointers, valid)
        if filler is not None:
            pointers, filler = broadcast_values(pointers, filler)
    else:
        check_scalar("Mask", valid)
        check_scalar("Other", filler)
    if element == int1:
        element, pointers = int8, as_bytes(pointers)
    if filler is not None:
        filler = convert(filler, element)
    return pointers, None if valid is None else check_mask(valid), filler


def _bulk_load(
    src: tensor,
    result: buffered_tensor,
    mask: object,
    other: object,
    policy: CachePolicyAttr | None,
    is_volatile: bool,
    bulk_size: Operand | None,
    barrier: mbarrier | None,
) -> async_token:
    if len(result.shape) != 1:
        raise AssertionError("bulk async_load requires a 1D result buffer")
    if barrier is None:
        raise AssertionError("bulk async_load requires a barrier")
    if mask is not None:
        raise AssertionError("bulk async_load does not support mask")
    if other is not None:
        raise AssertionError("bulk async_load does not support other")
    held = result.shape[0] * (result.dtype.primitive_bitwidth // 8)
    size = unwrap(held if bulk_size is None else bulk_size)
    if not isinstance(size, tensor) and size > held:
        raise AssertionError(f"bulk_size ({size}) exceeds destination buffer size ({held} bytes)")
    count = size if isinstance(size, tensor) else scalar_constant(int(size), int32)
    # The first pointer is where the copy starts; one for each element is what the op takes.
    pointers = src if src.type.is_block() else src + arange(0, result.shape[0])
    op = AsyncCopyGlobalToLocalOp.build(
        operands=[pointers.handle, result.handle, None, None, count.handle, barrier.handle],
        result_types=[TOKEN_TYPE],
        properties={
            "cachePolicy": policy,
            "isVolatile": IntegerAttr.from_bool(bool(unwrap(is_volatile))),
            "contiguity": IntegerAttr(1, i32),
            "useBulk": IntegerAttr.from_bool(True),
        },
    )
    return async_token(current().insert(op).token)


def async_load_commit_group(tokens: Sequence[async_token] = ()) -> async_token:
    """Make a group of the copies started so far that are in none."""
    op = AsyncCommitGroupOp([token.handle for token in tokens])
    return async_token(current().insert(op).token)


def async_load_wait_group(
    pendings: int | constexpr, tokens: Sequence[async_token] = ()
) -> async_token:
    """Wait until at most `pendings` groups are unfinished."""
    count = known_integer(pendings, "pendings")
    op = AsyncWaitOp([token.handle for token in tokens], count)
    return async_token(current().insert(op).token)


def async_store(dst_global_ptr: tensor, src_smem: buffered_tensor, size: Operand) -> None:
    """Start copying `size` bytes of shared memory; `async_descriptor_store_wait` waits for it."""
    count = indices((size,))[0]
    current().insert(AsyncStoreOp(src_smem.handle, dst_global_ptr.handle, count.handle))


def prefetch(
    pointer: tensor | tensor_descriptor,
    level: str = "L2",
    mask: tensor | None = None,
    tensormap: bool = False,
) -> None:
    """Prefetch what `pointer` points to into a cache, or, with `tensormap`, a descriptor itself."""
    if unwrap(tensormap):
        current().insert(PrefetchTensormapOp(pointer.handle))
        return
    where = unwrap(level)
    if where not in _PREFETCH_LEVELS:
        raise AssertionError(f"level must be 'L1' or 'L2', got '{where}'")
    policy = CachePolicyAttr.get(_PREFETCH_LEVELS[where], NORMAL_EVICTION)
    op = PrefetchOp(pointer.handle, None if mask is None else mask.handle, policy=policy)
    current().insert(op)


# -- TMA ----------------------------------------------------------------------------------------


def async_descriptor_load(
    desc: tensor_descriptor,
    result: buffered_tensor,
    offsets: Sequence[Operand],
    barrier: mbarrier,
    pred: Operand | None = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    multicast_targets: Sequence[Operand] = (),
    two_ctas: bool = False,
) -> None:
    """Start copying the block of `desc` at `offsets` into `result`; it completes on `barrier`.

    `multicast_targets` are the CTAs of the cluster that receive it. With `two_ctas` the barrier is
    that of the even one of a pair of CTAs.
    """
    _check_tma(desc, "async_descriptor_load", "async_amd_descriptor_load")
    _check_eviction(eviction_policy)
    _check_count(desc, offsets)
    # A row has nothing to permute.
    target = require_nv_mma_shared(result, swizzled=len(desc.block_shape) > 1)
    receivers = indices(tuple(multicast_targets))
    position = [offset.handle for offset in indices(tuple(offsets))]
    policy = cache_policy(cache_modifier, eviction_policy)
    allowed = predicate(pred).handle
    is_pair = bool(unwrap(two_ctas))
    if is_pair:
        rank = emit(ClusterIdOp(), int32)
        barrier = remote_view(barrier, rank & ~1)
    mask = _multicast_mask(receivers)
    op = AsyncTMACopyGlobalToLocalOp(
        desc.handle,
        position,
        target,
        barrier.handle,
        allowed,
        multicast_targets=mask,
        policy=policy,
    )
    if is_pair:
        op.two_ctas = UnitAttr()
    current().insert(op)


def _multicast_mask(receivers: Sequence[tensor]) -> SSAValue | None:
    """One bit for every CTA that receives a copy."""
    if not receivers:
        return None
    one = scalar_constant(1, int32)
    mask = scalar_constant(0, int32)
    for rank in receivers:
        bit = emit(arith.ShliOp(one.handle, rank.handle), int32)
        mask = emit(arith.OriOp(mask.handle, bit.handle), int32)
    return mask.handle


def async_descriptor_prefetch_tensor(
    desc: tensor_descriptor,
    offsets: Sequence[Operand],
    pred: Operand | None = None,
    eviction_policy: str = "",
) -> None:
    """Prefetch the block of `desc` at `offsets` into L2."""
    _check_tma(desc, "async_descriptor_prefetch_tensor", "amd_descriptor_prefetch_tensor")
    _check_eviction(eviction_policy)
    _check_count(desc, offsets)
    position = [offset.handle for offset in indices(tuple(offsets))]
    policy = cache_policy("", eviction_policy)
    current().insert(
        AsyncTMAPrefetchOp(desc.handle, position, predicate(pred).handle, policy=policy)
    )


def async_descriptor_store(
    desc: tensor_descriptor,
    source: buffered_tensor,
    offsets: Sequence[Operand],
    eviction_policy: str = "",
    store_reduce: str = "",
) -> None:
    """Start copying `source` to the block of `desc` at `offsets`, or combining it with the block.

    `store_reduce` is how: "add", "min", "max", "and", "or", "xor"; "" just stores.
    """
    _check_tma(desc, "async_descriptor_store", "async_amd_descriptor_store")
    kind = unwrap(store_reduce)
    _check_eviction(eviction_policy)
    if kind not in _REDUCTIONS:
        raise AssertionError(
            f"store_reduce must be '', 'add', 'min', 'max', 'and', 'or', or 'xor', got '{kind}'"
        )
    _check_count(desc, offsets)
    block = require_nv_mma_shared(source, swizzled=True)
    position = [offset.handle for offset in indices(tuple(offsets))]
    policy = cache_policy("", eviction_policy)
    if kind:
        op = AsyncTMAReduceOp(kind, desc.handle, position, block, policy=policy)
    else:
        op = AsyncTMACopyLocalToGlobalOp(desc.handle, position, block, policy=policy)
    current().insert(op)


def async_descriptor_store_wait(pendings: int | constexpr) -> None:
    """Wait until at most `pendings` stores of this thread are unfinished."""
    current().insert(TMAStoreWaitOp(known_integer(pendings, "pendings")))


def _check_tma(desc: object, name: str, instead: str) -> None:
    if not isinstance(desc, tensor_descriptor):
        raise AssertionError(f"tlx.{name} takes a tensor descriptor, got {desc}")
    target = current_options().target
    if not target.is_cuda:
        raise NotImplementedError(
            f"tlx.{name} is NV-only; got AMD arch '{target.arch}'. Use tlx.{instead} on "
            "TDM-capable AMD targets (gfx1250+)."
        )


def _check_eviction(policy: str) -> None:
    name = unwrap(policy)
    if name not in _EVICTIONS:
        raise AssertionError(
            f"eviction_policy must be '', 'evict_first', or 'evict_last', got '{name}'"
        )


def _check_count(desc: tensor_descriptor, offsets: Sequence[object]) -> None:
    rank = len(desc.block_shape)
    if len(offsets) != rank:
        raise AssertionError(f"expected {rank} offsets, but got {len(offsets)}")


# -- fences -------------------------------------------------------------------------------------


def fence(scope: str | constexpr) -> None:
    """Memory fence of scope "gpu" or "sys", or an async proxy fence for shared memory
    ("async_shared")."""
    name = str(unwrap(scope))
    if name == "async_shared":
        fence_async_shared()
    elif name in _FENCES:
        current().insert(FenceOp(name))
    else:
        raise ValueError(f"fence scope must be 'gpu', 'sys', or 'async_shared', got '{name}'")


def fence_async_shared() -> None:
    """Let TMA and matrix instructions see what was stored to shared memory."""
    current().insert(FenceAsyncSharedOp())
