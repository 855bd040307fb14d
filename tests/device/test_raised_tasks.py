"""On a GPU: `tlx` examples raised to tiles, through our own CUDA, against float64.

Outputs hold NaN before a run, and every kernel runs several times with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.devices import torch_on_a_device

torch = torch_on_a_device()

import tilewright as tw  # noqa: E402
from tests.device.test_tlx_examples import (  # noqa: E402
    ATTENTIONS,
    GEMMS,
    check,
    example,
    random,
)

pytestmark = pytest.mark.device

SHAPES = ((256, 512, 256), (1024, 1024, 1024), (1, 8, 8), (129, 264, 72), (1000, 1032, 520))
CONTEXTS = (512, 1, 100, 333, 1000)


def on_tiles(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(out: Any) -> Any:
        with tw.running(target="cuda"):
            return call(out)

    return run


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, shape: tuple[int, int, int]) -> None:
    M, N, K = shape
    a, b = random((M, K)), random((K, N))
    module = example(name)
    call = on_tiles(lambda out: module.gemm(a, b, out=out))
    check(call, M, N, a.double() @ b.double(), "float16")


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("head", [64, 128])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str, context: int, head: int, causal: bool) -> None:
    shape = (2, 3, context, head)
    q, k, v = (random(shape) for _ in range(3))
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(head)
    if causal:
        later = torch.ones((context, context), device="cuda", dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    expected = torch.softmax(scores, -1) @ v.double()
    module = example(name)
    call = on_tiles(lambda out: module.attention(q, k, v, causal, out=out))
    check(call, math.prod(shape[:-1]), head, expected, "float16")
