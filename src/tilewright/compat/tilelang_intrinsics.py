"""``tilelang.cuda.intrinsics``: warps that load and multiply fragments themselves.

`TensorCoreIntrinEmitter` writes, into the kernel that is being traced, what one warp of a block
does for its tile of C: `ldmatrix_a` and `ldmatrix_b` load the operands of one step along K from
shared memory into arrays of each thread, `mma` multiplies them, `stmatrix` stores the result.

    warps of the block          block_row_warps x block_col_warps
    tile of a warp              warp_row_tiles x warp_col_tiles, in MMAs of 16 x 8 x k
    k of an MMA                 32 bytes of an operand: 16 halves, 32 bytes, 8 floats (TF32)
"""

from __future__ import annotations

from typing import Any

from tilewright.language import T
from tilewright.language.T.dtypes import dtype as Dtype

_ROWS = 16
_WARP = 32
_UNIT_BITS = 128
"""A row of a matrix that ``ldmatrix`` loads."""
_SWIZZLED_BITS = 512

_PTX_NAMES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "int8": "int8",
    "uint8": "uint8",
    "int32": "int32",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "tfloat32": "tf32",
}


def get_swizzle_layout(
    row_idx: Any, col_idx: Any, row_size: int, dtype: object, swizzle_bytes: int | None = None
) -> tuple[Any, Any, Any]:
    """Where an element is in a swizzled tile: panel of columns, row, column in the panel."""
    unit = _UNIT_BITS // Dtype(dtype).bits
    row_bytes = Dtype(dtype).bits * row_size // 8
    if row_bytes % 32:
        raise ValueError(f"a swizzled row is a multiple of 32 bytes, got {row_bytes}")
    units = (min(128, row_bytes) if swizzle_bytes is None else int(swizzle_bytes)) // 16
    chunk, inside = col_idx // unit, col_idx % unit
    turned = (chunk % units) ^ ((row_idx % 8) // (8 // units))
    return chunk // units, row_idx, turned * unit + inside


def make_mma_swizzle_layout(shared_buf: Any, is_smooth: bool = False) -> Any:
    """The swizzled layout of a buffer, or its own order where rows are too short."""
    shape, bits = shared_buf.shape, Dtype(shared_buf.dtype).bits
    if is_smooth or shape[-1] * bits % _SWIZZLED_BITS:
        return T.Layout(shape, lambda *indices: indices)

    def swizzled(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        return [*outer, *get_swizzle_layout(row, column, shape[-1], shared_buf.dtype)]

    return T.Layout(shape, swizzled)


def get_mma_micro_size(dtype: object) -> tuple[int, int, int]:
    """Rows, columns and k of the tiles that a warp works with."""
    return _ROWS, _ROWS, 256 // Dtype(dtype).bits


def mma_store_index_map(thread_id: Any, local_id: Any) -> tuple[Any, Any]:
    """Row and column, in a tile of 16 x 16, of an element of the accumulator."""
    row = 8 * (local_id % 4 // 2) + thread_id // 4
    column = 8 * (local_id // 4) + (thread_id % 4) * 2 + local_id % 2
    return row, column


class TensorCoreIntrinEmitter:
    """Writes the work of one warp with tensor cores."""

    def __init__(
        self,
        a_dtype: object = "float16",
        b_dtype: object = "float16",
        accum_dtype: object = "float16",
        a_transposed: bool = False,
        b_transposed: bool = False,
        block_row_warps: int = 2,
        block_col_warps: int = 2,
        warp_row_tiles: int = 8,
        warp_col_tiles: int = 8,
        chunk: int = 16,
        reduce_k: int = 1,
        num_elems_per_byte: int = 1,
        is_m_first: bool | None = False,
        thread_var: Any = None,
    ) -> None:
        self.a_dtype, self.b_dtype = Dtype(a_dtype), Dtype(b_dtype)
        self.accum_dtype = Dtype(accum_dtype)
        self.a_transposed, self.b_transposed = a_transposed, b_transposed
        self.block_row_warps, self.block_col_warps = block_row_warps, block_col_warps
        self.warp_row_tiles, self.warp_col_tiles = warp_row_tiles, warp_col_tiles
        self.chunk, self.reduce_k = chunk, reduce_k
        self.is_m_first, self.thread_var = bool(is_m_first), thread_var
        if warp_row_tiles % _ROWS or warp_col_tiles % 8:
            raise ValueError(
                f"the tile of a warp is {warp_row_tiles} x {warp_col_tiles}: its rows must be a "
                "multiple of 16, its columns of 8"
            )
        for each in (self.a_dtype, self.b_dtype, self.accum_dtype):
            if each not in _PTX_NAMES:
                raise ValueError(f"tensor cores do not multiply {each}")
        self.micro_size_x = _ROWS
        self.micro_size_y = self.n_dim = _ROWS if warp_col_tiles % _ROWS == 0 else 8
        self.micro_size_k = self.k_dim = min(256 // self.a_dtype.bits, chunk)
        self.warp_rows = warp_row_tiles // self.micro_size_x
        self.warp_cols = warp_col_tiles // self.micro_size_y
        self.local_size_a = self.micro_size_x * self.k_dim // _WARP
        self.local_size_b = self.micro_size_y * self.k_dim // _WARP
        self.local_size_out = self.micro_size_x * self.micro_size_y // _WARP
        self.threads = _WARP * block_row_warps * block_col_warps * reduce_k
        self.mma_prefix = f"m16n8k{self.k_dim}"

    # -- threads -----------------------------------------------------------------------------

    def get_thread_binding(self) -> Any:
        return T.get_thread_binding() if self.thread_var is None else self.thread_var

    def extract_thread_binding(
        self, thread_id: Any, is_m_first: bool | None = None
    ) -> tuple[Any, Any, Any]:
        """The lane, and the column and the row of the warp."""
        warp = thread_id // _WARP
        rows, columns = self.block_row_warps, self.block_col_warps
        if self.is_m_first if is_m_first is None else is_m_first:
            return thread_id % _WARP, warp % columns, warp // columns % rows
        return thread_id % _WARP, warp // rows % columns, warp % rows

    # -- operands ----------------------------------------------------------------------------

    def ldmatrix_a(self, A_local_buf: Any, A_shared_buf: Any, ki: Any, rk: Any = 0) -> None:
        """The rows of this warp at step `ki` along K."""
        lane, _, warp_m = self.extract_thread_binding(self.get_thread_binding())
        matrix, row = lane // 8, lane % 8
        # Matrices of a fragment of A: rows 0-7, rows 8-15, then the same further along K.
        along, deep = matrix % 2 * 8, matrix // 2
        for tile in range(self.warp_rows):
            first = warp_m * self.warp_row_tiles + tile * self.micro_size_x
            self._load(
                (A_local_buf, tile * self.local_size_a, self.local_size_a),
                A_shared_buf,
                (first, along, row, deep, rk * self.chunk + ki * self.micro_size_k),
                self.a_dtype,
                is_transposed=self.a_transposed,
            )

    def ldmatrix_b(self, B_local_buf: Any, B_shared_buf: Any, ki: Any, rk: Any = 0) -> None:
        """The columns of this warp at step `ki` along K."""
        lane, warp_n, _ = self.extract_thread_binding(self.get_thread_binding())
        matrix, row = lane // 8, lane % 8
        # Matrices of two fragments of B: both along K for columns 0-7, then for columns 8-15.
        along, deep = matrix // 2 * 8, matrix % 2
        for tile in range(self.warp_cols):
            first = warp_n * self.warp_col_tiles + tile * self.micro_size_y
            self._load(
                (B_local_buf, tile * self.local_size_b, self.local_size_b),
                B_shared_buf,
                (first, along, row, deep, rk * self.chunk + ki * self.micro_size_k),
                self.b_dtype,
                is_transposed=not self.b_transposed,
            )

    def _load(
        self,
        registers: tuple[Any, int, int],
        shared: Any,
        corner: tuple[Any, Any, Any, Any, Any],
        dtype: Dtype,
        *,
        is_transposed: bool,
    ) -> None:
        """Load the matrices of one fragment; `is_transposed`: K is the first dimension."""
        local, start, count = registers
        first, along, row, deep, k = corner
        unit = _UNIT_BITS // dtype.bits
        if is_transposed and dtype.bits != 16:
            raise NotImplementedError(
                f"operands of {dtype} must be contiguous along K: ldmatrix transposes 16 bits only"
            )
        if is_transposed:
            source = shared[k + deep * 8 + row, first + along]
        else:
            source = shared[first + along + row, k + deep * unit]
        matrices = count * dtype.bits // 32
        T.ptx_ldmatrix(is_transposed, matrices, source, local[start])

    # -- MMAs and results --------------------------------------------------------------------

    def mma(self, A_local_buf: Any, B_local_buf: Any, C_local_buf: Any, k_inner: Any = 0) -> None:
        """All MMAs of a step."""
        for row in range(self.warp_rows):
            for column in range(self.warp_cols):
                self.mma_atom(A_local_buf, B_local_buf, C_local_buf, row, column)

    def mma_atom(
        self, A_local_buf: Any, B_local_buf: Any, C_local_buf: Any, inst_m_idx: Any, inst_n_idx: Any
    ) -> None:
        """The MMAs of one tile of 16 rows: one or two, of 8 columns each."""
        a_name, b_name, c_name = (
            _PTX_NAMES[each] for each in (self.a_dtype, self.b_dtype, self.accum_dtype)
        )
        atoms = self.micro_size_y // 8
        for atom in range(atoms):
            T.ptx_mma(
                self.accum_dtype,
                self.mma_prefix,
                "row",
                "col",
                a_name,
                b_name,
                c_name,
                A_local_buf,
                inst_m_idx * self.local_size_a,
                B_local_buf,
                inst_n_idx * self.local_size_b + atom * self.local_size_b // atoms,
                C_local_buf,
                (inst_m_idx * self.warp_cols + inst_n_idx) * self.local_size_out
                + atom * self.local_size_out // atoms,
            )

    def stmatrix(self, C_local_buf: Any, C_buf: Any, pid_m: Any = None, pid_n: Any = None) -> None:
        """Store the result: to a tile, to tiles of tiles (four dimensions), or to global memory."""
        lane, warp_n, warp_m = self.extract_thread_binding(self.get_thread_binding())
        if pid_m is not None and pid_n is not None:
            warp_m = pid_m * self.block_row_warps + warp_m
            warp_n = pid_n * self.block_col_warps + warp_n
        for row in range(self.warp_rows):
            for column in range(self.warp_cols):
                tile = (row * self.warp_cols + column) * self.local_size_out
                down, across = warp_m * self.warp_rows + row, warp_n * self.warp_cols + column
                for element in range(self.local_size_out):
                    i, j = mma_store_index_map(lane, element)
                    value = C_local_buf[tile + element]
                    if len(C_buf.shape) == 4:
                        C_buf[down, across, i, j] = value
                    else:
                        C_buf[down * self.micro_size_x + i, across * self.micro_size_y + j] = value
