"""Instructions and hints of AMD's chips: buffer accesses, TDM descriptors, MFMA scheduling.

They emit their IR and check their arguments; on other targets most of them are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32

from tilewright.dialects.amdg import (
    AssumeUniformOp,
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMFusedCopyGlobalToLocalOp,
    AsyncTDMWaitOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
    ExtractSliceOp,
    MfmaCommitOp,
    RegisterHandoffOp,
    RegisterResidentOp,
    RematerializedRangeOp,
    ScheduledMfmaOp,
    TDMPrefetchOp,
    UpdateTensorDescriptorOp,
)
from tilewright.dialects.tlx import NoVerifyLayout
from tilewright.dialects.tt import CachePolicyAttr, SplatOp
from tilewright.dialects.tt.attributes import NORMAL_EVICTION
from tilewright.dialects.tt.base import ints_attr
from tilewright.dialects.ttg import AmdWmmaEncoding
from tilewright.dialects.ttg.mma import CtaTiles
from tilewright.dialects.ttg.types import TOKEN_TYPE
from tilewright.dialects.type_utils import with_encoding
from tilewright.frontend.builder import current
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import full, scalar_constant, to_tensor
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.descriptors import tensor_descriptor
from tilewright.language.tl.dot_scaled import dot_scaled as plain_dot_scaled
from tilewright.language.tl.dtypes import (
    block_type,
    dtype,
    float32,
    int1,
    int32,
    pointer_type,
    uint32,
)
from tilewright.language.tl.operands import indices
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.barriers import known_number, predicate
from tilewright.language.tlx.demands import release, require_registers
from tilewright.language.tlx.layouts import layout_encoding
from tilewright.language.tlx.register_layouts import register_encoding
from tilewright.language.tlx.storage import async_token, buffered_tensor

_CLASSES = ("agpr", "vgpr")
_ROLES = ("transient", "persistent")
_RESIDENT = {None: "none", 0: "lhs", 1: "rhs"}
_GROUPS = (1, 2, 4, 8, 16, 32)
_PRESERVE = "tlx.preserve_layout"
_TDM = "gfx1250"


# -- buffer instructions --------------------------------------------------------------------------


def _pointee(ptr: tensor) -> dtype:
    if not isinstance(ptr.type, pointer_type):
        raise AssertionError("ptr must be a scalar pointer type")
    return ptr.type.element_ty


def _check_offsets(offsets: tensor) -> None:
    if not offsets.type.is_block():
        raise AssertionError("offsets must be a tensor type")
    if offsets.dtype not in (int32, uint32):
        raise AssertionError("offsets element type must be int32 or uint32")


def _check_contiguity(contiguity: object) -> int:
    number = unwrap(contiguity)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    if not isinstance(number, int) or not is_number or number < 1 or number & (number - 1):
        raise AssertionError(f"contiguity must be a positive power of two, got {number!r}")
    return number


def _masked(offsets: tensor, mask: Operand | None) -> tuple[tensor, tensor | None]:
    given = unwrap(mask)
    if given is None:
        return offsets, None
    valid = convert(to_tensor(given), int1)
    return broadcast_values(offsets, valid)


def _filled(offsets: tensor, other: Operand | None, element: dtype) -> tuple[tensor, tensor | None]:
    given = unwrap(other)
    if given is None:
        return offsets, None
    return broadcast_values(offsets, convert(to_tensor(given), element))


def _policy(cache: str | None) -> CachePolicyAttr | None:
    word = (unwrap(cache) or "").removeprefix(".")
    return CachePolicyAttr.get(word, NORMAL_EVICTION) if word else None


def buffer_load(
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache: str | None = None,
    contiguity: int = 1,
) -> tensor:
    """The elements at `offsets` from the scalar pointer `ptr`; `other` where `mask` is false."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    if other is not None and mask is None:
        raise AssertionError("when other is set, mask must also be set")
    width = _check_contiguity(contiguity)
    offsets, valid = _masked(offsets, mask)
    offsets, filler = _filled(offsets, other, element)
    op = BufferLoadOp(
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        None if filler is None else filler.handle,
        policy=_policy(cache),
        contiguity=width,
    )
    if width > 1:
        op.attributes[_PRESERVE] = UnitAttr()
    return emit(op, block_type(element, offsets.shape))


