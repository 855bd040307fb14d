"""Single instructions of tensor cores, for kernels that keep operands in registers themselves.

    T.ptx_ldmatrix(False, 4, T.access_ptr(A_shared[row, column], "r"), T.access_ptr(a[0], "w"))
    T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32",
              a.data, 0, b.data, 0, c.data, 0)

Both are executed by whole warps: each lane names a row of a matrix in shared memory, or holds its
registers of the fragments in arrays of its own (``T.alloc_local``), in the order of the PTX manual.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv.matrix import LdMatrixOp, MmaOp
from tilewright.dialects.tile import Space, space_of
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.dialects.type_utils import shape_of
from tilewright.frontend.errors import FrontendError
from tilewright.ir.interfaces import constant_value
from tilewright.language.T.buffers import Buffer, BufferData
from tilewright.language.T.dtypes import int32
from tilewright.language.T.expressions import Expr, describe, index_expr, is_python_scalar
from tilewright.language.T.extern import Pointer, access_ptr
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel

_SHAPES = frozenset(((16, 8, 8), (16, 8, 16), (16, 8, 32)))
_COUNTS = (1, 2, 4)


def ptx_ldmatrix(trans: Any, num: Any, src: Any, dst: Any) -> None:
    """Load `num` matrices of 8 rows of 16 bytes; each lane passes the start of one row."""
    kernel("T.ptx_ldmatrix")
    if not is_python_scalar(num) or int(num) not in _COUNTS:
        raise FrontendError(
            f"T.ptx_ldmatrix loads 1, 2 or 4 matrices, got {describe(num)}", code=BAD_ARGUMENT
        )
    source, target = _address("src", src, "r"), _address("dst", dst, "w")
    space = space_of(source.base.type)
    if space is None or not space.is_shared:
        raise FrontendError(
            "T.ptx_ldmatrix reads shared memory: src must be an element of a buffer of "
            "T.alloc_shared",
            code=BAD_ARGUMENT,
        )
    transposed = bool(trans) if is_python_scalar(trans) else _flag(trans)
    effect(
        LdMatrixOp(
            source.base,
            _flat_index(source),
            _registers("T.ptx_ldmatrix", target.base),
            _flat_index(target),
            int(num),
            transposed=transposed,
        )
    )


def ptx_mma(
    dtype: Any,
    shape: str,
    a_layout: str,
    b_layout: str,
    a_dtype: str,
    b_dtype: str,
    c_dtype: str,
    a: Any,
    a_index: Any,
    b: Any,
    b_index: Any,
    c: Any,
    c_index: Any,
    saturate: Any = False,
) -> None:
    """``c += a @ b`` by a warp; the types are those of the arrays."""
    kernel("T.ptx_mma")
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape)
    sizes = tuple(map(int, found.groups())) if found is not None else ()
    if sizes not in _SHAPES or (a_layout, b_layout) != ("row", "col"):
        raise FrontendError(
            f"T.ptx_mma: {shape} with A by {a_layout} and B by {b_layout} is not supported: use "
            "m16n8k8, m16n8k16 or m16n8k32 with 'row' and 'col'",
            code=BAD_ARGUMENT,
        )
    operands = [
        (_registers("T.ptx_mma", _buffer(each).handle), index_expr(index).handle)
        for each, index in ((a, a_index), (b, b_index), (c, c_index))
    ]
    unsigned = a_dtype.startswith("u"), b_dtype.startswith("u")
    effect(MmaOp(operands[0], operands[1], operands[2], sizes, unsigned=unsigned))


def _flag(value: Any) -> bool:
    """A constant that was written as ``T.bool(...)``."""
    handle = getattr(value, "handle", None)
    found = constant_value(handle) if isinstance(handle, SSAValue) else None
    if found is None:
        raise FrontendError(
            f"T.ptx_ldmatrix: trans must be a constant, got {describe(value)}", code=BAD_ARGUMENT
        )
    return bool(getattr(getattr(found, "value", None), "data", 0))


def _address(name: str, value: Any, mode: str) -> PtrOfOp:
    pointer = value if isinstance(value, Pointer) else access_ptr(value, mode)
    owner = pointer.handle.owner
    if not isinstance(owner, PtrOfOp):
        raise FrontendError(
            f"T.ptx_ldmatrix: {name} must be an element, or T.access_ptr of one",
            code=BAD_ARGUMENT,
        )
    return owner


def _flat_index(address: PtrOfOp) -> SSAValue:
    """The element by its position in row-major order."""
    flat: Any = 0
    for size, index in zip(shape_of(address.base.type), address.indices, strict=True):
        flat = flat * size + Expr(index, int32)
    return index_expr(flat).handle


def _buffer(value: Any) -> Buffer:
    found = value.buffer if isinstance(value, BufferData) else value
    if not isinstance(found, Buffer):
        raise FrontendError(
            f"T.ptx_mma takes arrays of T.alloc_local, got {describe(value)}", code=BAD_ARGUMENT
        )
    return found


def _registers(op_name: str, buffer: SSAValue) -> SSAValue:
    owner = buffer.owner
    is_local = isinstance(owner, Operation) and space_of(buffer.type) is Space.LOCAL
    if not is_local:
        raise FrontendError(
            f"{op_name}: fragments are arrays of each thread, made by T.alloc_local",
            code=BAD_ARGUMENT,
        )
    return buffer
