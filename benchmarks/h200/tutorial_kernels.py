"""Kernels in the manner of Triton's tutorials 04 to 11 that `kernels.py` and `examples/tl` lack.

Each has what its tutorial is about: a function of the math library, sizes and addresses that
are read from memory, descriptors made in the kernel, programmatic dependent launch, and the two
GEMM loops over four operands of attention's backward pass. `peers` makes the copy for Triton.
"""

import tilewright as tw
from tilewright import tl
from tilewright.language.tl.extra import libdevice


@tw.jit
def masked_dropout_kernel(x_ptr, keep_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    """The mask is an array."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    keep = tl.load(keep_ptr + at, mask=inside)
    tl.store(out_ptr + at, tl.where(keep != 0, x / (1 - p), 0.0), mask=inside)


@tw.jit
def asin_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(out_ptr + at, libdevice.asin(x), mask=inside)


@tw.jit
def dependent_add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Begins while the kernel before it ends."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out_ptr + at, x + y, mask=inside)


@tw.jit
def tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    band = tile // (GROUP * tiles_n)
    inside = tile % (GROUP * tiles_n)
    rows = min(tiles_m - band * GROUP, GROUP)
    return band * GROUP + inside % rows, inside // rows


@tw.jit
def described_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A tile of a GEMM by descriptors; `b` has a row for each column of the result."""
    tile_m, tile_n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = a_desc.load([tile_m * BM, k * BK])
        b = b_desc.load([tile_n * BN, k * BK])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([tile_m * BM, tile_n * BN], acc.to(c_desc.dtype))


@tw.jit
def persistent_pointers_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Persistent, by pointers."""
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    depth = tl.arange(0, BK)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP)
        rows = tile_m * BM + tl.arange(0, BM)
        columns = tile_n * BN + tl.arange(0, BN)
        rows = tl.where(rows < M, rows, 0)
        columns = tl.where(columns < N, columns, 0)
        rows = tl.max_contiguous(tl.multiple_of(rows, BM), BM)
        columns = tl.max_contiguous(tl.multiple_of(columns, BN), BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            at = k * BK + depth
            a_ptrs = a_ptr + rows[:, None] * stride_am + at[None, :] * stride_ak
            b_ptrs = b_ptr + at[:, None] * stride_bk + columns[None, :] * stride_bn
            a = tl.load(a_ptrs, mask=depth[None, :] < K - k * BK, other=0.0)
            b = tl.load(b_ptrs, mask=depth[:, None] < K - k * BK, other=0.0)
            acc = tl.dot(a, b, acc)
        rows = tile_m * BM + tl.arange(0, BM)
        columns = tile_n * BN + tl.arange(0, BN)
        c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=inside)


@tw.jit
def own_descriptors_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Persistent, by descriptors that the kernel makes; the tile is stored in two halves."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN // 2])
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            a = a_desc.load([tile_m * BM, k * BK])
            b = b_desc.load([tile_n * BN, k * BK])
            acc = tl.dot(a, b.T, acc)
        halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        c_desc.store([tile_m * BM, tile_n * BN], left.to(c_ptr.dtype.element_ty))
        c_desc.store([tile_m * BM, tile_n * BN + BN // 2], right.to(c_ptr.dtype.element_ty))


@tw.jit
def grouped_kernel(
    a_addresses, b_addresses, c_addresses, sizes_ptr, strides_ptr, problems,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """GEMMs of several pairs of matrices; block sizes divide all extents."""
    tile = tl.program_id(0)
    end = 0
    for problem in range(problems):
        M = tl.load(sizes_ptr + problem * 3)
        N = tl.load(sizes_ptr + problem * 3 + 1)
        K = tl.load(sizes_ptr + problem * 3 + 2)
        tiles_n = tl.cdiv(N, BN)
        count = tl.cdiv(M, BM) * tiles_n
        while (tile >= end) & (tile < end + count):
            stride_a = tl.load(strides_ptr + problem * 3)
            stride_b = tl.load(strides_ptr + problem * 3 + 1)
            stride_c = tl.load(strides_ptr + problem * 3 + 2)
            a_ptr = tl.load(a_addresses + problem).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_addresses + problem).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_addresses + problem).to(tl.pointer_type(tl.float16))
            inner = tile - end
            rows = inner // tiles_n * BM + tl.arange(0, BM)
            columns = inner % tiles_n * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_ptrs = a_ptr + rows[:, None] * stride_a + depth[None, :]
            b_ptrs = b_ptr + depth[:, None] * stride_b + columns[None, :]
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(tl.cdiv(K, BK)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
                a_ptrs += BK
                b_ptrs += BK * stride_b
            c_ptrs = c_ptr + rows[:, None] * stride_c + columns[None, :]
            tl.store(c_ptrs, acc.to(tl.float16))
            tile += tl.num_programs(0)
        end += count


@tw.jit
def grouped_descriptors_kernel(
    a_addresses, b_addresses, c_addresses, sizes_ptr, strides_ptr, problems,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The same by descriptors of each problem; `b` has a row for each column of the result."""
    tile = tl.program_id(0)
    end = 0
    for problem in range(problems):
        M = tl.load(sizes_ptr + problem * 3)
        N = tl.load(sizes_ptr + problem * 3 + 1)
        K = tl.load(sizes_ptr + problem * 3 + 2)
        tiles_n = tl.cdiv(N, BN)
        count = tl.cdiv(M, BM) * tiles_n
        if (tile >= end) & (tile < end + count):
            stride_a = tl.load(strides_ptr + problem * 3)
            stride_b = tl.load(strides_ptr + problem * 3 + 1)
            stride_c = tl.load(strides_ptr + problem * 3 + 2)
            a_ptr = tl.load(a_addresses + problem).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_addresses + problem).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_addresses + problem).to(tl.pointer_type(tl.float16))
            a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BM, BK])
            b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [stride_b, 1], [BN, BK])
            c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BM, BN])
            while (tile >= end) & (tile < end + count):
                inner = tile - end
                row, column = inner // tiles_n * BM, inner % tiles_n * BN
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for k in range(tl.cdiv(K, BK)):
                    a = a_desc.load([row, k * BK])
                    b = b_desc.load([column, k * BK])
                    acc += tl.dot(a, b.T)
                c_desc.store([row, column], acc.to(tl.float16))
                tile += tl.num_programs(0)
        end += count


