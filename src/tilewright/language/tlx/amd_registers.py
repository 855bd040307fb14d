"""Which registers of an AMD GPU hold what, and in which order its MFMA instructions run."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32

from tilewright.dialects.amdg import (
    ExtractSliceOp,
    MfmaCommitOp,
    RegisterHandoffOp,
    RegisterResidentOp,
    RematerializedRangeOp,
    ScheduledMfmaOp,
)
from tilewright.dialects.tlx import NoVerifyLayout
from tilewright.dialects.tt import SplatOp
from tilewright.dialects.tt.base import ints_attr
from tilewright.dialects.ttg import AmdWmmaEncoding
from tilewright.dialects.ttg.mma import CtaTiles
from tilewright.dialects.type_utils import with_encoding
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import full, scalar_constant
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dot_scaled import dot_scaled as plain_dot_scaled
from tilewright.language.tl.dtypes import (
    block_type,
    dtype,
    float32,
    int32,
)
from tilewright.language.tl.tensor import emit, tensor
from tilewright.language.tlx.barriers import known_integer
from tilewright.language.tlx.demands import require_registers
from tilewright.language.tlx.layouts import layout_encoding
from tilewright.language.tlx.register_layouts import register_encoding

_CLASSES = ("agpr", "vgpr")
_ROLES = ("transient", "persistent")
_RESIDENT = {None: "none", 0: "lhs", 1: "rhs"}
_GROUPS = (1, 2, 4, 8, 16, 32)


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


def rematerialized_range(start: int, end: int, identity: int) -> tensor:
    """The numbers from `start` to `end`, computed where they are used."""
    first, last, group = (
        known_integer(value, name)
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
            "identity": IntegerAttr(group, i32),
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
    name, count = unwrap(register_class), unwrap(registers_per_group)
    _check_resident(value, name)
    if count not in _GROUPS:
        raise AssertionError("registers_per_group must be a power of two between 1 and 32")
    return emit(RegisterResidentOp(value.handle, name, count), value.type)


def amd_register_handoff(value: tensor, register_class: str = "vgpr") -> tensor:
    """`value`, moved to registers of one class."""
    name = unwrap(register_class)
    _check_resident(value, name)
    return emit(RegisterHandoffOp(value.handle, name), value.type)


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
    name, is_new = unwrap(accumulator_register_class), unwrap(initialize)
    if resident not in _RESIDENT:
        raise AssertionError("resident_operand must be None, 0, or 1")
    if role not in _ROLES:
        raise AssertionError('accumulator_role must be either "transient" or "persistent"')
    if name not in (None, *_CLASSES):
        raise AssertionError('accumulator_register_class must be None, "agpr", or "vgpr"')
    if not isinstance(is_new, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("initialize must be a constexpr bool")
    op = ScheduledMfmaOp(
        operands=[a.handle, b.handle, acc.handle],
        result_types=[acc.handle.type],
        properties={
            "resident": StringAttr(_RESIDENT[resident]),
            "accumulator": StringAttr(role),
            "register_class": StringAttr(name or "auto"),
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
    extents, element, requested = unwrap(tuple(shape)), unwrap(dtype), unwrap(layout)
    if requested is None:
        return full(extents, 0, element)
    if not isinstance(requested, layout_encoding):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("zeros layout must be a TLX layout encoding")
    type = block_type(element, extents)
    encoding = NoVerifyLayout(register_encoding(requested, extents, element))
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