def buffer_store(
    stored_value: tensor,
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    cache: str | None = None,
    contiguity: int = 1,
) -> None:
    """Write elements to `offsets` from the scalar pointer `ptr`, except where `mask` is false."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    offsets, value = broadcast_values(offsets, to_tensor(stored_value))
    offsets, valid = _masked(offsets, mask)
    op = BufferStoreOp(
        convert(value, element).handle,
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        policy=_policy(cache),
        contiguity=_check_contiguity(contiguity),
    )
    current().insert(op)


def buffer_atomic_add(
    ptr: tensor,
    offsets: tensor,
    value: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
    contiguity: int = 1,
) -> tensor:
    """Add elements to those at `offsets`; what was there before."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    width = _check_contiguity(contiguity)
    is_wide = element.is_int() and element.primitive_bitwidth in (32, 64)
    if not element.is_standard_floating() and not is_wide:
        raise AssertionError(
            "buffer_atomic_add supports only f16, bf16, f32, f64, i32, and i64 values"
        )
    added = convert(to_tensor(unwrap(value)), element)
    offsets, added = broadcast_values(offsets, added)
    offsets, valid = _masked(offsets, mask)
    op = BufferAtomicRMWOp(
        "fadd" if element.is_floating() else "add",
        ptr.handle,
        offsets.handle,
        added.handle,
        None if valid is None else valid.handle,
        sem=unwrap(sem) or "acq_rel",
        scope=unwrap(scope) or "gpu",
    )
    op.contiguity = IntegerAttr(width, i32)
    if width > 1:
        op.attributes[_PRESERVE] = UnitAttr()
    return emit(op, added.type)


