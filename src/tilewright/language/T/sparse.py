"""``T.gemm_sp``: a GEMM whose A has two elements of every four, and metadata.

    A_shared   (M, K / 2)        the elements that are stored, two of each group of four
    E_shared   (M, K / f)        4 bits for each group, in order: the index of the first element in
                                 bits 0-1, of the second in bits 2-3; f elements of A for each of E

Of 32-bit elements one of two is stored, and its four bits are those of its two halves: 0b0100 for
the first, 0b1110 for the second.

The tile is expanded in shared memory and multiplied as a dense one: results are those of sparse
tensor cores, their speed and their savings in shared memory are not.
"""

from __future__ import annotations

from typing import Any

from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T import scalars
from tilewright.language.T.allocate import allocated
from tilewright.language.T.buffers import Buffer, BufferRegion, shape_text
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.expressions import constant, convert
from tilewright.language.T.kernel_warnings import warn
from tilewright.language.T.loop_forms import BAD_ARGUMENT, Parallel, as_sequence
from tilewright.language.T.session import effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.tile_ops import SHAPES, GemmWarpPolicy, gemm, region

_BITS_PER_GROUP = 4


def group_of(bits: int) -> tuple[int, int]:
    """How many elements of how many are stored."""
    return (1, 2) if bits == 32 else (2, 4)


def gemm_sp(
    A_sparse: Any,
    E: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_E: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    annotations: Any = None,
) -> None:
    """``C (+)= A @ op(B)``, A given by its elements and their indices; see the module."""
    open_kernel("T.gemm_sp")
    del wg_wait, annotations  # the GEMM has ended when this returns
    a, e = region("gemm_sp", "A_sparse", A_sparse), region("gemm_sp", "E", E)
    dense = _expanded(a, e, bool(transpose_A), bool(transpose_E))
    warn("T.gemm_sp expands A in shared memory and multiplies it as a dense tile")
    gemm(
        dense,
        B,
        C,
        transpose_B=transpose_B,
        policy=policy,
        clear_accum=clear_accum,
        k_pack=k_pack,
    )


wgmma_gemm_sp = gemm_sp


def _matrix(name: str, part: BufferRegion, is_transposed: bool) -> tuple[int, int]:
    sizes = [size for size in part.extents[-2:] if isinstance(size, int)]
    if len(sizes) != 2 or len(part.extents) != 2:
        raise FrontendError(
            f"T.gemm_sp: {name} must be a matrix, got {part.buffer.name} with extents "
            f"{shape_text(part.extents)}",
            code=SHAPES,
        )
    rows, columns = sizes
    return (columns, rows) if is_transposed else (rows, columns)


def _expanded(a: BufferRegion, e: BufferRegion, transpose_a: bool, transpose_e: bool) -> Buffer:
    """A tile of shared memory with all elements of A."""
    count, group = group_of(a.dtype.bits)
    rows, stored = _matrix("A_sparse", a, transpose_a)
    depth = stored * group // count
    per_element = e.dtype.bits // _BITS_PER_GROUP
    if not e.dtype.is_integer:
        raise FrontendError(
            f"T.gemm_sp: E holds integers, got {e.dtype} in {e.buffer.name}", code=BAD_ARGUMENT
        )
    found, expected = _matrix("E", e, transpose_e), (rows, depth // group // per_element)
    if found != expected:
        raise FrontendError(
            f"T.gemm_sp: {e.buffer.name} is {shape_text(found)}, and {shape_text(expected)} is "
            f"expected: {per_element} groups of {group} elements in each {e.dtype}, for "
            f"{a.buffer.name} of {rows} rows and {depth} elements along K",
            code=SHAPES,
        )
    name = f"{a.buffer.name}_dense"
    dense = allocated("gemm_sp", (rows, depth), a.dtype, "shared.dyn", name=name)
    loop = Parallel([rows, depth // group], {})
    block, variables = loop.enter(["", ""])
    row, position = as_sequence(variables)
    with current().at(block):
        code = _element(e, row, position // per_element, transpose_e)
        unsigned = scalars.reinterpret(code, DTYPES[f"uint{e.dtype.bits}"])
        shift = convert(position % per_element * _BITS_PER_GROUP, unsigned.dtype)
        nibble = convert(scalars.shift_right(unsigned, shift), DTYPES["uint32"])
        positions = [
            scalars.bitwise_and(scalars.shift_right(nibble, 2 * at), 3) for at in range(count)
        ]
        if count == 1:
            positions = [scalars.shift_right(positions[0], 1)]
        values = [_element(a, row, position * count + at, transpose_a) for at in range(count)]
        for target in range(group):
            value: Any = constant(0, a.dtype)
            for at in reversed(range(count)):
                value = scalars.Select(positions[at] == target, values[at], value)
            dense[row, position * group + target] = value
    effect(loop.close(block))
    return dense


def _element(part: BufferRegion, row: Any, column: Any, is_transposed: bool) -> Any:
    index = (column, row) if is_transposed else (row, column)
    shifted = [
        each if isinstance(offset, int) and offset == 0 else each + offset
        for each, offset in zip(index, part.offsets, strict=True)
    ]
    return part.buffer[tuple(shifted)].value()