@tw.jit
def delta_kernel(out_ptr, grad_ptr, delta_ptr, BM: tl.constexpr, HEAD: tl.constexpr):
    """The sum over each row of the result times its gradient."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    at = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    out = tl.load(out_ptr + at)
    grad = tl.load(grad_ptr + at).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * grad, 1))


@tw.jit
def collect_keys(
    dk, dv, k, v, q_ptr, grad_ptr, lse_ptr, delta_ptr, columns, first, steps,
    BM: tl.constexpr, HEAD: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of keys and values, from tiles of queries."""
    rows = first + tl.arange(0, BM)
    dims = tl.arange(0, HEAD)
    q_ptrs = q_ptr + rows[None, :] * HEAD + dims[:, None]
    grad_ptrs = grad_ptr + rows[:, None] * HEAD + dims[None, :]
    at = first
    for _ in range(steps):
        q_t = tl.load(q_ptrs)
        rows = at + tl.arange(0, BM)
        lse = tl.load(lse_ptr + rows)
        p_t = tl.math.exp2(tl.dot(k, q_t) - lse[None, :])
        if MASKED:
            p_t = tl.where(rows[None, :] >= columns[:, None], p_t, 0.0)
        grad = tl.load(grad_ptrs)
        dv += tl.dot(p_t.to(tl.float16), grad)
        delta = tl.load(delta_ptr + rows)
        dp_t = tl.dot(v, tl.trans(grad)).to(tl.float32)
        ds_t = (p_t * (dp_t - delta[None, :])).to(tl.float16)
        dk += tl.dot(ds_t, tl.trans(q_t))
        at += BM
        q_ptrs += BM * HEAD
        grad_ptrs += BM * HEAD
    return dk, dv


@tw.jit
def collect_queries(
    dq, q, grad, lse, delta, k_ptr, v_ptr, rows, first, steps,
    BN: tl.constexpr, HEAD: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries, from tiles of keys and values."""
    columns = first + tl.arange(0, BN)
    dims = tl.arange(0, HEAD)
    k_ptrs = k_ptr + columns[None, :] * HEAD + dims[:, None]
    v_ptrs = v_ptr + columns[None, :] * HEAD + dims[:, None]
    at = first
    for _ in range(steps):
        k_t = tl.load(k_ptrs)
        v_t = tl.load(v_ptrs)
        p = tl.math.exp2(tl.dot(q, k_t) - lse)
        if MASKED:
            columns = at + tl.arange(0, BN)
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        dp = tl.dot(grad, v_t).to(tl.float32)
        ds = (p * (dp - delta[:, None])).to(tl.float16)
        dq += tl.dot(ds, tl.trans(k_t))
        at += BN
        k_ptrs += BN * HEAD
        v_ptrs += BN * HEAD
    return dq


@tw.jit
def attention_backward_kernel(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale, context,
    BLOCK: tl.constexpr, STEP: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """Causal; a program has a tile of keys, then one of queries. `k_ptr` holds scaled keys."""
    base = (tl.program_id(1) * context).to(tl.int64)
    q_ptr += base * HEAD
    k_ptr += base * HEAD
    v_ptr += base * HEAD
    grad_ptr += base * HEAD
    lse_ptr += base
    delta_ptr += base
    first = tl.program_id(0) * BLOCK
    tile = first + tl.arange(0, BLOCK)
    at = tile[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    k = tl.load(k_ptr + at)
    v = tl.load(v_ptr + at)
    dk = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    dv = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    dk, dv = collect_keys(
        dk, dv, k, v, q_ptr, grad_ptr, lse_ptr, delta_ptr, tile, first, BLOCK // STEP,
        STEP, HEAD, True,
    )  # fmt: skip
    later = first + BLOCK
    dk, dv = collect_keys(
        dk, dv, k, v, q_ptr, grad_ptr, lse_ptr, delta_ptr, tile, later, (context - later) // STEP,
        STEP, HEAD, False,
    )  # fmt: skip
    tl.store(dv_ptr + base * HEAD + at, dv.to(tl.float16))
    tl.store(dk_ptr + base * HEAD + at, (dk * scale).to(tl.float16))
    q = tl.load(q_ptr + at)
    grad = tl.load(grad_ptr + at)
    lse = tl.load(lse_ptr + tile)[:, None]
    delta = tl.load(delta_ptr + tile)
    dq = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    dq = collect_queries(
        dq, q, grad, lse, delta, k_ptr, v_ptr, tile, first, BLOCK // STEP, STEP, HEAD, True
    )
    dq = collect_queries(
        dq, q, grad, lse, delta, k_ptr, v_ptr, tile, 0, first // STEP, STEP, HEAD, False
    )
    tl.store(dq_ptr + base * HEAD + at, (dq * 0.6931471824645996).to(tl.float16))
