"""Pointwise kernels: loads, stores, masks and the arithmetic between them."""

import triton
import triton.language as tl

from ..case import EVERYWHERE, NVIDIA, case


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(x + offsets, mask=inside)
    b = tl.load(y + offsets, mask=inside)
    tl.store(out + offsets, a + b, mask=inside)


@triton.jit
def copy_all_access_kinds(src, dst, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    total = tl.load(src + lane)
    total += tl.load(src + BLOCK + lane, mask=inside)
    total += tl.load(src + 2 * BLOCK + lane, mask=inside, other=1.5)
    total += tl.load(src + 3 * BLOCK + lane, cache_modifier=".ca")
    total += tl.load(src + 4 * BLOCK + lane, cache_modifier=".cg", mask=inside)
    total += tl.load(src + 5 * BLOCK + lane, cache_modifier=".cv")
    total += tl.load(src + 6 * BLOCK + lane, eviction_policy="evict_first")
    total += tl.load(src + 7 * BLOCK + lane, eviction_policy="evict_last", mask=inside)
    total += tl.load(src + 8 * BLOCK + lane, volatile=True)
    tl.store(dst + lane, total)
    tl.store(dst + BLOCK + lane, total, mask=inside)
    tl.store(dst + 2 * BLOCK + lane, total, cache_modifier=".wb")
    tl.store(dst + 3 * BLOCK + lane, total, cache_modifier=".cg")
    tl.store(dst + 4 * BLOCK + lane, total, cache_modifier=".cs")
    tl.store(dst + 5 * BLOCK + lane, total, cache_modifier=".wt")
    tl.store(dst + 6 * BLOCK + lane, total, eviction_policy="evict_first")
    tl.store(dst + 7 * BLOCK + lane, total, mask=inside, eviction_policy="evict_last")


@triton.jit
def copy_combined_policies(src, dst, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    value = tl.load(
        src + lane,
        mask=inside,
        other=0.0,
        cache_modifier=".ca",
        eviction_policy="evict_last",
        volatile=True,
    )
    tl.store(dst + lane, value, mask=inside, cache_modifier=".cs", eviction_policy="evict_first")


@triton.jit
def scalar_access(src, dst, flag):
    value = tl.load(src)
    other = tl.load(src + 1, mask=flag > 0, other=0.0)
    tl.store(dst, value + other)
    tl.store(dst + 1, value, mask=flag > 3)


@triton.jit
def integer_arithmetic(x, y, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a = tl.load(x + lane)
    b = tl.load(y + lane)
    tl.store(out + lane, a + b)
    tl.store(out + lane + BLOCK, a - b)
    tl.store(out + lane + 2 * BLOCK, a * b)
    tl.store(out + lane + 3 * BLOCK, a // b)
    tl.store(out + lane + 4 * BLOCK, a % b)
    tl.store(out + lane + 5 * BLOCK, a & b)
    tl.store(out + lane + 6 * BLOCK, a | b)
    tl.store(out + lane + 7 * BLOCK, a ^ b)
    tl.store(out + lane + 8 * BLOCK, a << 3)
    tl.store(out + lane + 9 * BLOCK, a >> b)
    tl.store(out + lane + 10 * BLOCK, -a)
    tl.store(out + lane + 11 * BLOCK, ~a)
    tl.store(out + lane + 12 * BLOCK, tl.minimum(a, b))
    tl.store(out + lane + 13 * BLOCK, tl.maximum(a, n))
    tl.store(out + lane + 14 * BLOCK, tl.abs(a - b))
    tl.store(out + lane + 15 * BLOCK, tl.umulhi(a, b))
    tl.store(out + lane + 16 * BLOCK, tl.cdiv(a, 7))


@triton.jit
def float_arithmetic(x, y, out, s, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a = tl.load(x + lane)
    b = tl.load(y + lane)
    tl.store(out + lane, a + b * s)
    tl.store(out + lane + BLOCK, a / b)
    tl.store(out + lane + 2 * BLOCK, a % b)
    tl.store(out + lane + 3 * BLOCK, -a)
    tl.store(out + lane + 4 * BLOCK, tl.fma(a, b, a))
    tl.store(out + lane + 5 * BLOCK, tl.minimum(a, b))
    tl.store(out + lane + 6 * BLOCK, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + lane + 7 * BLOCK, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + lane + 8 * BLOCK, tl.clamp(a, -1.0, s))
    tl.store(out + lane + 9 * BLOCK, tl.clamp(a, b, s, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + lane + 10 * BLOCK, tl.where(a < b, a, 0.0))
    tl.store(out + lane + 11 * BLOCK, tl.abs(a))


@triton.jit
def comparisons(x, y, ix, iy, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a = tl.load(x + lane)
    b = tl.load(y + lane)
    i = tl.load(ix + lane)
    u = tl.load(iy + lane)
    bits = (a < b).to(tl.int32)
    bits += (a <= b).to(tl.int32)
    bits += (a > b).to(tl.int32)
    bits += (a >= b).to(tl.int32)
    bits += (a == b).to(tl.int32)
    bits += (a != b).to(tl.int32)
    bits += (i < 3).to(tl.int32)
    bits += (i <= lane).to(tl.int32)
    bits += (i > lane).to(tl.int32)
    bits += (i >= lane).to(tl.int32)
    bits += (i == lane).to(tl.int32)
    bits += (i != lane).to(tl.int32)
    limit = lane.to(tl.uint32)
    bits += (u < limit).to(tl.int32)
    bits += (u <= limit).to(tl.int32)
    bits += (u > limit).to(tl.int32)
    bits += (u >= limit).to(tl.int32)
    tl.store(out + lane, bits)


@triton.jit
def constants(out, iout, lout, hout, bout, dout, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(out + lane, tl.full((BLOCK,), float("inf"), tl.float32))
    tl.store(out + BLOCK + lane, tl.full((BLOCK,), -float("inf"), tl.float32))
    tl.store(out + 2 * BLOCK + lane, tl.full((BLOCK,), float("nan"), tl.float32))
    tl.store(out + 3 * BLOCK + lane, tl.full((BLOCK,), 0.1, tl.float32))
    tl.store(out + 4 * BLOCK + lane, tl.full((BLOCK,), 1e30, tl.float32))
    tl.store(out + 5 * BLOCK + lane, tl.full((BLOCK,), -0.0, tl.float32))
    tl.store(out + 6 * BLOCK + lane, tl.full((BLOCK,), 1.401298464324817e-45, tl.float32))
    tl.store(out + 7 * BLOCK, float("inf"))
    tl.store(out + 7 * BLOCK + 1, -1.5)
    tl.store(iout + lane, tl.full((BLOCK,), -2147483648, tl.int32))
    tl.store(iout + BLOCK + lane, tl.full((BLOCK,), 2147483647, tl.int32))
    tl.store(lout + lane, tl.full((BLOCK,), -9223372036854775808, tl.int64))
    tl.store(lout + BLOCK + lane, tl.full((BLOCK,), 0x7FFFFFFFFFFFFFFF, tl.int64))
    tl.store(lout + 2 * BLOCK + lane, tl.full((BLOCK,), 0xFEDCBA9876543210, tl.uint64))
    tl.store(hout + lane, tl.full((BLOCK,), 0.1, tl.float16))
    tl.store(hout + BLOCK + lane, tl.full((BLOCK,), float("inf"), tl.float16))
    tl.store(hout + 2 * BLOCK + lane, tl.full((BLOCK,), float("nan"), tl.float16))
    tl.store(bout + lane, tl.full((BLOCK,), 0.1, tl.bfloat16))
    tl.store(bout + BLOCK + lane, tl.full((BLOCK,), -float("inf"), tl.bfloat16))
    tl.store(dout + lane, tl.full((BLOCK,), 0.1, tl.float64))
    tl.store(dout + BLOCK + lane, tl.full((BLOCK,), float("inf"), tl.float64))
    tl.store(dout + 2 * BLOCK + lane, tl.full((BLOCK,), float("nan"), tl.float64))
    tl.store(dout + 3 * BLOCK + lane, tl.full((BLOCK,), 1e-300, tl.float64))


@triton.jit
def double_and_long(x, ix, out, iout, scale, bias, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    d = tl.load(x + offsets, mask=inside, other=0.0)
    i = tl.load(ix + offsets, mask=inside, other=-1)
    tl.store(out + offsets, d * scale + i.to(tl.float64), mask=inside)
    tl.store(iout + offsets, (i << 33) + bias + d.to(tl.int64), mask=inside)


@triton.jit
def predicates(x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    flag = tl.load(x + lane)
    both = flag & (lane < n)
    either = flag | (lane > 3)
    tl.store(out + lane, both ^ either)
    tl.store(out + BLOCK + lane, (lane >= n) == flag)
    tl.store(out + 2 * BLOCK + lane, tl.full((BLOCK,), True, tl.int1))


@triton.jit
def pointer_arithmetic(x, table, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    base = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    address = (x + n).to(tl.int64)
    chosen = tl.where(lane < n, x + lane, base + lane)
    tl.store(out + lane, tl.load(chosen))
    tl.store(out + BLOCK, (address & 0xFF).to(tl.float32))
    tl.store((out + 2 * BLOCK).to(tl.pointer_type(tl.int32), bitcast=True) + lane, lane)


@triton.jit
def grid_shape(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    linear = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + linear, tl.num_programs(2))


@triton.jit
def alignment_hints(x, out, n, BLOCK: tl.constexpr):
    start = tl.multiple_of(n, 8)
    lane = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    value = tl.max_constancy(tl.load(x + lane // 4), 4)
    tl.store(out + lane, value)


@triton.jit
def tuple_arguments(pair, outs, scale, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(outs[0] + lane, tl.load(pair[0] + lane) * scale)
    tl.store(outs[1][0] + lane, lane + pair[1])


CASES = (
    case(
        "vector_add",
        vector_add,
        dict(x="*fp32:16S", y="*fp32:16S", out="*fp32:16S", n="i32:16"),
        dict(BLOCK=1024),
        targets=EVERYWHERE,
    ),
    case(
        "vector_add_unaligned",
        vector_add,
        dict(x="*fp32", y="*fp32", out="*fp32", n="i32"),
        dict(BLOCK=1024),
    ),
    case(
        "vector_add_bf16_two_warps",
        vector_add,
        dict(x="*bf16:16", y="*bf16:16", out="*bf16:16", n="i64"),
        dict(BLOCK=256),
        num_warps=2,
    ),
    case(
        "vector_add_const_pointers",
        vector_add,
        dict(x="*kfp16:16", y="*kfp16:16", out="*fp16:16", n="i32"),
        dict(BLOCK=512),
    ),
    case(
        "vector_add_maxnreg",
        vector_add,
        dict(x="*i16:16", y="*i16:16", out="*i16:16", n="i32"),
        dict(BLOCK=512),
        targets=NVIDIA,
        maxnreg=64,
    ),
    case(
        "copy_all_access_kinds",
        copy_all_access_kinds,
        dict(src="*fp32:16", dst="*fp32:16", n="i32"),
        dict(BLOCK=256),
    ),
    case(
        "copy_all_access_kinds_small_buffers",
        copy_all_access_kinds,
        dict(src="*fp32:16S", dst="*fp32:16S", n="i32"),
        dict(BLOCK=256),
        targets=("gfx942", "gfx950", "gfx1250"),
    ),
    # Triton prints these combinations, ptxas has no instruction for them.
    case(
        "copy_combined_policies",
        copy_combined_policies,
        dict(src="*fp32:16", dst="*fp32:16", n="i32"),
        dict(BLOCK=256),
        text_only=NVIDIA,
    ),
    case("scalar_access", scalar_access, dict(src="*fp32:16", dst="*fp32:16", flag="i32")),
    case(
        "integer_arithmetic_i32",
        integer_arithmetic,
        dict(x="*i32:16", y="*i32:16", out="*i32:16", n="i32"),
        dict(BLOCK=256),
    ),
    case(
        "integer_arithmetic_u32",
        integer_arithmetic,
        dict(x="*u32:16", y="*u32:16", out="*u32:16", n="u32"),
        dict(BLOCK=256),
    ),
    case(
        "integer_arithmetic_i64",
        integer_arithmetic,
        dict(x="*i64:16", y="*i64:16", out="*i64:16", n="i64"),
        dict(BLOCK=256),
    ),
    case(
        "integer_arithmetic_checked",
        integer_arithmetic,
        dict(x="*i32:16", y="*i32:16", out="*i32:16", n="i32"),
        dict(BLOCK=128),
        debug=True,
        sanitize_overflow=True,
        targets=("sm90", "gfx942"),
    ),
    case(
        "float_arithmetic_f32",
        float_arithmetic,
        dict(x="*fp32:16", y="*fp32:16", out="*fp32:16", s="fp32"),
        dict(BLOCK=256),
    ),
    case(
        "float_arithmetic_f16",
        float_arithmetic,
        dict(x="*fp16:16", y="*fp16:16", out="*fp16:16", s="fp32"),
        dict(BLOCK=256),
    ),
    case(
        "float_arithmetic_f64",
        float_arithmetic,
        dict(x="*fp64:16", y="*fp64:16", out="*fp64:16", s="fp64"),
        dict(BLOCK=256),
    ),
    case(
        "comparisons",
        comparisons,
        dict(x="*fp32:16", y="*fp32:16", ix="*i32:16", iy="*u32:16", out="*i32:16"),
        dict(BLOCK=256),
    ),
    case(
        "constants",
        constants,
        dict(
            out="*fp32:16",
            iout="*i32:16",
            lout="*i64:16",
            hout="*fp16:16",
            bout="*bf16:16",
            dout="*fp64:16",
        ),
        dict(BLOCK=64),
    ),
    case(
        "double_and_long",
        double_and_long,
        dict(
            x="*fp64:16",
            ix="*i64:16",
            out="*fp64:16",
            iout="*i64:16",
            scale="fp64",
            bias="i64",
            n="i64",
        ),
        dict(BLOCK=256),
    ),
    case("predicates", predicates, dict(x="*i1:16", out="*i1:16", n="i32"), dict(BLOCK=128)),
    case(
        "pointer_arithmetic",
        pointer_arithmetic,
        dict(x="*fp32:16", table="*i64:16", out="*fp32:16", n="i32"),
        dict(BLOCK=128),
    ),
    case("grid_shape", grid_shape, dict(out="*i32:16")),
    case(
        "alignment_hints",
        alignment_hints,
        dict(x="*fp32:16", out="*fp32:16", n="i32"),
        dict(BLOCK=256),
    ),
    case(
        "tuple_arguments",
        tuple_arguments,
        dict(pair=("*fp32:16", "i32"), outs=("*fp32:16", ("*i32:16",)), scale="fp32"),
        dict(BLOCK=128),
    ),
)
