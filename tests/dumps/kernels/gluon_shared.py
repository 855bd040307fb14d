"""Gluon kernels about layouts and shared memory, for NVIDIA targets (warps of 32 lanes)."""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import ampere

from ..case import NVIDIA, Case, case

SINCE = (3, 9)


@gluon.jit
def layout_conversions(x, out, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    tile = rm[:, None] * N + rn[None, :]
    value = gl.load(x + tile)
    turned = gl.convert_layout(value, columns)
    total = gl.sum(turned, axis=1)
    spread = gl.convert_layout(total, gl.SliceLayout(1, rows))
    scale = gl.full([M, N], 0.5, gl.float32, layout=rows)
    gl.store(out + tile, value * spread[:, None] + scale)


@gluon.jit
def automatic_layouts(x, out, BLOCK: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    lane = gl.arange(0, BLOCK, layout=gl.AutoLayout())
    value = gl.load(x + gl.set_auto_layout(lane, wide))
    again = gl.arange(0, BLOCK, layout=gl.CoalescedLayout())
    gl.store(out + again, gl.load(out + again) + 1.0)
    gl.store(out + gl.set_auto_layout(lane, wide), value)


@gluon.jit
def shared_views(x, out, stage, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(4, 2, 4, [1, 0])
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    tile = rm[:, None] * N + rn[None, :]
    ring = gl.allocate_shared_memory(gl.float32, [2, M, N], plain)
    buffer = ring.index(stage)
    buffer.store(gl.load(x + tile))
    gl.barrier()
    half: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    left = buffer.slice(0, N // 2, dim=1).load(half)
    right = buffer.slice(N // 2, N // 2, dim=1).load(half)
    hm = gl.arange(0, M, layout=gl.SliceLayout(1, half))
    hn = gl.arange(0, N // 2, layout=gl.SliceLayout(0, half))
    gl.store(out + hm[:, None] * N + hn[None, :], left + right)
    turned = buffer.permute([1, 0]).load(rows)
    gl.store(out + M * N + tile, gl.convert_layout(turned.trans(), rows))
    initial = gl.allocate_shared_memory(gl.float32, [M, N], plain, gl.load(x + tile))
    gl.store(out + 2 * M * N + tile, initial.load(rows))


@gluon.jit
def shared_reinterpret(x, out, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMASharedLayout(128, 16, rank=2)
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    tile = rm[:, None] * N + rn[None, :]
    buffer = gl.allocate_shared_memory(gl.float16, [M, N], mma)
    buffer.store(gl.load(x + tile))
    bits = buffer.reinterpret(gl.int16, [M, N], mma).load(rows)
    gl.store(out + tile, bits)
    cube: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    plain = gl.allocate_shared_memory(gl.int16, [M, N], cube)
    plain.store(bits)
    narrow: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    hm = gl.arange(0, 2 * M, layout=gl.SliceLayout(1, narrow))
    hn = gl.arange(0, N // 2, layout=gl.SliceLayout(0, narrow))
    reshaped = plain.reshape([2 * M, N // 2])
    gl.store(out + M * N + hm[:, None] * (N // 2) + hn[None, :], reshaped.load(narrow))


@gluon.jit
def shared_gather_scatter(x, index, out, N: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    lane = gl.arange(0, N, layout=flat)
    where = gl.load(index + lane)
    buffer = gl.allocate_shared_memory(gl.int32, [N], plain)
    buffer.store(gl.load(x + lane))
    gl.store(out + lane, buffer.gather(where, 0))
    buffer.scatter(lane, where, 0)
    old = buffer.atomic_scatter_add(lane, where, 0)
    old += buffer.atomic_scatter_max(lane, where, 0, mask=lane < 7)
    old += buffer.atomic_scatter_xchg(lane, where, 0)
    gl.store(out + N + lane, old)


@gluon.jit
def padded_and_linear(x, out, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    padded: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 8]], [M, N], [1, 0])
    linear: gl.constexpr = gl.DistributedLinearLayout(
        [[0, 1], [0, 2], [0, 32], [16, 0]],
        [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]],
        [[4, 0], [8, 0]],
        [],
        [32, 64],
    )
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    tile = rm[:, None] * N + rn[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], padded)
    buffer.store(gl.load(x + tile))
    gl.store(out + tile, gl.convert_layout(buffer.load(linear) * 2.0, rows))


@gluon.jit
def async_copies(x, out, n, BLOCK: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    lane = gl.arange(0, BLOCK, layout=flat)
    ring = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    ampere.async_copy.async_load(ring.index(0), x + lane)
    ampere.async_copy.commit_group()
    ampere.async_copy.async_load(
        ring.index(1), x + BLOCK + lane, mask=lane < n, cache_modifier=".cg"
    )
    ampere.async_copy.commit_group()
    ampere.async_copy.wait_group(1)
    gl.store(out + lane, ring.index(0).load(flat))
    ampere.async_copy.wait_group(0)
    gl.store(out + BLOCK + lane, ring.index(1).load(flat))


@gluon.jit
def cache_policies(x, out, BLOCK: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    lane = gl.arange(0, BLOCK, layout=flat)
    near: gl.constexpr = ampere.CachePolicy(l1="evict_last", l2_prefetch_size=128)
    far: gl.constexpr = ampere.CachePolicy(
        l2=ampere.FractionalEvictionPolicy("evict_last", 0.5, "evict_first")
    )
    value = gl.load(x + lane, cache_policy=near)
    value += gl.load(x + BLOCK + lane, cache_policy=far)
    gl.store(out + lane, value, cache_policy=far)


@gluon.jit
def tensor_core_v2(a, b, out, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
    left: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    right: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, flat))
    rk = gl.arange(0, K, layout=gl.SliceLayout(0, flat))
    km = gl.arange(0, K, layout=gl.SliceLayout(1, flat))
    kn = gl.arange(0, N, layout=gl.SliceLayout(0, flat))
    x = gl.convert_layout(gl.load(a + rm[:, None] * K + rk[None, :]), left)
    y = gl.convert_layout(gl.load(b + km[:, None] * N + kn[None, :]), right)
    acc = gl.zeros([M, N], gl.float32, layout=mma)
    acc = ampere.mma_v2(x, y, acc)
    om = gl.arange(0, M, layout=gl.SliceLayout(1, mma))
    on = gl.arange(0, N, layout=gl.SliceLayout(0, mma))
    gl.store(out + om[:, None] * N + on[None, :], acc)


@gluon.jit
def packed_fours(x, out, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    packed = gl.load(x + rm[:, None] * N + rn[None, :])
    wide = gl.fp4_to_fp(packed, gl.bfloat16, 1)
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    om = gl.arange(0, M, layout=gl.SliceLayout(1, flat))
    on = gl.arange(0, 2 * N, layout=gl.SliceLayout(0, flat))
    gl.store(out + om[:, None] * (2 * N) + on[None, :], gl.convert_layout(wide, flat))


def _case(name: str, kernel: Any, signature: dict[str, str], constexprs: dict[str, int]) -> Case:
    return case(name, kernel, signature, constexprs, targets=NVIDIA, since=SINCE)


TILE = dict(M=32, N=64)

CASES = (
    _case("gluon_layouts", layout_conversions, dict(x="*fp32:16", out="*fp32:16"), TILE),
    _case(
        "gluon_auto_layouts", automatic_layouts, dict(x="*fp32:16", out="*fp32:16"), dict(BLOCK=512)
    ),
    _case(
        "gluon_shared_views", shared_views, dict(x="*fp32:16", out="*fp32:16", stage="i32"), TILE
    ),
    _case("gluon_shared_reinterpret", shared_reinterpret, dict(x="*fp16:16", out="*i16:16"), TILE),
    _case(
        "gluon_shared_gather",
        shared_gather_scatter,
        dict(x="*i32:16", index="*i32:16", out="*i32:16"),
        dict(N=128),
    ),
    _case("gluon_padded_linear", padded_and_linear, dict(x="*fp32:16", out="*fp32:16"), TILE),
    _case(
        "gluon_async_copies",
        async_copies,
        dict(x="*fp32:16", out="*fp32:16", n="i32"),
        dict(BLOCK=512),
    ),
    _case(
        "gluon_cache_policies", cache_policies, dict(x="*fp32:16", out="*fp32:16"), dict(BLOCK=512)
    ),
    _case(
        "gluon_mma_v2",
        tensor_core_v2,
        dict(a="*fp16:16", b="*fp16:16", out="*fp32:16"),
        dict(M=64, N=32, K=64),
    ),
    _case("gluon_packed_fours", packed_fours, dict(x="*u8:16", out="*bf16:16"), dict(M=32, N=32)),
)
