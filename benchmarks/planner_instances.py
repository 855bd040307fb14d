"""500 shared-memory problems of up to 32 blocks, made from what was captured from kernels.

`planner_instances.json` holds the problems of real kernels (`planner_capture` says how it was
made). Most kernels have fewer than ten buffers, so an instance is what a larger kernel would ask
for, drawn with a fixed seed from these decisions:

* kernels: one to four captured ones in one body, each starting somewhere in the one before it, as
  prologues do that are hoisted over the epilogue before them;
* tiles: every size of a kernel halved, kept, multiplied by 3/2 or doubled; barriers stay as they
  are;
* stages: a tile that divides by 2, 3 or 4 may become that many buffers, each coming into use and
  going out of use a moment after the one before it;
* alignment: 1024 for what a descriptor reads, as captured; 16 or 128 for other tiles; 16 for
  barriers.

Instances larger than 32 blocks are drawn again, and so are those with fewer than 4.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.memory.planner import ALWAYS, AsyncRegion, Block, Problem, Space

STORE = Path(__file__).with_name("planner_instances.json")
COUNT = 500
FEWEST, MOST = 4, 32
_SEED = 6
_CAPACITY = 232448
_SMALLEST_TILE = 256
_SCALES = ((1, 2), (1, 1), (1, 1), (3, 2), (2, 1))
_MOMENTS = 8
"""Moments between two captured ones, so that stages and overlapping kernels find room."""


@dataclass(frozen=True)
class Instance:
    """A problem and the kernels it came from."""

    name: str
    problem: Problem


def captured() -> dict[str, tuple[Block, ...]]:
    """The blocks of every captured kernel, by the name of its file and function."""
    found: dict[str, tuple[Block, ...]] = {}
    for name, rows in json.loads(STORE.read_text(encoding="utf-8")).items():
        found[name] = tuple(_block(number, *row) for number, row in enumerate(rows))
    return found


def instances(count: int = COUNT) -> list[Instance]:
    """The same ones every time: first what was captured as it is, then what is drawn from it."""
    kernels = captured()
    space = Space("smem", _CAPACITY)
    found = [
        Instance(name, Problem((space,), blocks))
        for name, blocks in kernels.items()
        if FEWEST <= len(blocks) <= MOST
    ]
    rng = random.Random(_SEED)
    while len(found) < count:
        names = rng.choices([*kernels], k=rng.choice([1, 2, 2, 3, 3, 4]))
        blocks = [*_joined(rng, [kernels[name] for name in names])]
        if FEWEST <= len(blocks) <= MOST:
            named = tuple(replace(block, id=f"b{n}") for n, block in enumerate(blocks))
            found.append(Instance(" + ".join(names), Problem((space,), named)))
    return found[:count]


def _block(
    number: int, size: int, align: int, region: list[int] | None, spans: list[list[int]] | None
) -> Block:
    live = ALWAYS if spans is None else tuple((s * _MOMENTS, e * _MOMENTS) for s, e in spans)
    partition = None if region is None else AsyncRegion(f"ws{region[0]}", region[1])
    return Block(f"b{number}", size, align, live=live, region=partition)


def _joined(rng: random.Random, kernels: Sequence[Sequence[Block]]) -> Iterator[Block]:
    """Kernels one after the other, the next one starting before the last one is over."""
    start = 0
    for number, blocks in enumerate(kernels):
        scale = rng.choice(_SCALES)
        align = rng.choice([16, 128])
        length = max([end for b in blocks if b.live != ALWAYS for _, end in b.live], default=1)
        for block in blocks:
            yield from _staged(rng, _varied(block, scale, align, start, number))
        start += rng.randint(length // 3, length)


def _varied(block: Block, scale: tuple[int, int], align: int, start: int, kernel: int) -> Block:
    is_barrier = block.size < _SMALLEST_TILE
    size = block.size if is_barrier else block.size * scale[0] // scale[1]
    strict = 1024 if block.align >= 512 else 16 if is_barrier else max(align, block.align)
    live = block.live
    if live != ALWAYS:
        live = tuple((begin + start, end + start) for begin, end in live)
    region = block.region
    if region is not None:
        region = replace(region, name=f"{region.name} of {kernel}")
    return replace(block, size=size, align=strict, live=live, region=region)


def _staged(rng: random.Random, block: Block) -> Iterator[Block]:
    """A tile as it is, or as its stages."""
    stages = rng.choice([1, 1, 2, 3, 4])
    is_tile = block.size >= stages * _SMALLEST_TILE and block.size % stages == 0
    if stages == 1 or not is_tile or len(block.live) != 1 or block.live == ALWAYS:
        yield block
        return
    ((start, end),) = block.live
    for stage in range(stages):
        live = ((start + stage, end - (stages - 1 - stage)),)
        yield replace(block, size=block.size // stages, live=live)
