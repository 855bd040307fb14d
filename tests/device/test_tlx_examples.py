"""On a GPU: the Hopper kernels of ``examples/tlx``, at the sizes they are tuned for.

Results are compared with float64, for sizes that tiles fit and sizes that they do not. Outputs hold
NaN before a run, so what is not written shows; they lie between rows that must stay as they were;
and every kernel runs several times with the same bits, since a race would not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

from tests.examples import tlx_examples

if find_spec("torch"):
    import torch

pytestmark = pytest.mark.device

GEMMS = (
    "hopper_gemm_pipelined",
    "hopper_gemm_ws",
    "hopper_gemm_pingpong",
    "hopper_gemm_persistent",
)
ATTENTIONS = (
    "hopper_attention_ws",
    "hopper_attention_pipelined",
    "hopper_attention_persistent",
)
SHAPES = (
    (256, 512, 256),
    (1024, 1024, 1024),
    (1, 8, 8),
    (129, 264, 72),
    (1000, 1032, 520),
    (4099, 520, 1032),
)
"""M, N, K; rows of what TMA copies are multiples of 16 bytes."""
CONTEXTS = (64, 512, 1, 100, 333, 1000, 2048)
RUNS = 4
GUARD = 7.0
LIMIT = {"float16": 1e-3, "bfloat16": 6e-3}


@cache
def example(name: str) -> ModuleType:
    return tlx_examples.load(name)


def random(shape: tuple[int, ...], dtype: str = "float16") -> Any:
    return torch.randn(shape, device="cuda").to(getattr(torch, dtype))


def check(call: Callable[[Any], Any], rows: int, columns: int, wanted: Any, dtype: str) -> None:
    """`call` fills its argument, all of it and nothing else, with the same bits every time."""
    room = random((rows + 2, columns), dtype).fill_(GUARD)
    out = room[1:-1]
    before = None
    for _ in range(RUNS):
        out.fill_(float("nan"))
        call(out.reshape(wanted.shape))
        torch.cuda.synchronize()
        assert before is None or torch.equal(before, out)
        before = out.clone()
    assert (room[0] == GUARD).all()
    assert (room[-1] == GUARD).all()
    difference = out.reshape(wanted.shape).double() - wanted
    assert float(difference.norm() / wanted.norm()) < LIMIT[dtype]


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, shape: tuple[int, int, int], dtype: str) -> None:
    M, N, K = shape
    a, b = random((M, K), dtype), random((K, N), dtype)
    module = example(name)
    check(lambda out: module.gemm(a, b, out=out), M, N, a.double() @ b.double(), dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_with_buffers_of_their_own(shape: tuple[int, int, int]) -> None:
    M, N, K = shape
    a, b = random((M, K)), random((K, N))
    module = example("hopper_gemm_persistent")
    wanted = a.double() @ b.double()
    check(lambda out: module.gemm(a, b, module.UNALIASED, out=out), M, N, wanted, "float16")


def test_columns_that_tma_does_not_take() -> None:
    """Without descriptors any size will do."""
    a, b = random((100, 150)), random((150, 131))
    module = example("hopper_gemm_pipelined")
    wanted = a.double() @ b.double()
    check(lambda out: module.gemm(a, b, out=out), 100, 131, wanted, "float16")


@pytest.mark.parametrize("sizes", [(40, 130, 0, 64), (1, 1000, 257), (512, 512)], ids=str)
def test_grouped_gemm(sizes: tuple[int, ...]) -> None:
    K, N = 264, 520
    offsets = torch.tensor([sum(sizes[:group]) for group in range(len(sizes) + 1)])
    a, b = random((sum(sizes), K)), random((len(sizes), K, N))
    pieces = [
        a[offsets[group] : offsets[group + 1]].double() @ b[group].double()
        for group in range(len(sizes))
    ]
    on_device = offsets.int().cuda()
    module = example("grouped_gemm")
    check(
        lambda out: module.grouped_gemm(a, b, on_device, out=out),
        sum(sizes), N, torch.cat(pieces), "float16",
    )  # fmt: skip


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("head", [64, 128])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str, context: int, head: int, causal: bool) -> None:
    shape = (2, 3, context, head)
    q, k, v = (random(shape) for _ in range(3))
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(head)
    if causal:
        behind = torch.ones((context, context), device="cuda", dtype=torch.bool).triu(1)
        scores = scores.masked_fill(behind, -float("inf"))
    wanted = torch.softmax(scores, -1) @ v.double()
    module = example(name)
    call = lambda out: module.attention(q, k, v, causal, out=out)  # noqa: E731
    check(call, math.prod(shape[:-1]), head, wanted, "float16")


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_in_bfloat16(name: str) -> None:
    shape = (1, 4, 640, 128)
    q, k, v = (random(shape, "bfloat16") for _ in range(3))
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(128)
    wanted = torch.softmax(scores, -1) @ v.double()
    module = example(name)
    call = lambda out: module.attention(q, k, v, out=out)  # noqa: E731
    check(call, math.prod(shape[:-1]), 128, wanted, "bfloat16")
