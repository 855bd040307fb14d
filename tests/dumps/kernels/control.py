"""Control flow and function calls: branches, early returns, loops of all kinds, device functions."""

import triton
import triton.language as tl

from ..case import case


@triton.jit(noinline=True)
def row_sum(p, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    return tl.sum(tl.load(p + lane, mask=lane < n, other=0.0), axis=0)


@triton.jit(noinline=True)
def swap_and_scale(a, b, scale):
    return b * scale, a


@triton.jit(noinline=True)
def write_marker(p, value):
    tl.store(p, value)


@triton.jit
def quadrant(x, y):
    if x > 0:
        if y > 0:
            return 1, x
        return 4, x - y
    return 2, y


@triton.jit
def call_noinline(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = row_sum(x + row * stride, n, BLOCK)
    first, second = swap_and_scale(total, row, 3)
    write_marker(out + 2 * row, first + second)
    write_marker(out + 2 * row + 1, row_sum(x, n, BLOCK))


@triton.jit
def call_multiple_returns(out, a, b):
    kind, value = quadrant(a, b)
    tl.store(out, kind)
    tl.store(out + 1, value)


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if start >= n:
        return
    lane = start + tl.arange(0, BLOCK)
    value = tl.load(x + lane, mask=lane < n)
    if tl.max(value) < 0:
        tl.store(out + lane, 0.0, mask=lane < n)
        return
    tl.store(out + lane, tl.sqrt(value), mask=lane < n)


@triton.jit
def branches(x, out, n, m, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    if n > 3:
        value = value * 2
        other = n
    elif m > 4 and n < 2:
        value += 1.0
        other = m
    else:
        other = 0
    if m == 0:
        tl.store(out + lane, value)
    picked = value if n == 1 else -value
    tl.store(out + BLOCK + lane, picked + other)


@triton.jit
def while_loops(x, out, n, limit):
    i = 0
    total = 0.0
    while i < n and total < limit:
        total += tl.load(x + i)
        i += 1
    step = n
    while step > 1:
        step = step // 2 if step % 2 == 0 else 3 * step + 1
        i += 1
    tl.store(out, total)
    tl.store(out + 1, i)


@triton.jit
def while_condition_hint(x, out, n):
    i = 0
    while tl.condition(i < n, disable_licm=True):
        tl.store(out + i, tl.load(x))
        i += 1


@triton.jit
def for_loops(x, out, first, last, step, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(first, last, step):
        total += tl.load(x + i * BLOCK + lane)
    for i in range(10, 0, -1):
        total = total * i
    for i in tl.static_range(3):
        total += i
    for i in range(4):
        for j in range(i, last):
            total += tl.load(x + (i + j) * BLOCK + lane)
    tl.store(out + lane, total)


@triton.jit
def loop_without_motion(x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, disable_licm=True):
        total += tl.load(x + lane) * i
    tl.store(out + lane, total)


@triton.jit
def unrolled_loop(x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, loop_unroll_factor=4):
        total += tl.load(x + i * BLOCK + lane)
    tl.store(out + lane, total)


@triton.jit
def loop_with_branch(x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    count = 0
    for i in range(n):
        value = tl.load(x + i * BLOCK + lane)
        if i % 3 == 1:
            total += value
            count += 1
        else:
            total -= value
    tl.store(out + lane, total / count)


@triton.jit
def assumptions(x, out, n, stride, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    tl.assume(stride % 16 == 0)
    tl.assume(stride >= 0)
    lane = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    tl.store(out + lane, tl.load(x + lane, mask=lane < n), mask=lane < n)


@triton.jit
def prints_and_asserts(x, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane, mask=lane < n)
    tl.device_print("pid", tl.program_id(0))
    tl.device_print("value", value, lane)
    tl.device_print("bits", lane.to(tl.uint8), hex=True)
    tl.device_print("only text")
    tl.device_assert(value > 0, "value must be positive")
    tl.device_assert(n > 0, 'a "quoted" \\ message')
    tl.device_assert(lane < 64, "masked", mask=lane < n)
    tl.debug_barrier()


PLAIN = dict(x="*fp32:16", out="*fp32:16", n="i32")
BLOCK = dict(BLOCK=128)

CASES = (
    case(
        "call_noinline",
        call_noinline,
        dict(x="*fp32:16", out="*fp32:16", stride="i32:16", n="i32"),
        BLOCK,
    ),
    case("call_multiple_returns", call_multiple_returns, dict(out="*i32:16", a="i32", b="i32")),
    case("early_return", early_return, PLAIN, BLOCK),
    case("branches", branches, {**PLAIN, "m": "i32"}, BLOCK),
    case("while_loops", while_loops, {**PLAIN, "limit": "fp32"}),
    case("while_condition_hint", while_condition_hint, PLAIN),
    case(
        "for_loops",
        for_loops,
        dict(x="*fp32:16", out="*fp32:16", first="i32", last="i32", step="i32"),
        BLOCK,
    ),
    case(
        "for_loops_unsigned",
        for_loops,
        dict(x="*fp32:16", out="*fp32:16", first="u32", last="u32", step="u32"),
        BLOCK,
    ),
    case(
        "for_loops_i64",
        for_loops,
        dict(x="*fp32:16", out="*fp32:16", first="i64", last="i64", step="i64"),
        BLOCK,
    ),
    case("loop_without_motion", loop_without_motion, PLAIN, BLOCK),
    case("unrolled_loop", unrolled_loop, PLAIN, BLOCK),
    case("loop_with_branch", loop_with_branch, PLAIN, BLOCK),
    case("assumptions", assumptions, {**PLAIN, "stride": "i32"}, BLOCK),
    case("prints_and_asserts", prints_and_asserts, dict(x="*fp32:16", n="i32"), BLOCK, debug=True),
    case("prints_only", prints_and_asserts, dict(x="*fp32:16", n="i32"), BLOCK),
)
