"""Attention with a state, in chunks: linear attention and the gated delta rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.h200.measure import Candidate
from benchmarks.workloads.sources import ours, tilelang
from benchmarks.workloads.workload import Limit, Prepared, Workload, choices

_DIM, _CHUNK = 128, 64
_OPTIONS = ({"block_V": 64, "num_stages": 2}, {"block_V": 64, "num_stages": 1}, {"block_V": 32})


def _inputs(count: int, batch: int, length: int, heads: int) -> list[torch.Tensor]:
    shape = batch, length, heads, _DIM
    return [torch.randn(shape, device="cuda", dtype=torch.bfloat16) / 4 for _ in range(count)]


def _chunks(given: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """For each chunk the inputs, heads before positions."""
    for begin in range(0, given[0].shape[1], _CHUNK):
        yield [each[:, begin : begin + _CHUNK].transpose(1, 2).float() for each in given]


def _linear(batch: int, length: int, heads: int, directory: str | None) -> Prepared:
    given = _inputs(3, batch, length, heads)
    state = torch.zeros(batch, heads, _DIM, _DIM, device="cuda")
    rows: list[torch.Tensor] = []
    for q, k, v in _chunks(given):
        rows.append(q @ state + (q @ k.mT).tril() @ v)
        state += k.mT @ v
    expected = torch.cat(rows, 2).transpose(1, 2)
    return _prepared("linear_attention", given, expected, directory)


def _delta(batch: int, length: int, heads: int, directory: str | None) -> Prepared:
    given = _inputs(4, batch, length, heads)
    given[2] /= 8  # as a chunk's inverse would: else the state grows without bounds
    steps = torch.rand(batch, heads, length // _CHUNK, _CHUNK, device="cuda")
    logs = (-0.1 * steps).cumsum(-1)
    state = torch.zeros(batch, heads, _DIM, _DIM, device="cuda")
    rows: list[torch.Tensor] = []
    for n, (q, k, w, u) in enumerate(_chunks(given)):
        g = logs[:, :, n, :, None]
        new = u - w @ state
        rows.append(torch.exp2(g) * (q @ state) + ((q @ k.mT) * torch.exp2(g - g.mT)).tril() @ new)
        last = g[:, :, -1:]
        state = torch.exp2(last) * state + k.mT @ (new * torch.exp2(last - g))
    expected = torch.cat(rows, 2).transpose(1, 2)
    given.append(logs.reshape(batch, heads, length).contiguous())
    return _prepared("gated_delta_rule", given, expected, directory)


def _prepared(
    name: str, given: list[torch.Tensor], expected: torch.Tensor, directory: str | None
) -> Prepared:
    candidates = choices(partial(getattr(ours("recurrent"), name), *given), _OPTIONS)
    if directory is not None:
        kernel = getattr(tilelang("recurrent", directory), name)
        candidates.insert(0, Candidate("TileLang", partial(kernel, *given)))
    return Prepared(expected, candidates, 2e-2)


def workloads(directory: str | None) -> Iterator[Workload]:
    """Sizes of training."""
    batch, length, heads = 4, 8192, 32
    limits = (Limit("TileLang", 1.0),)
    for family, prepare, tensors in (
        ("linear attention", _linear, 4),
        ("gated delta rule", _delta, 5),
    ):
        moved = 2 * tensors * batch * length * heads * _DIM
        prepared = partial(prepare, batch, length, heads, directory)
        shape = f"b{batch} h{heads} s{length} d{_DIM}"
        yield Workload(family, shape, prepared, limits, moved)