def buffer_load_to_local(
    dest: buffered_tensor,
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: str = "",
    contiguity: int = 1,
) -> async_token:
    """Start copying the elements at `offsets` into a buffer."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    if other is not None and mask is None:
        raise AssertionError("when other is set, mask must also be set")
    offsets, valid = _masked(offsets, mask)
    offsets, filler = _filled(offsets, other, element)
    op = BufferLoadToLocalOp(
        dest.handle,
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        None if filler is None else filler.handle,
        policy=_policy(cache_modifier),
        contiguity=_check_contiguity(contiguity),
    )
    return async_token(current().insert(op).token)


def assume_uniform(value: tensor) -> tensor:
    """`value`, of which all threads of a wave are said to have the same."""
    if not value.type.is_ptr() and value.type.primitive_bitwidth < 16:
        raise AssertionError(
            f"assume_uniform expects a scalar pointer or a 16/32/64-bit value, got {value.type}"
        )
    if current_options().target.is_cuda:
        return value
    return emit(AssumeUniformOp(value.handle), value.type)


# -- TDM ------------------------------------------------------------------------------------------


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
    place = _positioned(desc, offsets, pred, clamp_bounds, always=True)
    op = AsyncTDMCopyGlobalToLocalOp(place.handle, result.handle)
    return async_token(current().insert(op).token)


def async_amd_descriptor_load_fused(
    members: Sequence[tuple[tensor_descriptor, buffered_tensor, int]], cache_modifier: str = ""
) -> async_token:
    """Start copying two to four blocks, each by the warps in its bit mask."""
    _check_tdm("async_amd_descriptor_load_fused")
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
    place = _positioned(desc, offsets, None, clamp_bounds, always=False)
    current().insert(AsyncTDMCopyLocalToGlobalOp(place.handle, source.handle))


def amd_descriptor_prefetch_tensor(
    desc: tensor_descriptor,
    offsets: Sequence[Operand],
    pred: Operand | None = None,
    speculative: bool = False,
) -> None:
    """Bring the block of `desc` at `offsets` into the L2 cache."""
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
    count, waited = known_number(pendings, "pendings"), tokens or ()
    if waited and count:
        raise AssertionError(
            "async_amd_descriptor_wait: pass either `pendings` or `tokens`, not both"
        )
    op = AsyncTDMWaitOp(count, [token.handle for token in waited])
    return async_token(current().insert(op).token)


# -- registers and MFMA ---------------------------------------------------------------------------


def require_layout(
    x: tensor,
    layout: layout_encoding,
    pin: bool = True,
    late_address_compute: bool = False,
) -> tensor:
    """`x` in a layout; with `pin` no pass may choose another."""
    is_pinned, is_late = unwrap(pin), unwrap(late_address_compute)
    if not isinstance(is_pinned, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"pin must be a constexpr bool, got {type(is_pinned).__name__}")
    if not isinstance(is_late, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(
            f"late_address_compute must be a constexpr bool, got {type(is_late).__name__}"
        )
    encoding = register_encoding(unwrap(layout), x.shape, x.dtype)
    handle = require_registers(x.handle, encoding, pin=is_pinned)
    if is_late:
        owner = handle.owner
        owner_attributes = getattr(owner, "attributes")  # noqa: B009 - an op, just inserted
        owner_attributes["tlx.rematerialize_coordinates"] = UnitAttr()
    return tensor(handle, x.type)


def release_layout(x: tensor) -> tensor:
    """`x` in any layout."""
    if not isinstance(x, tensor) or not x.type.is_block():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("x must be a distributed tensor")
    return tensor(release(x.handle), x.type)


def require_amd_wmma_layout(
    src: tensor,
    version: int = 3,
    transposed: bool = True,
    warp_bases: Sequence[Sequence[int]] = ((0, 2), (2, 0)),
    reg_bases: Sequence[Sequence[int]] = ((0, 1), (1, 0)),
    instr_shape: Sequence[int] = (16, 16, 128),
) -> tensor:
    """`src` in the layout of an accumulator of WMMA instructions."""
    layout = AmdWmmaEncoding(
        version=int(unwrap(version)),
        is_transposed=bool(unwrap(transposed)),
        cta_layout=CtaTiles(_bases(reg_bases), _bases(warp_bases)),
        instr_shape=tuple(unwrap(tuple(instr_shape))),
    )
    return tensor(require_registers(src.handle, layout, pin=True), src.type)


def _bases(given: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(basis) for basis in unwrap(tuple(given)))


def extract_slice(source: tensor, shape: Sequence[int], offsets: Sequence[int]) -> tensor:
    """The part of `source` of `shape` that starts at `offsets`, without moving anything."""
    if not isinstance(source, tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"source must be a tensor, got {source.__class__.__name__}")
    extents, starts = unwrap(tuple(shape)), unwrap(tuple(offsets))
    rank = len(source.shape)
    if len(extents) != rank:
        raise AssertionError(f"shape must have rank {rank}, got {len(extents)}")
    if len(starts) != rank:
        raise AssertionError(f"offsets must have rank {rank}, got {len(starts)}")
    for axis, (extent, start, whole) in enumerate(zip(extents, starts, source.shape, strict=True)):
        if start + extent > whole:
            raise AssertionError(
                f"slice exceeds source extent at axis {axis}: {start} + {extent} > {whole}"
            )
    type = block_type(source.dtype, extents)
    return emit(ExtractSliceOp(source.handle, starts, type.to_ir()), type)


def rematerialized_range(start: int, end: int, identity: int, placement: object = None) -> tensor:
    """The numbers from `start` to `end`, computed where they are used."""
    first, last, number = (
        known_number(value, name)
        for name, value in (("start", start), ("end", end), ("identity", identity))
    )
    if last <= first:
        raise AssertionError("end must be a constexpr integer greater than start")
    type = block_type(int32, [last - first])
    op = RematerializedRangeOp(
        result_types=[type.to_ir()],
        properties={
            "start": IntegerAttr(first, i32),
            "end": IntegerAttr(last, i32),
            "identity": IntegerAttr(number, i32),
        },
    )
    return emit(op, type)


def _check_resident(value: tensor, register_class: str) -> None:
    if not isinstance(value, tensor) or not value.type.is_block():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("value must be a distributed tensor")
    if value.dtype.primitive_bitwidth not in (16, 32):
        raise AssertionError("value elements must be 16 or 32 bits")
    if register_class not in _CLASSES:
        raise AssertionError('register_class must be either "agpr" or "vgpr"')


def amd_register_resident(
    value: tensor, register_class: str = "agpr", registers_per_group: int = 1
) -> tensor:
    """`value`, in registers of one class at this point."""
    word, count = unwrap(register_class), unwrap(registers_per_group)
    _check_resident(value, word)
    if count not in _GROUPS:
        raise AssertionError("registers_per_group must be a power of two between 1 and 32")
    return emit(RegisterResidentOp(value.handle, word, count), value.type)


def amd_register_handoff(value: tensor, register_class: str = "vgpr") -> tensor:
    """`value`, moved to registers of one class."""
    word = unwrap(register_class)
    _check_resident(value, word)
    return emit(RegisterHandoffOp(value.handle, word), value.type)


def amd_scheduled_mfma(
    a: tensor,
    b: tensor,
    acc: tensor,
    accumulator_role: str,
    resident_operand: int | None = None,
    accumulator_register_class: str | None = None,
    initialize: bool = False,
) -> tensor:
    """``acc + a @ b``, or ``a @ b`` with `initialize`, by instructions in the source's order."""
    role, resident = unwrap(accumulator_role), unwrap(resident_operand)
    word, is_new = unwrap(accumulator_register_class), unwrap(initialize)
    if resident not in _RESIDENT:
        raise AssertionError("resident_operand must be None, 0, or 1")
    if role not in _ROLES:
        raise AssertionError('accumulator_role must be either "transient" or "persistent"')
    if word not in (None, *_CLASSES):
        raise AssertionError('accumulator_register_class must be None, "agpr", or "vgpr"')
    if not isinstance(is_new, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("initialize must be a constexpr bool")
    op = ScheduledMfmaOp(
        operands=[a.handle, b.handle, acc.handle],
        result_types=[acc.handle.type],
        properties={
            "resident": StringAttr(_RESIDENT[resident]),
            "accumulator": StringAttr(role),
            "register_class": StringAttr(word or "auto"),
            "initialize": IntegerAttr.from_bool(is_new),
        },
    )
    return emit(op, acc.type)


def amd_mfma_commit(
    value: tensor | tuple[tensor, ...], preserve: tensor | None = None
) -> tensor | tuple[tensor, ...]:
    """`value`, complete; `preserve` stays alive till here and is returned as well."""
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise AssertionError("value must be a tensor or nonempty tensor tuple")
    inputs = (*values, *(() if preserve is None else (preserve,)))
    op = current().insert(MfmaCommitOp([each.handle for each in inputs]))
    outputs = tuple(
        tensor(handle, each.type) for handle, each in zip(op.results, inputs, strict=True)
    )
    return outputs[0] if len(outputs) == 1 and not isinstance(value, tuple) else outputs


def zeros(shape: Sequence[int], dtype: dtype, layout: layout_encoding | None = None) -> tensor:
    """A block of zeros, perhaps in a layout."""
    extents, element, wanted = unwrap(tuple(shape)), unwrap(dtype), unwrap(layout)
    if wanted is None:
        return full(extents, 0, element)
    if not isinstance(wanted, layout_encoding):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("zeros layout must be a TLX layout encoding")
    type = block_type(element, extents)
    encoding = NoVerifyLayout(register_encoding(wanted, extents, element))
    scalar = scalar_constant(0, element)
    return emit(SplatOp(scalar.handle, with_encoding(type.to_ir(), encoding)), type)


def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: dtype = float32,
    tiles_per_warp: Sequence[int] | None = None,
) -> tensor:
    """`tl.dot_scaled`, with how many tiles each warp computes in each direction."""
    result = plain_dot_scaled(
        lhs,
        lhs_scale,
        lhs_format,
        rhs,
        rhs_scale,
        rhs_format,
        acc,
        fast_math,
        lhs_k_pack,
        rhs_k_pack,
        out_dtype,
    )
    tiles = (
        None if tiles_per_warp is None else [int(each) for each in unwrap(tuple(tiles_per_warp))]
    )
    if tiles is None:
        return result
    rank = len(result.shape)
    if len(tiles) != rank:
        raise ValueError(f"tiles_per_warp requires {rank} entries, got {len(tiles)}")
    if any(tile <= 0 for tile in tiles):
        raise ValueError("tiles_per_warp entries must be positive")
    attributes = getattr(result.handle.owner, "attributes")  # noqa: B009 - an op, just inserted
    attributes["amdg.wmma_tiles_per_warp"] = ints_attr(tiles)
    return result
