"""Updates of memory that many threads or blocks make at once.

T.atomic_add(C[i, j], x)         one element
T.atomic_add(C[by * 64, 0], c)   a whole tile, as large as `c`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from tilewright.dialects.tile import AtomicOp
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import Buffer, BufferRegion, Element, ScalarCell, shape_text
from tilewright.language.T.expressions import Expr, as_type, describe, is_python_scalar
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel
from tilewright.language.T.symbols import Symbolic
from tilewright.language.T.tile_ops import SHAPES, head_region, may_fit, operand, region
from tilewright.language.T.vectors import Vector, lanes_of, vector_of

_EXTREMES = ("max", "min")
_TMA_DTYPES = ("float16", "bfloat16", "float32", "int32", "uint32", "uint64")
"""What ``cp.reduce.async.bulk.tensor`` adds."""


def _is_scalar(value: Any) -> bool:
    if isinstance(value, ScalarCell):
        return True
    return is_python_scalar(value) or isinstance(value, (Expr, Symbolic))


def _atomic(
    op_name: str,
    kind: str,
    dst: Any,
    value: Any,
    memory_order: str | None,
    return_prev: bool = False,
    use_tma: bool = False,
    width: int | None = None,
) -> Any:
    kernel(f"T.{op_name}")
    if kind in _EXTREMES and operand(op_name, "the destination", dst).dtype.is_unsigned:
        kind = f"u{kind}"
    if isinstance(dst, Element) and _is_scalar(value) and width is None:
        handle = as_type(value, dst.dtype)
        op = effect(
            AtomicOp(
                kind,
                dst.buffer.handle,
                dst.index_values(),
                handle,
                return_previous=return_prev,
                memory_order=memory_order,
            )
        )
        return Expr(op.results[0], dst.dtype) if return_prev else None
    if return_prev and width is not None:
        elements = vector_of(op_name, dst, width).lanes
        values = vector_of(op_name, value, width)
        return Vector(
            [
                cast("Expr", _atomic(op_name, kind, element, each, memory_order, return_prev=True))
                for element, each in zip(elements, lanes_of(op_name, values, width), strict=True)
            ]
        )
    if return_prev:
        raise FrontendError(
            f"T.{op_name}: return_prev is for one element, and a whole tile is updated here",
            code=BAD_ARGUMENT,
        )
    target, handle = _tile(op_name, dst, value, width)
    effect(
        AtomicOp(kind, target, (), handle, memory_order=memory_order, use_tma=use_tma, width=width)
    )
    return None


def _tile(op_name: str, dst: Any, value: Any, width: int | None) -> tuple[SSAValue, SSAValue]:
    target = operand(op_name, "the destination", dst)
    if _is_scalar(value) and not isinstance(value, Element):
        destination = region(op_name, "the destination", target)
        return destination.operand(), as_type(value, destination.dtype)
    source = operand(op_name, "the value", value)
    if isinstance(source, Element):
        source = _vector(source, width)
    if isinstance(target, Element):
        target = head_region(op_name, target, source.extents)
    if not may_fit(source.extents, target.extents):
        raise FrontendError(
            f"T.{op_name}: the extents differ: {source.buffer.name} gives "
            f"{shape_text(source.extents)}, {target.buffer.name} takes "
            f"{shape_text(target.extents)}",
            code=SHAPES,
        )
    return target.operand(), source.operand()


def _vector(head: Element, width: int | None) -> BufferRegion:
    """The `width` elements that begin at `head`."""
    extents = [1] * len(head.indices)
    extents[-1] = width or 1
    return BufferRegion(head.buffer, head.indices, extents)


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    use_tma: bool = False,
) -> Any:
    """Add to an element or to a tile; with `use_tma` a tile in shared memory, by a bulk copy."""
    dtype = operand("atomic_add", "the destination", dst).dtype
    if use_tma and dtype not in _TMA_DTYPES:
        raise FrontendError(
            f"TMA atomic add does not support dtype {dtype}: the supported scalar dtypes are "
            f"{', '.join(_TMA_DTYPES)}; leave out use_tma",
            code=BAD_ARGUMENT,
        )
    return _atomic("atomic_add", "add", dst, value, memory_order, return_prev, use_tma)


def atomic_max(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False
) -> Any:
    """The larger of what is there and `value`."""
    return _atomic("atomic_max", "max", dst, value, memory_order, return_prev)


def atomic_min(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False
) -> Any:
    """The smaller of what is there and `value`."""
    return _atomic("atomic_min", "min", dst, value, memory_order, return_prev)


def atomic_and(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False
) -> Any:
    """The bits that are set there and in `value`."""
    return _bitwise("atomic_and", "and", dst, value, memory_order, return_prev)


def atomic_or(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False
) -> Any:
    """The bits that are set there or in `value`."""
    return _bitwise("atomic_or", "or", dst, value, memory_order, return_prev)


def atomic_xor(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False
) -> Any:
    """The bits that are set there or in `value`, not in both."""
    return _bitwise("atomic_xor", "xor", dst, value, memory_order, return_prev)


def _bitwise(
    op_name: str, kind: str, dst: Any, value: Any, memory_order: str | None, return_prev: bool
) -> Any:
    dtype = operand(op_name, "the destination", dst).dtype
    if not dtype.is_integer:
        raise FrontendError(
            f"T.{op_name} is for integers, the destination is {dtype}", code=BAD_ARGUMENT
        )
    return _atomic(op_name, kind, dst, value, memory_order, return_prev)


def atomic_addx2(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Add two neighbouring elements at once."""
    return _atomic("atomic_addx2", "add", dst, value, None, return_prev, width=2)


def atomic_addx4(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Add four neighbouring elements at once."""
    return _atomic("atomic_addx4", "add", dst, value, None, return_prev, width=4)


def _element(op_name: str, value: Any) -> Element:
    if isinstance(value, Element):
        return value
    if isinstance(value, Buffer) and value.shape == (1,):
        return value[0]
    raise FrontendError(
        f"T.{op_name} takes one element of a buffer, got {describe(value)}", code=BAD_ARGUMENT
    )


_LOAD_ORDERS = ("relaxed", "consume", "acquire", "seq_cst")
_STORE_ORDERS = ("relaxed", "release", "seq_cst")


def _check_order(op_name: str, order: str, known: Sequence[str]) -> None:
    """A load cannot release, a store cannot acquire."""
    if order not in known:
        raise ValueError(
            f"T.{op_name} does not support memory_order {order!r}: expected one of "
            f"{', '.join(known)}"
        )


def atomic_load(src: Any, memory_order: str = "seq_cst") -> Expr:
    """Read an element that others write."""
    kernel("T.atomic_load")
    _check_order("atomic_load", memory_order, _LOAD_ORDERS)
    element = _element("atomic_load", src)
    op = AtomicOp(
        "load",
        element.buffer.handle,
        element.index_values(),
        return_previous=True,
        memory_order=memory_order,
    )
    return Expr(effect(op).results[0], element.dtype)


def atomic_store(dst: Any, src: Any, memory_order: str = "seq_cst") -> None:
    """Write an element that others read."""
    kernel("T.atomic_store")
    _check_order("atomic_store", memory_order, _STORE_ORDERS)
    element = _element("atomic_store", dst)
    value = as_type(src, element.dtype)
    effect(
        AtomicOp(
            "store", element.buffer.handle, element.index_values(), value, memory_order=memory_order
        )
    )
