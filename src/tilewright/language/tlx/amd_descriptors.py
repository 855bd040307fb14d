"""AMD's tensor data mover (TDM): copies of whole blocks by descriptor, from gfx1250 on.

A descriptor is moved first and then used: `update_tensor_descriptor` makes another one, and copies
take it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr

from tilewright.dialects.amdg import (
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMFusedCopyGlobalToLocalOp,
    AsyncTDMWaitOp,
    TDMPrefetchOp,
    UpdateTensorDescriptorOp,
)
from tilewright.dialects.tt.base import ints_attr
from tilewright.dialects.ttg.types import TOKEN_TYPE
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.descriptors import tensor_descriptor
from tilewright.language.tl.dtypes import (
    int1,
    int32,
)
from tilewright.language.tl.operands import indices
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, tensor
from tilewright.language.tlx.barriers import known_integer, predicate
from tilewright.language.tlx.storage import async_token, buffered_tensor

_TDM = "gfx1250"


def _check_tdm(name: str) -> None:
    target = current_options().target
    if not str(target.arch).startswith(_TDM):
        raise AssertionError(
            f"{name} is only available on AMD TDM-capable targets, got arch={target.arch}"
        )


def _pred32(pred: Operand) -> tensor:
    given = unwrap(pred)
    value = to_tensor(int(given) if isinstance(given, bool) else given)
    if value.dtype == int1:
        value = convert(value, int32)
    if value.type != int32:
        raise AssertionError(f"Expected pred to be an int32 or int1 value, but got {value.type}")
    return value


def _per_dimension(
    desc: tensor_descriptor, name: str, values: Sequence[Operand] | None
) -> list[tensor]:
    if values is None:
        return []
    rank = len(desc.block_shape)
    if len(values) != rank:
        raise ValueError(f"{name} must have length {rank} (descriptor rank), got {len(values)}")
    return indices(tuple(values))


def _updated(
    desc: tensor_descriptor,
    offsets: Sequence[tensor],
    bounds: Sequence[tensor],
    pred: tensor | None,
    *,
    clamp: bool,
) -> tensor_descriptor:
    op = UpdateTensorDescriptorOp(
        desc.handle,
        [each.handle for each in offsets],
        [each.handle for each in bounds],
        None if pred is None else pred.handle,
    )
    if clamp:
        op.clamp_bounds = UnitAttr()
    handle = current().insert(op).result
    return desc.__class__(handle, desc.shape, desc.strides, desc.block_type)


def update_tensor_descriptor(
    desc: tensor_descriptor,
    add_offsets: Sequence[Operand] | None = None,
    set_bounds: Sequence[Operand] | None = None,
    pred: Operand | None = None,
    clamp_bounds: bool = False,
) -> tensor_descriptor:
    """A descriptor moved by `add_offsets`, with other bounds, or one that does nothing."""
    _check_tdm("update_tensor_descriptor")
    if add_offsets is None and set_bounds is None and pred is None:
        raise ValueError(
            "tlx.update_tensor_descriptor requires at least one of add_offsets, set_bounds, pred"
        )
    is_clamped = bool(unwrap(clamp_bounds))
    if is_clamped and add_offsets is None:
        raise ValueError("tlx.update_tensor_descriptor: clamp_bounds requires add_offsets")
    if is_clamped and set_bounds is not None:
        raise ValueError(
            "tlx.update_tensor_descriptor: clamp_bounds and set_bounds are mutually exclusive"
        )
    offsets = _per_dimension(desc, "add_offsets", add_offsets)
    bounds = _per_dimension(desc, "set_bounds", set_bounds)
    allowed = None if pred is None else _pred32(pred)
    return _updated(desc, offsets, bounds, allowed, clamp=is_clamped)


def _positioned(
    desc: tensor_descriptor,
    offsets: Sequence[Operand] | None,
    pred: Operand | None,
    clamp_bounds: bool,
    *,
    always: bool,
) -> tensor_descriptor:
    """`desc` at `offsets`; as it is without."""
    if offsets is None:
        if pred is None:
            return desc
        return _updated(desc, (), (), _pred32(pred), clamp=False)
    rank = len(desc.block_shape)
    if len(offsets) != rank:
        raise AssertionError(f"expected {rank} offsets, but got {len(offsets)}")
    position = indices(tuple(offsets))
    allowed = _pred32(True if pred is None else pred) if always else None
    return _updated(desc, position, (), allowed, clamp=bool(unwrap(clamp_bounds)))


def async_amd_descriptor_load(
    desc: tensor_descriptor,
    result: buffered_tensor,
    offsets: Sequence[Operand] | None = None,
    pred: Operand | None = None,
    clamp_bounds: bool = True,
) -> async_token:
    """Start copying the block of `desc`, at `offsets` if they are given, into `result`."""
    _check_tdm("async_amd_descriptor_load")
    positioned = _positioned(desc, offsets, pred, clamp_bounds, always=True)
    op = AsyncTDMCopyGlobalToLocalOp(positioned.handle, result.handle)
    return async_token(current().insert(op).token)


def async_amd_descriptor_load_fused(
    members: Sequence[tuple[tensor_descriptor, buffered_tensor, int]], cache_modifier: str = ""
) -> async_token:
    """Start copying two to four blocks, each by the warps in its bit mask."""
    _check_tdm("async_amd_descriptor_load_fused")
    if unwrap(cache_modifier):
        raise NotImplementedError("fused loads do not support cache_modifier: remove it")
    given = unwrap(tuple(members))
    if not 2 <= len(given) <= 4:
        raise ValueError(
            f"async_amd_descriptor_load_fused requires 2 to 4 members, got {len(given)}"
        )
    ranks = {len(member[0].block_shape) for member in given}
    if len(ranks) > 1:
        raise ValueError("fused TDM requires all descriptors to have the same rank")
    op = AsyncTDMFusedCopyGlobalToLocalOp.build(
        operands=[[each[0].handle for each in given], [each[1].handle for each in given], None],
        result_types=[TOKEN_TYPE],
        properties={"warp_used_hints": ints_attr([int(each[2]) for each in given])},
    )
    return async_token(current().insert(op).token)


def async_amd_descriptor_store(
    desc: tensor_descriptor,
    source: buffered_tensor,
    offsets: Sequence[Operand] | None = None,
    clamp_bounds: bool = True,
) -> None:
    """Start copying `source` to the block of `desc`, at `offsets` if they are given."""
    _check_tdm("async_amd_descriptor_store")
    positioned = _positioned(desc, offsets, None, clamp_bounds, always=False)
    current().insert(AsyncTDMCopyLocalToGlobalOp(positioned.handle, source.handle))


def amd_descriptor_prefetch_tensor(
    desc: tensor_descriptor,
    offsets: Sequence[Operand],
    pred: Operand | None = None,
    speculative: bool = False,
) -> None:
    """Prefetch the block of `desc` at `offsets` into L2."""
    _check_tdm("amd_descriptor_prefetch_tensor")
    rank = len(desc.block_shape)
    if len(offsets) != rank:
        raise AssertionError(f"expected {rank} offsets, but got {len(offsets)}")
    position = [each.handle for each in indices(tuple(offsets))]
    op = TDMPrefetchOp.build(
        operands=[desc.handle, position, predicate(pred).handle],
        properties={"speculative": IntegerAttr.from_bool(bool(unwrap(speculative)))},
    )
    current().insert(op)


def async_amd_descriptor_wait(
    pendings: int | constexpr = 0, tokens: Sequence[async_token] | None = None
) -> async_token:
    """Wait until at most `pendings` copies are unfinished, or for `tokens`."""
    _check_tdm("async_amd_descriptor_wait")
    count, waited = known_integer(pendings, "pendings"), tokens or ()
    if waited and count:
        raise AssertionError(
            "async_amd_descriptor_wait: pass either `pendings` or `tokens`, not both"
        )
    op = AsyncTDMWaitOp(count, [token.handle for token in waited])
    return async_token(current().insert(op).token)
