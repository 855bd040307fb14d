"""Plain `tl` kernels of the usual kind, for two compilers.

The peers of our own kernels are these, compiled by Triton; and compiled by both they show what our
front end costs. `peers` makes the copy for Triton by changing the two imports.
"""

import tilewright as tw
from tilewright import tl


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)


@tw.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """A row in one block."""
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    weights = tl.exp(x - tl.max(x, 0))
    result = weights / tl.sum(weights, 0)
    tl.store(out_ptr + row + at, result.to(out_ptr.dtype.element_ty), mask=at < columns)


@tw.jit
def tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    band = tile // (GROUP * tiles_n)
    inside = tile % (GROUP * tiles_n)
    rows = min(tiles_m - band * GROUP, GROUP)
    return band * GROUP + inside % rows, inside // rows


@tw.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A tile of a product of row-major matrices, by pointers."""
    tile_m, tile_n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_ptrs = a_ptr + (rows % M)[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * N + (columns % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=depth[None, :] < K - k, other=0.0)
        b = tl.load(b_ptrs, mask=depth[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    c_ptrs = c_ptr + rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=inside)


@tw.jit
def matmul_tma_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Persistent, by descriptors: Triton pipelines the copies and the tiles."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            a = a_desc.load([tile_m * BM, k * BK])
            b = b_desc.load([k * BK, tile_n * BN])
            acc = tl.dot(a, b, acc)
        c_desc.store([tile_m * BM, tile_n * BN], acc.to(c_desc.dtype))


@tw.jit
def attend(
    acc, total, largest, q, k_desc, v_desc, base, rows, first, last, scale,
    BN: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Take the keys `first .. last` into account."""
    for start in range(first, last, BN):
        start = tl.multiple_of(start, BN)
        k = k_desc.load([base + start, 0])
        scores = tl.dot(q, k.T)
        if MASKED:
            columns = start + tl.arange(0, BN)
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e6)
        largest_now = tl.maximum(largest, tl.max(scores, 1) * scale)
        p = tl.math.exp2(scores * scale - largest_now[:, None])
        shrink = tl.math.exp2(largest - largest_now)
        acc = acc * shrink[:, None]
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        total = total * shrink + tl.sum(p, 1)
        largest = largest_now
    return acc, total, largest


@tw.jit
def attention_kernel(
    q_desc, k_desc, v_desc, o_desc, scale, context,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """A tile of queries of one head; the context is a multiple of both block sizes."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    base = tl.program_id(1) * context
    rows = tile * BM + tl.arange(0, BM)
    q = q_desc.load([base + tile * BM, 0])
    largest = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    clear = tile * BM if CAUSAL else context
    acc, total, largest = attend(
        acc, total, largest, q, k_desc, v_desc, base, rows, 0, clear, scale, BN, False
    )
    if CAUSAL:
        acc, total, largest = attend(
            acc, total, largest, q, k_desc, v_desc, base, rows, clear, clear + BM, scale, BN, True
        )
    result = acc / total[:, None]
    o_desc.store([base + tile * BM, 0], result.to(o_desc.dtype))
