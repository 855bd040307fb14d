"""Shape changes: join, split, interleave, cat, reshape, permute, broadcast, selections."""

import triton
import triton.language as tl

from ..case import case


@triton.jit
def join_and_split(x, y, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a, b = tl.load(x + lane), tl.load(y + lane)
    pair = tl.join(a, b)
    left, right = tl.split(pair * 2)
    tl.store(out + lane, left - right)
    wide = tl.arange(0, 2 * BLOCK)
    tl.store(out + BLOCK + wide, tl.interleave(a, b))
    tl.store(out + 3 * BLOCK + wide, tl.cat(a, b, can_reorder=True))
    tl.store(out + 5 * BLOCK + wide, tl.ravel(pair))
    scalars = tl.join(tl.load(x), tl.load(y))
    tl.store(out + 7 * BLOCK + tl.arange(0, 2), scalars)


@triton.jit
def ordered_cat(x, y, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    both = tl.cat(tl.load(x + lane), tl.load(y + lane))
    tl.store(out + tl.arange(0, 2 * BLOCK), both)


@triton.jit
def permutations(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    cube = (
        tl.arange(0, A)[:, None, None] * B * C
        + tl.arange(0, B)[None, :, None] * C
        + tl.arange(0, C)[None, None, :]
    )
    flat = tl.arange(0, A * B * C)
    value = tl.load(x + cube)
    tl.store(out + flat, tl.reshape(tl.permute(value, (2, 0, 1)), (A * B * C,)))
    tl.store(out + A * B * C + flat, tl.reshape(tl.trans(value, 0, 2, 1), A * B * C))
    tl.store(out + 2 * A * B * C + flat, tl.reshape(value, (A * B * C,), can_reorder=True))
    tl.store(out + 3 * A * B * C + flat, value.view(A * B * C))
    tl.store(out + 4 * A * B * C + flat, tl.reshape(tl.reshape(value, (A, B * C)).T, A * B * C))


@triton.jit
def broadcasts(x, y, out, M: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    row, column = tl.load(x + rn), tl.load(y + rm)
    tile = rm[:, None] * N + rn[None, :]
    tl.store(out + tile, row[None, :] + column[:, None])
    tl.store(out + M * N + tile, tl.broadcast_to(tl.expand_dims(row, 0), (M, N)))
    a, b = tl.broadcast(tl.expand_dims(column, 1), row[None, :])
    tl.store(out + 2 * M * N + tile, tl.where(rm[:, None] > rn[None, :], a, b))
    tl.store(out + 3 * M * N + tile, tl.zeros((M, N), tl.float32) + tl.load(x))


@triton.jit
def transpose(x, y, M, N, stride_x, stride_y, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tile = tl.load(x + rm[:, None] * stride_x + rn[None, :], mask=inside)
    flipped = (rn[:, None] < N) & (rm[None, :] < M)
    tl.store(y + rn[:, None] * stride_y + rm[None, :], tile.T, mask=flipped)


@triton.jit
def embedding(ids, table, out, count, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    index = tl.load(ids + rows, mask=rows < count, other=0)
    value = tl.load(table + index[:, None] * width + columns[None, :], mask=inside)
    tl.store(out + rows[:, None] * width + columns[None, :], value, mask=inside)


@triton.jit
def rotary(x, cosine, sine, out, stride, HALF: tl.constexpr):
    lane = tl.arange(0, HALF)
    pairs = tl.arange(0, 2 * HALF)
    base = tl.program_id(0) * stride
    even, odd = tl.split(tl.reshape(tl.load(x + base + pairs), (HALF, 2)))
    c, s = tl.load(cosine + lane), tl.load(sine + lane)
    tl.store(out + base + pairs, tl.interleave(even * c - odd * s, even * s + odd * c))


CASES = (
    case(
        "join_and_split",
        join_and_split,
        dict(x="*fp32:16", y="*fp32:16", out="*fp32:16"),
        dict(BLOCK=128),
    ),
    case(
        "ordered_cat",
        ordered_cat,
        dict(x="*fp16:16", y="*fp16:16", out="*fp16:16"),
        dict(BLOCK=128),
        since=(3, 7),
    ),
    case(
        "permutations", permutations, dict(x="*fp16:16", out="*fp16:16"), dict(A=4, B=8, C=16)
    ),
    case(
        "broadcasts",
        broadcasts,
        dict(x="*fp32:16", y="*fp32:16", out="*fp32:16"),
        dict(M=16, N=32),
    ),
    case(
        "transpose",
        transpose,
        dict(x="*fp32:16", y="*fp32:16", M="i32:16", N="i32:16", stride_x="i32:16",
             stride_y="i32:16"),
        dict(BLOCK=32),
    ),
    case(
        "embedding",
        embedding,
        dict(ids="*i64:16", table="*fp16:16", out="*fp16:16", count="i32", width="i32:16"),
        dict(ROWS=16, COLUMNS=128),
    ),
    case(
        "rotary",
        rotary,
        dict(x="*fp16:16", cosine="*fp32:16", sine="*fp32:16", out="*fp16:16", stride="i32:16"),
        dict(HALF=64),
    ),
)  # fmt: skip
