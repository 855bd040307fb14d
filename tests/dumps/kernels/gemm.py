"""Matrix multiplication: pointers, descriptors, grids, loops and precisions."""

from typing import Any

import triton
import triton.language as tl

from ..case import COMMON, EVERYWHERE, HOPPER_UP, NVIDIA, Case, case


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    rows = tl.cdiv(M, BLOCK_M)
    per_group = GROUP * tl.cdiv(N, BLOCK_N)
    first = (pid // per_group) * GROUP
    height = min(rows - first, GROUP)
    return first + (pid % per_group) % height, (pid % per_group) // height


@triton.jit
def gemm_pointers(
    a, b, c, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    STAGES: tl.constexpr = None, FLATTEN: tl.constexpr = False, UNROLL: tl.constexpr = None,
    SINGLE_ACC: tl.constexpr = False, PRECISION: tl.constexpr = None,
    ACC: tl.constexpr = tl.float32, IMPRECISE: tl.constexpr = None,
):  # fmt: skip
    row, col = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    rm = row * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = col * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_tile = a + (rm % M)[:, None] * stride_a + rk[None, :]
    b_tile = b + rk[:, None] * stride_b + (rn % N)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
    for k in tl.range(
        0, tl.cdiv(K, BLOCK_K),
        num_stages=STAGES, flatten=FLATTEN, loop_unroll_factor=UNROLL,
        disallow_acc_multi_buffer=SINGLE_ACC,
    ):  # fmt: skip
        x = tl.load(a_tile, mask=rk[None, :] < K - k * BLOCK_K, other=0.0)
        y = tl.load(b_tile, mask=rk[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(
            x, y, acc, input_precision=PRECISION, max_num_imprecise_acc=IMPRECISE, out_dtype=ACC
        )
        a_tile += BLOCK_K
        b_tile += BLOCK_K * stride_b
    out = c + rm[:, None] * stride_c + rn[None, :]
    tl.store(out, acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def gemm_device_descriptors(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=WARP_SPECIALIZE):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([col, k]).T, acc)
    c_desc.store([row, col], acc.to(c.dtype.element_ty))


@triton.jit
def gemm_host_descriptors(
    a, b, c, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr = False, STAGES: tl.constexpr = None,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=WARP_SPECIALIZE, num_stages=STAGES):
        acc = tl.dot(a.load([row, k]), b.load([col, k]).T, acc)
    c.store([row, col], acc.to(c.dtype))


@triton.jit
def gemm_persistent(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
    HALVES: tl.constexpr = False,
):  # fmt: skip
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(
        tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN, warp_specialize=WARP_SPECIALIZE
    ):
        row, col = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            x = a.load([row * BLOCK_M, k * BLOCK_K])
            y = b.load([col * BLOCK_N, k * BLOCK_K])
            acc = tl.dot(x, y.T, acc)
        if HALVES:
            pairs = tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(pairs)
            c.store([row * BLOCK_M, col * BLOCK_N], left.to(c.dtype))
            c.store([row * BLOCK_M, col * BLOCK_N + BLOCK_N // 2], right.to(c.dtype))
        else:
            c.store([row * BLOCK_M, col * BLOCK_N], acc.to(c.dtype))


@triton.jit
def gemm_grouped(
    a_table, b_table, c_table, sizes, groups,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        M = tl.load(sizes + g * 3)
        N = tl.load(sizes + g * 3 + 1)
        K = tl.load(sizes + g * 3 + 2)
        columns = tl.cdiv(N, BLOCK_N)
        count = tl.cdiv(M, BLOCK_M) * columns
        while (tile >= done) & (tile < done + count):
            a = tl.load(a_table + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_table + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_table + g).to(tl.pointer_type(tl.float16))
            rm = (tile - done) // columns * BLOCK_M + tl.arange(0, BLOCK_M)
            rn = (tile - done) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
            rk = tl.arange(0, BLOCK_K)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                x = tl.load(a + rm[:, None] * K + k + rk[None, :], mask=rm[:, None] < M)
                y = tl.load(b + (k + rk[:, None]) * N + rn[None, :], mask=rn[None, :] < N)
                acc = tl.dot(x, y, acc)
            out = c + rm[:, None] * N + rn[None, :]
            tl.store(out, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))
            tile += PROGRAMS
        done += count


@triton.jit
def gemm_split_k(a, b, c, M, N, K, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    rk = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK * SPLITS):
        x = tl.load(a + rm[:, None] * K + (rk + k)[None, :])
        y = tl.load(b + (rk + k)[:, None] * N + rn[None, :])
        acc += tl.dot(x, y)
    out = c + rm[:, None] * N + rn[None, :]
    tl.atomic_add(out, acc, mask=(rm[:, None] < M) & (rn[None, :] < N), sem="relaxed")


@triton.jit
def gemm_batched(a, b, c, BATCH: tl.constexpr, BLOCK: tl.constexpr):
    z = tl.arange(0, BATCH)[:, None, None] * BLOCK * BLOCK
    square = tl.arange(0, BLOCK)[None, :, None] * BLOCK + tl.arange(0, BLOCK)[None, None, :]
    tl.store(c + z + square, tl.dot(tl.load(a + z + square), tl.load(b + z + square)))


@triton.jit
def gemm_two_products(q, k, v, out, BLOCK: tl.constexpr):
    square = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(q + square)
    s = tl.dot(x, tl.trans(tl.load(k + square)))
    p = (s * 0.125).to(x.dtype)
    tl.store(out + square, tl.dot(p, tl.load(v + square)))


@triton.jit
def gemm_conditional_acc(a, b, out, steps, every, BLOCK: tl.constexpr):
    square = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for i in tl.range(0, steps):
        x = tl.load(a + i * BLOCK * BLOCK + square)
        y = tl.load(b + i * BLOCK * BLOCK + square)
        acc = tl.dot(x, y, acc)
        if i % every == 0:
            tl.store(out + square, acc)
            acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    tl.store(out + BLOCK * BLOCK + square, acc)


HALF = dict(
    a="*fp16:16S", b="*fp16:16S", c="*fp16:16S", M="i32:16", N="i32:16", K="i32:16",
    stride_a="i32:16", stride_b="i32:16", stride_c="i32:16",
)  # fmt: skip
BIG = dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
SMALL = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)


# An absent argument with a default still has to be named as a constant.
DEFAULTS = dict(
    STAGES=None, FLATTEN=False, UNROLL=None, SINGLE_ACC=False, PRECISION=None, ACC=tl.float32,
    IMPRECISE=None,
)  # fmt: skip


def _pointer_case(
    name: str,
    element: str,
    out: str,
    tile: dict[str, int] = SMALL,
    targets: tuple[str, ...] = COMMON,
    extra: dict[str, Any] | None = None,
    **options: Any,
) -> Case:
    types = {**HALF, "a": f"*{element}:16", "b": f"*{element}:16", "c": f"*{out}:16"}
    constexprs = {**tile, "GROUP": 8, **DEFAULTS, **(extra or {})}
    return case(name, gemm_pointers, types, constexprs, targets=targets, **options)


def _descriptors(
    element: str, m: int, n: int, k: int, out_shape: tuple[int, int] | None = None
) -> dict[str, str]:
    rows, columns = out_shape or (m, n)
    return dict(
        a=f"tensordesc<{element}[{m}, {k}]>",
        b=f"tensordesc<{element}[{n}, {k}]>",
        c=f"tensordesc<{element}[{rows}, {columns}]>",
    )


PERSISTENT = dict(M="i32:16", N="i32:16", K="i32:16")


CASES = (
    case("gemm_f16", gemm_pointers, HALF, {**BIG, "GROUP": 8, **DEFAULTS}, targets=EVERYWHERE),
    case(
        "gemm_f16_eight_warps_four_stages",
        gemm_pointers,
        HALF,
        {**BIG, "BLOCK_N": 256, "GROUP": 8, **DEFAULTS},
        targets=NVIDIA,
        num_warps=8,
        num_stages=4,
    ),
    case(
        "gemm_f16_one_stage",
        gemm_pointers,
        HALF,
        {**SMALL, "GROUP": 1, **DEFAULTS},
        num_stages=1,
    ),
    _pointer_case("gemm_bf16", "bf16", "fp32", BIG),
    _pointer_case("gemm_f16_acc_f16", "fp16", "fp16", extra=dict(ACC=tl.float16)),
    _pointer_case("gemm_f32_default", "fp32", "fp32"),
    _pointer_case("gemm_f32_ieee", "fp32", "fp32", extra=dict(PRECISION="ieee")),
    _pointer_case("gemm_f32_tf32", "fp32", "fp32", extra=dict(PRECISION="tf32"), targets=NVIDIA),
    _pointer_case(
        "gemm_f32_tf32x3", "fp32", "fp32", extra=dict(PRECISION="tf32x3"), targets=NVIDIA
    ),
    _pointer_case("gemm_f32_bf16x3", "fp32", "fp32", extra=dict(PRECISION="bf16x3"), since=(3, 6)),
    _pointer_case("gemm_f32_bf16x6", "fp32", "fp32", extra=dict(PRECISION="bf16x6"), since=(3, 6)),
    _pointer_case("gemm_f64", "fp64", "fp64", extra=dict(ACC=tl.float64), targets=("sm80", "sm90")),
    _pointer_case(
        "gemm_int8",
        "i8",
        "i32",
        dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64),
        extra=dict(ACC=tl.int32),
        targets=("sm80", "sm90", "gfx942"),
    ),
    _pointer_case(
        "gemm_fp8e5",
        "fp8e5",
        "fp16",
        dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64),
    ),
    _pointer_case(
        "gemm_fp8e4nv_imprecise",
        "fp8e4nv",
        "fp32",
        dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=128),
        extra=dict(IMPRECISE=32),
        targets=HOPPER_UP,
    ),
    _pointer_case("gemm_fp8e4b8", "fp8e4b8", "fp32", targets=("gfx942",)),
    _pointer_case("gemm_loop_stages", "fp16", "fp16", extra=dict(STAGES=4)),
    _pointer_case("gemm_loop_unroll", "fp16", "fp16", extra=dict(UNROLL=2)),
    _pointer_case(
        "gemm_loop_hints",
        "fp16",
        "fp16",
        BIG,
        extra=dict(STAGES=3, FLATTEN=True, SINGLE_ACC=True),
    ),
    _pointer_case("gemm_two_ctas", "fp16", "fp16", BIG, targets=HOPPER_UP, num_ctas=2),
    _pointer_case(
        "gemm_two_ctas_wide",
        "fp16",
        "fp16",
        dict(BLOCK_M=256, BLOCK_N=128, BLOCK_K=64),
        targets=HOPPER_UP,
        num_ctas=2,
        num_warps=8,
    ),
    _pointer_case(
        "gemm_amd_options",
        "fp16",
        "fp16",
        BIG,
        targets=("gfx942",),
        matrix_instr_nonkdim=16,
        kpack=2,
        waves_per_eu=2,
    ),
    case(
        "gemm_device_descriptors",
        gemm_device_descriptors,
        dict(a="*fp16:16", b="*fp16:16", c="*fp16:16", M="i32:16", N="i32:16", K="i32:16"),
        {**BIG, "WARP_SPECIALIZE": False},
        targets=EVERYWHERE,
        target_since={"gfx1250": (3, 8)},
    ),
    case(
        "gemm_device_descriptors_specialized",
        gemm_device_descriptors,
        dict(a="*fp16:16", b="*fp16:16", c="*fp16:16", M="i32:16", N="i32:16", K="i32:16"),
        {**BIG, "BLOCK_M": 64, "WARP_SPECIALIZE": True},
        targets=HOPPER_UP,
    ),
    case(
        "gemm_device_descriptors_specialized_large",
        gemm_device_descriptors,
        dict(a="*fp16:16", b="*fp16:16", c="*fp16:16", M="i32:16", N="i32:16", K="i32:16"),
        {**BIG, "WARP_SPECIALIZE": True},
        targets=HOPPER_UP,
        unsteady=("sm90",),
    ),
    case(
        "gemm_device_descriptors_f8",
        gemm_device_descriptors,
        dict(a="*fp8e5:16", b="*fp8e5:16", c="*fp16:16", M="i32:16", N="i32:16", K="i32:16"),
        {**BIG, "WARP_SPECIALIZE": False},
        targets=HOPPER_UP,
    ),
    case(
        "gemm_host_descriptors",
        gemm_host_descriptors,
        {**_descriptors("fp16", 128, 128, 64), "K": "i32:16"},
        {**BIG, "WARP_SPECIALIZE": False, "STAGES": None},
        targets=EVERYWHERE,
        target_since={"gfx1250": (3, 8)},
    ),
    case(
        "gemm_host_descriptors_specialized",
        gemm_host_descriptors,
        {**_descriptors("fp16", 128, 128, 64), "K": "i32:16"},
        {**BIG, "WARP_SPECIALIZE": True, "STAGES": 3},
        targets=("sm100",),
    ),
    # The Hopper pass splits 128 rows between two consumers, which host descriptors do not survive.
    case(
        "gemm_host_descriptors_specialized_64",
        gemm_host_descriptors,
        {**_descriptors("fp16", 64, 128, 64), "K": "i32:16"},
        {**BIG, "BLOCK_M": 64, "WARP_SPECIALIZE": True, "STAGES": None},
        targets=HOPPER_UP,
    ),
    case(
        "gemm_persistent_specialized_64",
        gemm_persistent,
        {**_descriptors("fp16", 64, 128, 64), **PERSISTENT},
        {
            **BIG,
            "BLOCK_M": 64,
            "GROUP": 8,
            "PROGRAMS": 132,
            "FLATTEN": False,
            "WARP_SPECIALIZE": True,
            "HALVES": False,
        },
        targets=HOPPER_UP,
        target_since={"sm100": (3, 7)},
    ),
    case(
        "gemm_host_descriptors_two_ctas",
        gemm_host_descriptors,
        {**_descriptors("fp16", 128, 128, 64), "K": "i32:16"},
        {**BIG, "WARP_SPECIALIZE": False, "STAGES": None},
        targets=HOPPER_UP,
        num_ctas=2,
    ),
    case(
        "gemm_persistent",
        gemm_persistent,
        {**_descriptors("fp16", 128, 128, 64), **PERSISTENT},
        {
            **BIG,
            "GROUP": 8,
            "PROGRAMS": 132,
            "FLATTEN": False,
            "WARP_SPECIALIZE": False,
            "HALVES": False,
        },
    ),
    case(
        "gemm_persistent_flat",
        gemm_persistent,
        {**_descriptors("bf16", 128, 128, 64), **PERSISTENT},
        {
            **BIG,
            "GROUP": 8,
            "PROGRAMS": 132,
            "FLATTEN": True,
            "WARP_SPECIALIZE": False,
            "HALVES": False,
        },
        targets=HOPPER_UP,
    ),
    case(
        "gemm_persistent_flat_specialized",
        gemm_persistent,
        {**_descriptors("fp16", 128, 128, 64), **PERSISTENT},
        {
            **BIG,
            "GROUP": 8,
            "PROGRAMS": 148,
            "FLATTEN": True,
            "WARP_SPECIALIZE": True,
            "HALVES": False,
        },
        targets=HOPPER_UP,
    ),
    case(
        "gemm_persistent_specialized_halves",
        gemm_persistent,
        {**_descriptors("fp16", 128, 256, 64, out_shape=(128, 128)), **PERSISTENT},
        {
            **BIG,
            "BLOCK_N": 256,
            "GROUP": 8,
            "PROGRAMS": 148,
            "FLATTEN": True,
            "WARP_SPECIALIZE": True,
            "HALVES": True,
        },
        targets=HOPPER_UP,
        num_warps=8,
    ),
    case(
        "gemm_grouped",
        gemm_grouped,
        dict(
            a_table="*i64:16", b_table="*i64:16", c_table="*i64:16", sizes="*i32:16", groups="i32"
        ),
        {**SMALL, "PROGRAMS": 84},
    ),
    case(
        "gemm_split_k",
        gemm_split_k,
        dict(a="*fp16:16", b="*fp16:16", c="*fp32:16", M="i32:16", N="i32:16", K="i32:16"),
        dict(SPLITS=4, BLOCK=64),
    ),
    case(
        "gemm_batched",
        gemm_batched,
        dict(a="*fp16:16", b="*fp16:16", c="*fp32:16"),
        dict(BATCH=4, BLOCK=32),
    ),
    case(
        "gemm_two_products",
        gemm_two_products,
        dict(q="*fp16:16", k="*fp16:16", v="*fp16:16", out="*fp32:16"),
        dict(BLOCK=64),
    ),
    case(
        "gemm_conditional_acc",
        gemm_conditional_acc,
        dict(a="*fp16:16", b="*fp16:16", out="*fp32:16", steps="i32", every="i32"),
        dict(BLOCK=128),
    ),
)
