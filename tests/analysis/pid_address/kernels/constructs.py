"""Small kernels with constructs that the corpus lacks; the ``.ttir`` files beside are Triton 3.9's.

The text was taken with ``triton.compile`` for sm_90, after its own optimisations; paths in locations
are shortened to the file name.
"""

import triton
import triton.language as tl


@triton.jit
def persistent_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK)
    num_n = tl.cdiv(N, BLOCK)
    for tile in range(pid, num_m * num_n, NUM_SMS):
        tm = tile // num_n
        tn = tile % num_n
        rm = tm * BLOCK + tl.arange(0, BLOCK)
        rn = tn * BLOCK + tl.arange(0, BLOCK)
        rk = tl.arange(0, BLOCK_K)
        acc = tl.zeros((BLOCK, BLOCK), tl.float32)
        a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :]
        b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :]
        for k in range(tl.cdiv(K, BLOCK_K)):
            a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BLOCK_K), other=0.0)
            b = tl.load(b_ptrs, mask=(rn[None, :] < N) & (rk[:, None] < K - k * BLOCK_K), other=0.0)
            acc = tl.dot(a, b, acc)
            a_ptrs += BLOCK_K
            b_ptrs += BLOCK_K * stride_bk
        c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :]
        tl.store(c_ptrs, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def grouped_gemm(
    a_ptrs,
    b_ptrs,
    sizes_m,
    sizes_n,
    sizes_k,
    lds,
    num_groups,
    NUM_SMS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(0)
    last = 0
    for g in range(num_groups):
        gm = tl.load(sizes_m + g)
        gn = tl.load(sizes_n + g)
        gk = tl.load(sizes_k + g)
        num_m = tl.cdiv(gm, BLOCK_M)
        num_n = tl.cdiv(gn, BLOCK_N)
        num = num_m * num_n
        while tile >= last and tile < last + num:
            lda = tl.load(lds + g)
            a = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            local = tile - last
            tm = local // num_n
            rm = tm * BLOCK_M + tl.arange(0, BLOCK_M)
            rk = tl.arange(0, BLOCK_K)
            ptrs = a + rm[:, None] * lda + rk[None, :]
            acc = tl.zeros((BLOCK_M, BLOCK_K), tl.float32)
            for kk in range(tl.cdiv(gk, BLOCK_K)):  # noqa: B007
                acc += tl.load(ptrs)
                ptrs += BLOCK_K
            out = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float32))
            tl.store(out + rm[:, None] * BLOCK_K + rk[None, :], acc)
            tile += NUM_SMS
        last = last + num


@triton.jit
def clamped_tail(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK)
    offs = start + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))


@triton.jit
def early_return(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))


@triton.jit
def branch_result(x_ptr, y_ptr, n, flag, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if flag > 0:
        start = pid * BLOCK
    else:
        start = n - (pid + 1) * BLOCK
    if pid < 4:
        shift = 0
    else:
        shift = 64
    offs = start + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs + shift, tl.load(x_ptr + offs))


@triton.jit
def while_loop(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK
    steps = 0
    total = tl.zeros((BLOCK,), tl.float32)
    while at < n:
        x = tl.load(x_ptr + at + tl.arange(0, BLOCK))
        total += x
        at += 4 * BLOCK
        steps += 1
    tl.store(y_ptr + pid * BLOCK + tl.arange(0, BLOCK), total)
    tl.store(y_ptr + steps, 1.0)


@triton.jit
def swizzled(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + (offs ^ 4), tl.load(x_ptr + offs))


@triton.jit
def interleave(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    both = tl.join(2 * lane, 2 * lane + 1)
    flat = tl.reshape(both, (2 * BLOCK,))
    base = tl.program_id(0) * 2 * BLOCK
    tl.store(y_ptr + base + flat, tl.load(x_ptr + base + flat))


@triton.jit
def triangular_walk(x_ptr, y_ptr, rows, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    ptrs = x_ptr + lane
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(rows):
        acc += tl.load(ptrs)
        ptrs += (i + 1) * BLOCK
    tl.store(y_ptr + lane, acc)


@triton.jit
def hinted_wrap(x_ptr, y_ptr, M, stride, BLOCK: tl.constexpr):
    tl.assume(M >= 1)
    tl.assume(stride % 8 == 0)
    pid = tl.program_id(0)
    offs = tl.max_contiguous(tl.multiple_of((pid * BLOCK + tl.arange(0, BLOCK)) % M, BLOCK), BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))


@triton.jit
def descriptor_arguments(a_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    for k in range(0, K, BLOCK_K):
        x = a_desc.load([pid * BLOCK_M, k])
        c_desc.store([pid * BLOCK_M, k], x)


@triton.jit
def grid_stride(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    np = tl.num_programs(0)
    for tile in range(pid, tl.cdiv(n, BLOCK), np):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
