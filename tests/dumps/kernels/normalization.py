"""Row-wise kernels: softmax, layer norm forward and backward, RMS norm, cross entropy."""

import triton
import triton.language as tl

from ..case import case


@triton.jit
def softmax_rows(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    inside = lane < columns
    values = tl.load(x + row * stride + lane, mask=inside, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + lane, weights / tl.sum(weights, axis=0), mask=inside)


@triton.jit
def softmax_persistent(x, out, stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * stride + lane, mask=inside, other=-float("inf"))
        tl.store(out + row * stride + lane, tl.softmax(values), mask=inside)


@triton.jit
def layernorm(x, y, weight, bias, mean_out, rstd_out, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        total += tl.load(x + lane, mask=lane < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        value = tl.load(x + lane, mask=lane < columns, other=0.0).to(tl.float32)
        value = tl.where(lane < columns, value - mean, 0.0)
        squares += value * value
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, columns, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        inside = lane < columns
        w = tl.load(weight + lane, mask=inside)
        b = tl.load(bias + lane, mask=inside)
        value = tl.load(x + lane, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + lane, (value - mean) * rstd * w + b, mask=inside)


@triton.jit
def layernorm_backward(
    dx, dy, dw, x, weight, mean, rstd, lock, stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    inside = lane < columns
    value = tl.load(x + row * stride + lane, mask=inside, other=0).to(tl.float32)
    grad = tl.load(dy + row * stride + lane, mask=inside, other=0).to(tl.float32)
    w = tl.load(weight + lane, mask=inside).to(tl.float32)
    scale = tl.load(rstd + row)
    centred = (value - tl.load(mean + row)) * scale
    wdy = tl.where(inside, w * grad, 0.0)
    projection = tl.sum(centred * wdy, axis=0) / columns
    average = tl.sum(wdy, axis=0) / columns
    tl.store(
        dx + row * stride + lane, (wdy - (centred * projection + average)) * scale, mask=inside
    )
    partial = grad * centred
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(lock + 1) == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        partial += tl.load(dw + lane, mask=inside)
    tl.store(dw + lane, partial, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def rmsnorm(x, y, weight, stride, eps, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, COLUMNS)
    tile = row[:, None] * stride + lane[None, :]
    value = tl.load(x + tile).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=1, keep_dims=True) / COLUMNS + eps)
    tl.store(y + tile, (value * scale * tl.load(weight + lane)[None, :]).to(y.dtype.element_ty))


@triton.jit
def cross_entropy(logits, labels, loss, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    peak = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        z = tl.load(logits + row * stride + lane, mask=lane < columns, other=-float("inf"))
        z = z.to(tl.float32)
        higher = tl.maximum(peak, tl.max(z))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(z - higher))
        peak = higher
    if label != -100:
        tl.store(loss + row, peak + tl.log(total) - tl.load(logits + row * stride + label))
    else:
        tl.store(loss + row, 0.0)


CASES = (
    case(
        "softmax_rows",
        softmax_rows,
        dict(x="*fp32:16", out="*fp32:16", stride="i32:16", columns="i32"),
        dict(BLOCK=1024),
    ),
    case(
        "softmax_rows_f16_one_warp",
        softmax_rows,
        dict(x="*fp16:16", out="*fp16:16", stride="i32:16", columns="i32"),
        dict(BLOCK=128),
        num_warps=1,
    ),
    case(
        "softmax_persistent",
        softmax_persistent,
        dict(x="*fp32:16", out="*fp32:16", stride="i32:16", rows="i32", columns="i32"),
        dict(BLOCK=512, STAGES=4),
    ),
    case(
        "layernorm",
        layernorm,
        dict(x="*fp16:16S", y="*fp16:16S", weight="*fp16:16S", bias="*fp16:16S",
             mean_out="*fp32:16S", rstd_out="*fp32:16S", stride="i32:16", columns="i32:16",
             eps="fp32"),
        dict(BLOCK=1024),
    ),
    case(
        "layernorm_backward",
        layernorm_backward,
        dict(dx="*fp16:16", dy="*fp16:16", dw="*fp32:16", x="*fp16:16", weight="*fp16:16",
             mean="*fp32:16", rstd="*fp32:16", lock="*i32:16", stride="i32:16", columns="i32"),
        dict(BLOCK=512),
    ),
    case(
        "rmsnorm",
        rmsnorm,
        dict(x="*bf16:16", y="*bf16:16", weight="*bf16:16", stride="i64:16", eps="fp32"),
        dict(ROWS=8, COLUMNS=256),
    ),
    case(
        "cross_entropy",
        cross_entropy,
        dict(logits="*bf16:16", labels="*i64:16", loss="*fp32:16", stride="i32:16",
             columns="i32"),
        dict(BLOCK=1024),
    ),
)  # fmt: skip
