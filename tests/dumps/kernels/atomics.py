"""Atomic operations: every kind, element type, ordering and scope."""

import triton
import triton.language as tl

from ..case import HOPPER_UP, Case, case


@triton.jit
def atomic_integers(p, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    value = lane.to(p.dtype.element_ty)
    old = tl.atomic_add(p + lane, value)
    old += tl.atomic_add(p + lane, value, mask=inside)
    old += tl.atomic_max(p + lane, value, mask=inside)
    old += tl.atomic_min(p + lane, value, mask=inside)
    old += tl.atomic_and(p + lane, value, mask=inside)
    old += tl.atomic_or(p + lane, value, mask=inside)
    old += tl.atomic_xor(p + lane, value, mask=inside)
    old += tl.atomic_xchg(p + lane, value, mask=inside)
    tl.store(out + lane, old)


@triton.jit
def atomic_floats(p, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    value = lane.to(p.dtype.element_ty)
    old = tl.atomic_add(p + lane, value, mask=inside)
    old += tl.atomic_max(p + lane, value, mask=inside)
    old += tl.atomic_min(p + lane, value, mask=inside)
    old += tl.atomic_xchg(p + lane, value)
    tl.store(out + lane, old)


@triton.jit
def atomic_half_add(p, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.atomic_add(p + lane, lane.to(p.dtype.element_ty), mask=lane < n, sem="relaxed")


@triton.jit
def atomic_orders(p, out):
    old = tl.atomic_add(p, 1)
    old += tl.atomic_add(p, 1, sem="relaxed")
    old += tl.atomic_add(p, 1, sem="acquire")
    old += tl.atomic_add(p, 1, sem="release")
    old += tl.atomic_add(p, 1, sem="acq_rel")
    old += tl.atomic_add(p, 1, scope="gpu")
    old += tl.atomic_add(p, 1, scope="cta")
    old += tl.atomic_add(p, 1, scope="sys")
    old += tl.atomic_add(p, 1, sem="release", scope="sys")
    old += tl.atomic_cas(p, 0, 1)
    old += tl.atomic_cas(p, 0, 1, sem="relaxed", scope="cta")
    old += tl.atomic_cas(p, 0, 1, sem="release", scope="sys")
    tl.store(out, old)


@triton.jit
def atomic_cas_block(p, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    expected = tl.full((BLOCK,), 3, p.dtype.element_ty)
    tl.store(out + lane, tl.atomic_cas(p + lane, expected, lane.to(p.dtype.element_ty)))


@triton.jit
def atomic_plain_access(p, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.atomic_load(p + lane, mask=lane < n, sem="acquire", scope="gpu")
    value += tl.atomic_load(p + lane, sem="relaxed", scope="sys")
    tl.atomic_store(out + lane, value, mask=lane < n, sem="release", scope="gpu")
    tl.atomic_store(out + lane, value, sem="relaxed", scope="cta")


@triton.jit
def atomic_wait(flag, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    seen = tl.atomic_poll(flag + lane, 1)
    late = tl.atomic_poll(flag, 2, sem="relaxed", scope="sys", timeout_ns=1000)
    tl.store(out + lane, seen & late)


@triton.jit
def histogram_by_atomics(x, bins, n, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < n
    value = tl.load(x + lane, mask=inside, other=0)
    tl.atomic_add(bins + value, 1, mask=inside & (value >= 0))


@triton.jit
def spin_lock(lock, p):
    while tl.atomic_cas(lock, 0, 1, sem="acquire") != 0:
        pass
    tl.store(p, tl.load(p) + 1)
    tl.atomic_xchg(lock, 0, sem="release")


def _integers(element: str) -> Case:
    return case(
        f"atomic_{element}",
        atomic_integers,
        dict(p=f"*{element}:16", out=f"*{element}:16", n="i32"),
        dict(BLOCK=128),
    )


def _floats(element: str, text_only: tuple[str, ...] = ()) -> Case:
    return case(
        f"atomic_{element}",
        atomic_floats,
        dict(p=f"*{element}:16", out=f"*{element}:16", n="i32"),
        dict(BLOCK=128),
        text_only=text_only,
    )


CASES = (
    _integers("i32"),
    _integers("u32"),
    _integers("i64"),
    _integers("u64"),
    _floats("fp32"),
    # The AMD back end aborts on a 64-bit float minimum.
    _floats("fp64", text_only=("gfx942",)),
    case("atomic_fp16", atomic_half_add, dict(p="*fp16:16", n="i32"), dict(BLOCK=256)),
    case(
        "atomic_bf16",
        atomic_half_add,
        dict(p="*bf16:16", n="i32"),
        dict(BLOCK=256),
        targets=(*HOPPER_UP, "gfx942"),
    ),
    case(
        "atomic_small_buffer",
        atomic_half_add,
        dict(p="*fp32:16S", n="i32"),
        dict(BLOCK=256),
        targets=("gfx942", "gfx950"),
    ),
    case("atomic_orders", atomic_orders, dict(p="*i32:16", out="*i32:16")),
    case("atomic_cas_block", atomic_cas_block, dict(p="*i32:16", out="*i32:16"), dict(BLOCK=128)),
    case(
        "atomic_cas_block_i64", atomic_cas_block, dict(p="*i64:16", out="*i64:16"), dict(BLOCK=64)
    ),
    case(
        "atomic_plain_access",
        atomic_plain_access,
        dict(p="*i32:16", out="*i32:16", n="i32"),
        dict(BLOCK=128),
        since=(3, 9),
    ),
    case(
        "atomic_wait", atomic_wait, dict(flag="*i32:16", out="*i1:16"), dict(BLOCK=32), since=(3, 9)
    ),
    case(
        "histogram_by_atomics",
        histogram_by_atomics,
        dict(x="*i32:16", bins="*i32:16", n="i32"),
        dict(BLOCK=512),
    ),
    case("spin_lock", spin_lock, dict(lock="*i32:16", p="*i32:16")),
)
