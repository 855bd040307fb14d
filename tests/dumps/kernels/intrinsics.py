"""Doors out of the tile language: inline assembly, libdevice, mapped scalars, random numbers."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

from ..case import HOPPER_UP, NVIDIA, case


@triton.jit
def leaky(x, slope):
    if x > 0:
        result = x
    else:
        result = x * slope
    return result


@triton.jit
def sum_and_difference(a, b):
    return a + b, a - b


@triton.jit
def inline_assembly(x, y, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a, b = tl.load(x + lane), tl.load(y + lane)
    mixed = tl.inline_asm_elementwise(
        "lop3.b32 $0, $1, $2, 0, 0xb8;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
    )
    low, high = tl.inline_asm_elementwise(
        """
        {
            .reg .u64 wide;
            mul.wide.u32 wide, $2, $3;
            mov.b64 {$0, $1}, wide;
        }
        """,
        "=r,=r,r,r",
        [a, b],
        dtype=(tl.int32, tl.int32),
        is_pure=True,
        pack=1,
    )
    tl.inline_asm_elementwise("// nothing", "=r,r", [a], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + lane, mixed + low + high)


@triton.jit
def inline_assembly_packed(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    masked = tl.inline_asm_elementwise(
        "and.b32 $0, $1, 0x7F7F7F7F;",
        "=r,r",
        [value],
        dtype=tl.uint8,
        is_pure=True,
        pack=4,
    )
    tl.store(out + lane, masked)


@triton.jit
def inline_assembly_amd(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "v_lshlrev_b32 $0, 3, $1", "=v,v", [tl.load(x + lane)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + lane, value)


@triton.jit
def math_functions(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    v = tl.load(x + lane)
    total = tl.exp(v) + tl.exp2(v) + tl.log(v) + tl.log2(v) + tl.sin(v) + tl.cos(v)
    total += tl.sqrt(v) + tl.rsqrt(v) + tl.abs(v) + tl.erf(v) + tl.floor(v) + tl.ceil(v)
    total += tl.sigmoid(v) + tl.math.fma(v, v, v) + tl.fdiv(v, total)
    tl.store(out + lane, total)


@triton.jit
def rounded_functions(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    v = tl.load(x + lane)
    tl.store(out + lane, tl.sqrt_rn(v) + tl.div_rn(v, v + 1.0) + tl.fdiv(v, v, ieee_rounding=True))


@triton.jit
def libdevice_functions(x, ix, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    v = tl.load(x + lane)
    i = tl.load(ix + lane)
    total = libdevice.tanh(v) + libdevice.asin(v) + libdevice.pow(v, v) + libdevice.rint(v)
    total += libdevice.log1p(v) + libdevice.expm1(v) + libdevice.fmod(v, 3.0)
    total += libdevice.isnan(v).to(tl.float32) + libdevice.ldexp(v, i)
    tl.store(out + lane, total)


@triton.jit
def mapped_scalars(x, y, out, slope, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a, b = tl.load(x + lane), tl.load(y + lane)
    tl.store(out + lane, tl.map_elementwise(leaky, a, slope))
    plus, minus = tl.map_elementwise(sum_and_difference, a, b)
    tl.store(out + BLOCK + lane, plus * minus)


@triton.jit
def pairwise_step(a, b, c, d):
    return a + d, b * c


@triton.jit
def mapped_packs(x, y, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a, b = tl.load(x + lane), tl.load(y + lane)
    tl.store(out + lane, tl.map_elementwise(pairwise_step, a, b, pack=2)[0])


@triton.jit
def random_numbers(out, iout, seed, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(out + lane, tl.rand(seed, lane))
    tl.store(out + BLOCK + lane, tl.randn(seed, lane))
    tl.store(iout + lane, tl.randint(seed, lane))
    a, b, c, d = tl.randint4x(seed, lane, n_rounds=7)
    tl.store(iout + BLOCK + lane, a ^ b ^ c ^ d)


@triton.jit
def dropout(x, out, n, rate, seed, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < n
    keep = tl.rand(seed, lane) > rate
    value = tl.load(x + lane, mask=inside)
    tl.store(out + lane, tl.where(keep, value / (1 - rate), 0.0), mask=inside)


@triton.jit
def swizzled_ids(out, M, N, GROUP: tl.constexpr):
    row, column = tl.swizzle2d(tl.program_id(0), tl.program_id(1), M, N, GROUP)
    tl.store(out + row * N + column, tl.program_id(0))


@triton.jit
def clocks(out):
    tl.store(out, tl.extra.cuda.globaltimer())
    tl.store(out + 1, tl.extra.cuda.smid().to(tl.int64))


@triton.jit
def dependent_launch(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    value = tl.load(x + lane)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + lane, value)


CASES = (
    case(
        "inline_assembly",
        inline_assembly,
        dict(x="*i32:16", y="*i32:16", out="*i32:16"),
        dict(BLOCK=128),
        targets=NVIDIA,
    ),
    case(
        "inline_assembly_packed",
        inline_assembly_packed,
        dict(x="*u8:16", out="*u8:16"),
        dict(BLOCK=512),
        targets=NVIDIA,
    ),
    case(
        "inline_assembly_amd",
        inline_assembly_amd,
        dict(x="*i32:16", out="*i32:16"),
        dict(BLOCK=256),
        targets=("gfx942",),
    ),
    case("math_functions", math_functions, dict(x="*fp32:16", out="*fp32:16"), dict(BLOCK=128)),
    case("math_functions_f64", math_functions, dict(x="*fp64:16", out="*fp64:16"), dict(BLOCK=64)),
    case(
        "rounded_functions", rounded_functions, dict(x="*fp32:16", out="*fp32:16"), dict(BLOCK=128)
    ),
    case(
        "libdevice_functions",
        libdevice_functions,
        dict(x="*fp32:16", ix="*i32:16", out="*fp32:16"),
        dict(BLOCK=128),
        target_since={"gfx942": (3, 7)},
    ),
    case(
        "mapped_scalars",
        mapped_scalars,
        dict(x="*fp32:16", y="*fp32:16", out="*fp32:16", slope="fp32"),
        dict(BLOCK=256),
    ),
    case(
        "mapped_packs",
        mapped_packs,
        dict(x="*fp32:16", y="*fp32:16", out="*fp32:16"),
        dict(BLOCK=256),
        text_only=("gfx942",),
    ),
    case(
        "random_numbers",
        random_numbers,
        dict(out="*fp32:16", iout="*i32:16", seed="i32"),
        dict(BLOCK=128),
    ),
    case(
        "random_numbers_long_seed",
        random_numbers,
        dict(out="*fp32:16", iout="*i32:16", seed="u64"),
        dict(BLOCK=128),
        targets=("sm90",),
    ),
    case(
        "dropout",
        dropout,
        dict(x="*fp16:16", out="*fp16:16", n="i32", rate="fp32", seed="i32"),
        dict(BLOCK=512),
    ),
    case("swizzled_ids", swizzled_ids, dict(out="*i32:16", M="i32", N="i32"), dict(GROUP=4)),
    case("clocks", clocks, dict(out="*i64:16"), targets=NVIDIA),
    case(
        "dependent_launch",
        dependent_launch,
        dict(x="*fp32:16", out="*fp32:16"),
        dict(BLOCK=256),
        targets=HOPPER_UP,
        launch_pdl=True,
    ),
)
