"""Tensor descriptors away from the matrix product, and the block pointers they replaced."""

import triton
import triton.language as tl

from ..case import COMMON, HOPPER_UP, case


@triton.jit
def descriptor_copy(src, dst, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(src, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    y = tl.make_tensor_descriptor(dst, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    at = [tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N]
    y.store(at, x.load(at))


@triton.jit
def descriptor_nan_padding(src, dst, M, N, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(src, [M, N], [N, 1], [BLOCK, BLOCK], padding_option="nan")
    value = tl.load_tensor_descriptor(x, [tl.program_id(0) * BLOCK, 0])
    y = tl.make_tensor_descriptor(dst, [M, N], [N, 1], [BLOCK, BLOCK], padding_option="zero")
    tl.store_tensor_descriptor(y, [tl.program_id(0) * BLOCK, 0], value)


@triton.jit
def descriptor_ranks(one, three, five, out, n, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(one, [n], [1], [BLOCK])
    b = tl.make_tensor_descriptor(three, [n, 4, BLOCK], [4 * BLOCK, BLOCK, 1], [1, 1, BLOCK])
    c = tl.make_tensor_descriptor(
        five, [n, 2, 2, 2, BLOCK], [8 * BLOCK, 4 * BLOCK, 2 * BLOCK, BLOCK, 1], [1, 1, 1, 1, BLOCK]
    )
    pid = tl.program_id(0)
    total = a.load([pid * BLOCK])
    total += b.load([pid, 1, 0]).reshape(BLOCK)
    total += c.load([pid, 0, 1, 1, 0]).reshape(BLOCK)
    tl.store(out + tl.arange(0, BLOCK), total)


@triton.jit
def descriptor_reduce_add(dst, src, M, N, BLOCK: tl.constexpr):
    square = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    desc = tl.make_tensor_descriptor(dst, [M, N], [N, 1], [BLOCK, BLOCK])
    desc.atomic_add([tl.program_id(0) * BLOCK, 0], tl.load(src + square))


@triton.jit
def descriptor_reduce_all(desc, src, BLOCK: tl.constexpr):
    square = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    value = tl.load(src + square)
    desc.atomic_add([0, 0], value)
    desc.atomic_min([0, BLOCK], value)
    desc.atomic_max([BLOCK, 0], value)
    desc.atomic_and([0, 2 * BLOCK], value)
    desc.atomic_or([2 * BLOCK, 0], value)
    desc.atomic_xor([BLOCK, BLOCK], value)


@triton.jit
def descriptor_reduce_extrema(desc, src, BLOCK: tl.constexpr):
    square = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    value = tl.load(src + square)
    desc.atomic_min([0, BLOCK], value)
    desc.atomic_max([BLOCK, 0], value)


@triton.jit
def descriptor_rows(table, dst, rows, M, N, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    index = tl.load(rows + tl.arange(0, COUNT))
    source = tl.make_tensor_descriptor(table, [M, N], [N, 1], [1, WIDTH])
    target = tl.make_tensor_descriptor(dst, [M, N], [N, 1], [1, WIDTH])
    column = tl.program_id(0) * WIDTH
    target.scatter(source.gather(index, column), index, column)


@triton.jit
def descriptor_loop(src, dst, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for i in tl.range(0, n, num_stages=3):
        total += src.load([i * BLOCK, 0])
    tl.store(dst + lane[:, None] * BLOCK + lane[None, :], total)


@triton.jit
def block_pointer_gemm(a, b, c, M, N, K, BLOCK: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    x = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BLOCK, BLOCK), (1, 0))
    y = tl.make_block_ptr(b, (K, N), (N, 1), (0, col), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, BLOCK):
        left = tl.load(x, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(y, boundary_check=(1,), padding_option="nan")
        acc = tl.dot(left, right, acc)
        x = tl.advance(x, (0, BLOCK))
        y = tl.advance(y, (BLOCK, 0))
    out = tl.make_block_ptr(c, (M, N), (N, 1), (row, col), (BLOCK, BLOCK), (1, 0))
    tl.store(out, acc.to(tl.float16), boundary_check=(0, 1))


MATRIX = dict(M="i32:16", N="i32:16")

CASES = (
    case(
        "descriptor_copy",
        descriptor_copy,
        dict(src="*fp32:16", dst="*fp32:16", **MATRIX),
        dict(BLOCK_M=32, BLOCK_N=64),
        targets=(*COMMON, "sm120", "gfx1250"),
    ),
    case(
        "descriptor_copy_u8",
        descriptor_copy,
        dict(src="*u8:16", dst="*u8:16", **MATRIX),
        dict(BLOCK_M=32, BLOCK_N=128),
        targets=HOPPER_UP,
    ),
    case(
        "descriptor_nan_padding",
        descriptor_nan_padding,
        dict(src="*fp16:16", dst="*fp16:16", **MATRIX),
        dict(BLOCK=64),
    ),
    case(
        "descriptor_ranks",
        descriptor_ranks,
        dict(one="*fp32:16", three="*fp32:16", five="*fp32:16", out="*fp32:16", n="i32:16"),
        dict(BLOCK=64),
    ),
    case(
        "descriptor_reduce_add",
        descriptor_reduce_add,
        dict(dst="*fp32:16", src="*fp32:16", **MATRIX),
        dict(BLOCK=32),
    ),
    case(
        "descriptor_reduce_i32",
        descriptor_reduce_all,
        dict(desc="tensordesc<i32[32, 32]>", src="*i32:16"),
        dict(BLOCK=32),
        targets=HOPPER_UP,
    ),
    case(
        "descriptor_reduce_u64",
        descriptor_reduce_all,
        dict(desc="tensordesc<u64[32, 32]>", src="*u64:16"),
        dict(BLOCK=32),
        targets=HOPPER_UP,
    ),
    case(
        "descriptor_reduce_f16_extrema",
        descriptor_reduce_extrema,
        dict(desc="tensordesc<fp16[32, 32]>", src="*fp16:16"),
        dict(BLOCK=32),
        targets=HOPPER_UP,
    ),
    case(
        "descriptor_rows",
        descriptor_rows,
        dict(table="*fp16:16", dst="*fp16:16", rows="*i32:16", **MATRIX),
        dict(COUNT=32, WIDTH=64),
        targets=("sm100", "sm80", "gfx942"),
    ),
    case(
        "descriptor_loop",
        descriptor_loop,
        dict(src="tensordesc<fp32[64, 64]>", dst="*fp32:16", n="i32"),
        dict(BLOCK=64),
    ),
    case(
        "block_pointer_gemm",
        block_pointer_gemm,
        dict(a="*fp16:16", b="*fp16:16", c="*fp16:16", K="i32:16", **MATRIX),
        dict(BLOCK=64),
        until=(3, 8),
    ),
)
