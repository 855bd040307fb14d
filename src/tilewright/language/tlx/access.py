"""Loads and stores of buffers: between registers and shared or tensor memory.

A tensor that is loaded from or stored to tensor memory passes through a layout of registers that
the hardware can move in one instruction; which one is chosen later, and other ops need not care.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute

from tilewright.dialects.tlx import (
    AssertSameLayoutExpectedOp,
    AssertSameLayoutOp,
    DummyRegisterLayout,
    DumpLayoutOp,
    NoVerifyLayout,
    UserLayout,
)
from tilewright.dialects.ttg import (
    LocalGatherOp,
    LocalLoadOp,
    LocalScatterOp,
    LocalStoreOp,
)
from tilewright.dialects.ttng import TMEMCopyOp, TMEMLoadOp, TMEMStoreOp
from tilewright.dialects.type_utils import with_encoding
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import scalar_constant, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import block_type, int1, int8, uint8
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.allocate import check_tensor_memory
from tilewright.language.tlx.demands import release, require
from tilewright.language.tlx.layouts import (
    DummyTMEMLayoutEncoding,
    layout_encoding,
    tensor_memory_scales_layout_encoding,
)
from tilewright.language.tlx.register_layouts import register_encoding
from tilewright.language.tlx.storage import async_token, buffered_tensor, storage_kind

_SCALES = (int8, uint8)


def _check_flags(coordinates: object, group: object) -> None:
    if not isinstance(coordinates, bool):
        raise AssertionError(
            f"rematerialize_coordinates must be a constexpr bool, got {type(coordinates).__name__}"
        )
    is_integer = isinstance(group, int) and not isinstance(group, bool) and group >= 0
    if group is not None and not is_integer:
        raise AssertionError(
            "rematerialize_coordinates_group must be a non-negative constexpr int or None"
        )
    if coordinates and group is not None:
        raise AssertionError(
            "rematerialize_coordinates and rematerialize_coordinates_group are mutually exclusive"
        )


def local_load(
    src: buffered_tensor,
    token: async_token | None = None,
    layout: layout_encoding | None = None,
    relaxed: bool = False,
    rematerialize_coordinates: bool = False,
    rematerialize_coordinates_group: int | None = None,
) -> tensor:
    """The contents of a buffer as a tensor.

    `token` stands for copies that must be complete. `layout` is the layout in registers; without
    it the compiler chooses. The rest are hints for AMD targets.
    """
    encoding = unwrap(layout)
    coordinates = unwrap(rematerialize_coordinates)
    group = unwrap(rematerialize_coordinates_group)
    _check_flags(coordinates, group)
    type = block_type(src.dtype, src.shape)
    waited = None if token is None else token.handle
    if src.type.storage == storage_kind.tmem:
        check_tensor_memory()
        return _load_tensor_memory(src, type, encoding)
    if encoding is None:
        op = LocalLoadOp(src.handle, type.to_ir(), waited)
    else:
        op = LocalLoadOp(src.handle, _laid_out(type, encoding), waited)
    if not current_options().target.is_cuda:
        if token is not None or unwrap(relaxed):
            op.attributes["ttg.amdg.syncedViaAsyncWait"] = IntegerAttr.from_bool(True)
        if coordinates:
            op.attributes["tlx.rematerialize_coordinates"] = UnitAttr()
        if group is not None:
            op.attributes["tlx.rematerialize_coordinates_group"] = IntegerAttr(group, i32)
    return emit(op, type)


def _laid_out(type: block_type, layout: layout_encoding) -> Attribute:
    """The IR type of a tensor in a layout that the user chose."""
    encoding = register_encoding(layout, type.shape, type.scalar)
    return with_encoding(type.to_ir(), NoVerifyLayout(UserLayout(encoding)))


def _tensor_memory_layout(buffer: buffered_tensor) -> DummyRegisterLayout:
    return DummyRegisterLayout(buffer.shape, buffer.dtype.to_ir(), tmem_compatible=True)


def _load_tensor_memory(
    src: buffered_tensor, type: block_type, layout: layout_encoding | None
) -> tensor:
    if layout is not None:
        return emit(TMEMLoadOp(src.handle, _laid_out(type, layout)), type)
    loaded = with_encoding(type.to_ir(), _tensor_memory_layout(src))
    value = current().insert(TMEMLoadOp(src.handle, loaded)).result
    return tensor(release(value), type)


def local_store(dst: buffered_tensor, src: Operand) -> None:
    """Replace the contents of a buffer by a tensor."""
    value = to_tensor(src)
    if dst.type.storage != storage_kind.tmem:
        current().insert(LocalStoreOp(value.handle, dst.handle))
        return
    check_tensor_memory()
    moved = require(value.handle, _tensor_memory_layout(dst))
    allowed = scalar_constant(True, int1)
    current().insert(TMEMStoreOp(moved, dst.handle, allowed.handle))


def local_gather(
    src: buffered_tensor, indices: tensor, axis: int, token: async_token | None = None
) -> tensor:
    """Elements of a buffer by index: ``result[i, j] = src[i, indices[i, j]]`` for axis 1."""
    if src.type.storage != storage_kind.smem:
        raise AssertionError("local_gather only supports shared memory!")
    type = block_type(src.dtype, indices.shape)
    waited = None if token is None else token.handle
    op = LocalGatherOp(src.handle, indices.handle, unwrap(axis), type.to_ir(), waited)
    return emit(op, type)


def local_scatter(
    dst: buffered_tensor,
    src: tensor,
    indices: tensor,
    axis: int,
    token: async_token | None = None,
) -> None:
    """Write elements of a buffer by index: ``dst[i, indices[i, j]] = src[i, j]`` for axis 1."""
    if dst.type.storage != storage_kind.smem:
        raise AssertionError("local_scatter only supports shared memory!")
    waited = None if token is None else token.handle
    op = LocalScatterOp(dst.handle, src.handle, indices.handle, unwrap(axis), waited)
    current().insert(op)


def tmem_copy(src: buffered_tensor, dst: buffered_tensor) -> None:
    """Start copying shared memory to tensor memory."""
    for name, buffer in (("source", src), ("destination", dst)):
        if not isinstance(buffer, buffered_tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise AssertionError(f"{name} must be a buffered tensor")
    if src.type.storage != storage_kind.smem:
        raise AssertionError("source must be in shared memory")
    if dst.type.storage != storage_kind.tmem:
        raise AssertionError("destination must be in tensor memory")
    check_tensor_memory()
    is_undecided = isinstance(
        dst.type.layout, (DummyTMEMLayoutEncoding, tensor_memory_scales_layout_encoding)
    )
    if is_undecided and dst.dtype in _SCALES:
        _check_scales(src, dst)
    current().insert(TMEMCopyOp(src.handle, dst.handle))


def _check_scales(src: buffered_tensor, dst: buffered_tensor) -> None:
    """Scale factors are copied in packed blocks of 128 rows and 4 columns."""
    if src.dtype in _SCALES and len(dst.shape) == 2:
        rows, columns = dst.shape
        down, across = rows // 128, columns // 4
        packed = [
            (down, across, 32, 16),
            (down, across, 32, 4, 4),
            (1, down, across, 2, 256),
            (down, across * 512),
        ]
        if rows == 128 and columns % 16 == 0:
            packed.append((32 * (columns // 16), 16))
        if rows % 128 == 0 and columns % 4 == 0 and src.shape in packed:
            return
    raise AssertionError(
        "scale tmem_copy requires an explicit packed i8 SMEM shape matching the rank-2 TMEM scale "
        "shape; accepted source shapes are [rows / 128, cols / 4, 32, 16], "
        "[rows / 128, cols / 4, 32, 4, 4], [1, rows / 128, cols / 4, 2, 256], "
        "[rows / 128, (cols / 4) * 512], or [32 * num_blocks, 16] for a [128, 16 * num_blocks] "
        "destination"
    )


# -- looking at layouts ---------------------------------------------------------------------------


def dump_layout(x: tensor | buffered_tensor) -> None:
    """Print, when the kernel is compiled, the layout that `x` ends up with."""
    current().insert(DumpLayoutOp(x.handle))


def assert_same_layout(
    lhs: tensor | buffered_tensor, rhs: tensor | buffered_tensor | layout_encoding
) -> None:
    """Fail to compile unless `lhs` ends up in the layout of `rhs`, or in the layout `rhs`."""
    other = unwrap(rhs)
    if isinstance(other, (tensor, buffered_tensor)):
        current().insert(AssertSameLayoutOp(lhs.handle, other.handle))
        return
    if not isinstance(other, layout_encoding):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("`rhs` must be a TLX tensor/buffer value or layout encoding")
    expected = register_encoding(other, lhs.shape, lhs.dtype)
    current().insert(AssertSameLayoutExpectedOp(lhs.handle, expected))
