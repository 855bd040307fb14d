"""Layouts by name: swizzles of 32, 64 and 128 bytes, fragments of matrix instructions, replicas.

A swizzle exchanges the 16-byte chunks of a row with an exclusive or of the row, so that a column of
a tile is spread over the banks of shared memory. It is the layout that TMA writes and wgmma reads:

    32 bytes   chunk ^ (row % 8) // 4        a quarter of the banks
    64 bytes   chunk ^ (row % 8) // 2        half of them
    128 bytes  chunk ^ row % 8               all

Columns beyond that width are in further panels, each with all rows: an element is at (panel, row,
column in the panel).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import Buffer, BufferRegion, Element, shape_text
from tilewright.language.T.layouts import Fragment, Layout, make_linear_layout
from tilewright.language.T.loop_forms import BAD_ARGUMENT

_CHUNK_BITS = 128
_ROWS = 8
"""Rows after which a swizzle repeats."""
_WIDTHS = (128, 64, 32)
"""Bytes of a row of a panel."""


def _geometry(name: str, arguments: tuple[Any, ...]) -> tuple[tuple[int, ...], int]:
    """Shape and bits of an element: of a buffer, or given as rows, columns and bits."""
    if len(arguments) == 3:
        rows, columns, bits = arguments
        return (int(rows), int(columns)), int(bits)
    value = arguments[0]
    buffer = value.buffer if isinstance(value, (BufferRegion, Element)) else value
    if not isinstance(buffer, Buffer):
        raise FrontendError(
            f"{name} takes a buffer, or rows, columns and the bits of an element",
            code=BAD_ARGUMENT,
        )
    return tuple(buffer.shape), buffer.dtype.bits


def _swizzle(name: str, arguments: tuple[Any, ...], width: int) -> Layout:
    shape, bits = _geometry(name, arguments)
    chunk = _CHUNK_BITS // bits
    columns = width * 8 // bits
    if len(shape) < 2 or shape[-1] % columns or shape[-2] % _ROWS:
        raise ValueError(
            f"{name}: a swizzle of {width} bytes needs a multiple of {_ROWS} rows and of {columns} "
            f"columns, got {shape_text(shape)}"
        )
    share = _ROWS * 16 // width

    def forward(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        inside = column % columns
        turned = (inside // chunk) ^ (row % _ROWS // share)
        return [*outer, column // columns, row, turned * chunk + inside % chunk]

    return Layout(shape, forward)


def _named(name: str, width: int, part: str) -> Callable[..., Layout]:
    def make(*arguments: Any) -> Layout:
        return _swizzle(name, arguments, width)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The swizzle of {width} bytes, over {part} of the banks."
    return make


make_full_bank_swizzled_layout = _named("make_full_bank_swizzled_layout", 128, "all")
make_half_bank_swizzled_layout = _named("make_half_bank_swizzled_layout", 64, "half")
make_quarter_bank_swizzled_layout = _named("make_quarter_bank_swizzled_layout", 32, "a quarter")


def make_wgmma_swizzled_layout(
    buffer: Any, continuity: int | None = None, k_major: bool = True
) -> Layout:
    """The widest swizzle that the columns of an operand allow, or rows as they are."""
    del k_major  # either dimension may be the contiguous one
    shape, bits = _geometry("make_wgmma_swizzled_layout", (buffer,))
    columns = shape[-1] if continuity is None else continuity
    for width in _WIDTHS:
        if columns * bits % (width * 8) == 0 and len(shape) > 1 and shape[-2] % _ROWS == 0:
            return _swizzle("make_wgmma_swizzled_layout", (buffer,), width)
    return make_linear_layout(buffer)


def _pairs_of_rows(row: Any, column: Any) -> tuple[Any, list[Any]]:
    """Thread and register."""
    return column // 2 + 4 * row, [column % 2]


def _pairs_of_columns(row: Any, column: Any) -> tuple[Any, list[Any]]:
    return _pairs_of_rows(column, row)


def make_gemm_fragment_8x8() -> Fragment:
    """A matrix of 8 x 8 as ``ldmatrix`` gives it to a warp: two elements of a row per thread."""
    return Fragment((8, 8), _pairs_of_rows)


def make_gemm_fragment_8x8_transposed() -> Fragment:
    """The same of the transposed matrix."""
    return Fragment((8, 8), _pairs_of_columns)


def make_fully_replicated_layout_fragment(buffer: Any, threads: int) -> Fragment:
    """Every thread holds all elements."""
    shape, _ = _geometry("make_fully_replicated_layout_fragment", (buffer,))

    def register(*indices: Any) -> list[Any]:
        flat: Any = 0
        for size, index in zip(shape, indices, strict=True):
            flat = flat * size + index
        return [flat]

    return Fragment(
        shape,
        forward_thread_fn=lambda *indices: indices[-1],
        forward_index_fn=register,
        replicate=int(threads),
    )
