"""Cross entropy of logits against class labels, with the gradient in the same pass over the row."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def cross_entropy_kernel(
    logits_ptr, labels_ptr, loss_ptr, grad_ptr, classes, stride, ignored, scale, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    grad_ptr += row * stride
    label = tl.load(labels_ptr + row)
    if label == ignored:
        for start in range(0, classes, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            tl.store(grad_ptr + offsets, 0.0, mask=offsets < classes)
        tl.store(loss_ptr + row, 0.0)
        return
    largest = -float("inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + offsets, mask=offsets < classes, other=-float("inf"))
        x = x.to(tl.float32)
        largest_now = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - largest_now) + tl.sum(tl.exp(x - largest_now))
        largest = largest_now
    chosen = tl.load(logits_ptr + label).to(tl.float32)
    tl.store(loss_ptr + row, largest + tl.log(total) - chosen)
    for start in range(0, classes, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < classes
        x = tl.load(logits_ptr + offsets, mask=inside, other=-float("inf")).to(tl.float32)
        grad = tl.exp(x - largest) / total
        grad = tl.where(offsets == label, grad - 1.0, grad) * scale
        tl.store(grad_ptr + offsets, grad, mask=inside)


def cross_entropy(logits, labels, ignored=-100):
    rows, classes = logits.shape
    loss, grad = np.empty(rows, np.float32), np.empty_like(logits)
    cross_entropy_kernel[(rows,)](
        logits, labels, loss, grad, classes, classes, ignored, 1 / rows, BLOCK=256
    )
    return loss, grad


def example(rng):
    """Loss and gradient, and what NumPy says in float64."""
    logits = rng.standard_normal((45, 1003), dtype=np.float32) * 4
    labels = rng.integers(0, 1003, 45)
    labels[[3, 17]] = -100
    exact = logits.astype(np.float64)
    shifted = exact - exact.max(axis=1, keepdims=True)
    p = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    hot = np.eye(1003)[labels]
    kept = labels != -100
    loss = np.where(kept, -np.log((p * hot).sum(axis=1)), 0.0)
    return cross_entropy(logits, labels), (loss, (p - hot) / 45 * kept[:, None])


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("loss", "grad"), results, references, strict=True):
        print(f"largest error of {name}:", np.abs(result - expected).max())
