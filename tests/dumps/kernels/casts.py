"""Conversions between element types, and products of the small ones."""

import triton
import triton.language as tl

from ..case import COMMON, HOPPER_UP, NVIDIA, Case, case


@triton.jit
def standard_casts(x, ix, out, iout, hout, dout, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    f = tl.load(x + lane)
    i = tl.load(ix + lane)
    tl.store(hout + lane, f.to(tl.float16))
    tl.store(hout + BLOCK + lane, f.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(hout + 2 * BLOCK + lane, f.to(tl.float16, fp_downcast_rounding="rtne"))
    tl.store(dout + lane, f.to(tl.float64))
    tl.store(out + lane, f.to(tl.bfloat16).to(tl.float32))
    tl.store(out + BLOCK + lane, i.to(tl.float32))
    tl.store(out + 2 * BLOCK + lane, i.to(tl.uint32).to(tl.float32))
    tl.store(out + 3 * BLOCK + lane, i.to(tl.float32, bitcast=True))
    tl.store(out + 4 * BLOCK + lane, (i > 3).to(tl.float32))
    tl.store(iout + lane, f.to(tl.int32))
    tl.store(iout + BLOCK + lane, f.to(tl.uint32))
    tl.store(iout + 2 * BLOCK + lane, i.to(tl.int8).to(tl.int32))
    tl.store(iout + 3 * BLOCK + lane, i.to(tl.uint8).to(tl.int32))
    tl.store(iout + 4 * BLOCK + lane, i.to(tl.int64).to(tl.int16))
    tl.store(iout + 5 * BLOCK + lane, f.to(tl.int1))
    tl.store(iout + 6 * BLOCK + lane, f.to(tl.float16).to(tl.int16, bitcast=True))


@triton.jit
def small_float_casts(
    x, raw, out, BLOCK: tl.constexpr, SMALL: tl.constexpr, ROUNDING: tl.constexpr
):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    small = value.to(SMALL, fp_downcast_rounding=ROUNDING)
    tl.store(raw + lane, small)
    back = tl.load(raw + BLOCK + lane)
    tl.store(out + lane, back.to(tl.float32))
    tl.store(out + BLOCK + lane, back.to(tl.float16).to(tl.float32))
    tl.store(out + 2 * BLOCK + lane, back.to(tl.bfloat16).to(tl.float32))
    tl.store(raw + 2 * BLOCK + lane, value.to(tl.float16).to(SMALL))


@triton.jit
def small_float_constants(raw, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(raw + lane, tl.full((BLOCK,), 0.75, raw.dtype.element_ty))
    tl.store(raw + BLOCK + lane, tl.zeros((BLOCK,), raw.dtype.element_ty))
    tl.store(raw + 2 * BLOCK + lane, tl.full((BLOCK,), -1.5, raw.dtype.element_ty))


@triton.jit
def scaled_dot(
    a, a_scale, b, b_scale, out,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    A_WIDTH: tl.constexpr = K // 2 if A_FORMAT == "e2m1" else K
    B_WIDTH: tl.constexpr = K // 2 if B_FORMAT == "e2m1" else K
    ra, rb, rs = tl.arange(0, A_WIDTH), tl.arange(0, B_WIDTH), tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * A_WIDTH + ra[None, :])
    y = tl.load(b + rb[:, None] * N + rn[None, :])
    if A_FORMAT == "bf16" or A_FORMAT == "fp16":
        x_scale = None
    else:
        x_scale = tl.load(a_scale + rm[:, None] * (K // 32) + rs[None, :])
    y_scale = tl.load(b_scale + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.zeros((M, N), tl.float32)
    acc = tl.dot_scaled(x, x_scale, A_FORMAT, y, y_scale, B_FORMAT, acc, fast_math=FAST)
    tl.store(out + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def scaled_dot_loop(
    a, a_scale, b, b_scale, c, steps,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORMAT: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = K // 2 if FORMAT == "e2m1" else K
    GROUPS: tl.constexpr = K // 32
    row, col = tl.program_id(0) * M, tl.program_id(1) * N
    rm, rn, rs = row + tl.arange(0, M), col + tl.arange(0, N), tl.arange(0, GROUPS)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(steps):
        x = a.load([row, k * WIDTH])
        y = b.load([col, k * WIDTH])
        x_scale = tl.load(a_scale + rm[:, None] * (GROUPS * steps) + (k * GROUPS + rs)[None, :])
        y_scale = tl.load(b_scale + rn[:, None] * (GROUPS * steps) + (k * GROUPS + rs)[None, :])
        acc = tl.dot_scaled(x, x_scale, FORMAT, y.T, y_scale, FORMAT, acc)
    c.store([row, col], acc.to(c.dtype))


@triton.jit
def scaled_dot_packed_rows(
    a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    rs = tl.arange(0, K // 32)
    x = tl.load(a + tl.arange(0, M // 2)[:, None] * K + rk[None, :])
    y = tl.load(b + rk[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :])
    x_scale = tl.load(a_scale + rm[:, None] * (K // 32) + rs[None, :])
    y_scale = tl.load(b_scale + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", lhs_k_pack=False, rhs_k_pack=False)
    tl.store(out + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def fp8_dot(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + rm[:, None] * K + rk[None, :])
    y = tl.load(b + rk[:, None] * N + rn[None, :])
    tl.store(out + rm[:, None] * N + rn[None, :], tl.dot(x, y))


def _small(
    name: str,
    spelled: str,
    element: tl.dtype,
    rounding: str | None = None,
    targets: tuple[str, ...] = COMMON,
) -> Case:
    return case(
        name,
        small_float_casts,
        dict(x="*fp32:16", raw=f"*{spelled}:16", out="*fp32:16"),
        dict(BLOCK=256, SMALL=element, ROUNDING=rounding),
        targets=targets,
    )


def _constants(element: str, targets: tuple[str, ...] = COMMON) -> Case:
    return case(
        f"constants_{element}",
        small_float_constants,
        dict(raw=f"*{element}:16"),
        dict(BLOCK=128),
        targets=targets,
        since=(3, 7),
    )


# Only the first of them, sm80, has no e4m3.
SCALED_TARGETS = (*COMMON, "sm120", "gfx950", "gfx1250")


def _scaled(
    name: str,
    a_format: str,
    b_format: str,
    a: str = "u8",
    targets: tuple[str, ...] = SCALED_TARGETS,
    fast: bool = False,
) -> Case:
    return case(
        name,
        scaled_dot,
        dict(a=f"*{a}:16", a_scale="*u8:16", b="*u8:16", b_scale="*u8:16", out="*fp32:16"),
        dict(M=128, N=128, K=128, A_FORMAT=a_format, B_FORMAT=b_format, FAST=fast),
        targets=targets,
    )


CASES = (
    case(
        "standard_casts",
        standard_casts,
        dict(x="*fp32:16", ix="*i32:16", out="*fp32:16", iout="*i32:16", hout="*fp16:16",
             dout="*fp64:16"),
        dict(BLOCK=128),
    ),
    _small("casts_fp8e5", "fp8e5", tl.float8e5),
    _small("casts_fp8e5_toward_zero", "fp8e5", tl.float8e5, "rtz", NVIDIA),
    _small("casts_fp8e4nv", "fp8e4nv", tl.float8e4nv, None, (*HOPPER_UP, "gfx942")),
    _small("casts_fp8e4b8", "fp8e4b8", tl.float8e4b8, None, ("gfx942",)),
    _small("casts_fp8e5b16", "fp8e5b16", tl.float8e5b16, None, ("gfx942",)),
    _constants("fp8e5"),
    _constants("fp8e4nv", (*HOPPER_UP, "gfx942")),
    _constants("fp8e4b8", ("gfx942",)),
    _scaled("scaled_dot_e2m1", "e2m1", "e2m1"),
    _scaled("scaled_dot_e4m3_e5m2", "e4m3", "e5m2", targets=SCALED_TARGETS[1:]),
    _scaled("scaled_dot_e5m2_e2m1_fast", "e5m2", "e2m1", fast=True),
    _scaled("scaled_dot_bf16_e2m1", "bf16", "e2m1", a="bf16"),
    _scaled("scaled_dot_fp16_e4m3", "fp16", "e4m3", a="fp16", targets=SCALED_TARGETS[1:]),
    case(
        "scaled_dot_packed_rows",
        scaled_dot_packed_rows,
        dict(a="*u8:16", a_scale="*u8:16", b="*u8:16", b_scale="*u8:16", out="*fp32:16"),
        dict(M=128, N=128, K=128),
        targets=("sm100", "gfx950"),
    ),
    case(
        "scaled_dot_loop_e4m3",
        scaled_dot_loop,
        dict(a="tensordesc<u8[128, 128]>", a_scale="*u8:16", b="tensordesc<u8[128, 128]>",
             b_scale="*u8:16", c="tensordesc<fp16[128, 128]>", steps="i32"),
        dict(M=128, N=128, K=128, FORMAT="e4m3"),
        targets=HOPPER_UP,
    ),
    case(
        "scaled_dot_loop_e2m1",
        scaled_dot_loop,
        dict(a="tensordesc<u8[128, 128]>", a_scale="*u8:16", b="tensordesc<u8[128, 128]>",
             b_scale="*u8:16", c="tensordesc<fp16[128, 128]>", steps="i32"),
        dict(M=128, N=128, K=256, FORMAT="e2m1"),
        targets=HOPPER_UP,
    ),
    case(
        "fp8_dot_e5",
        fp8_dot,
        dict(a="*fp8e5:16", b="*fp8e5:16", out="*fp32:16"),
        dict(M=64, N=64, K=64),
    ),
    case(
        "fp8_dot_mixed",
        fp8_dot,
        dict(a="*fp8e4nv:16", b="*fp8e5:16", out="*fp32:16"),
        dict(M=64, N=64, K=64),
        targets=(*HOPPER_UP, "sm120", "gfx950"),
    ),
    case(
        "int8_dot",
        fp8_dot,
        dict(a="*i8:16", b="*i8:16", out="*i32:16"),
        dict(M=64, N=64, K=64),
        targets=("sm80", "sm90", "gfx942"),
    ),
)  # fmt: skip
