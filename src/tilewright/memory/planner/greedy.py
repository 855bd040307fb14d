"""Quick plans: blocks sequentially, each at the best offset that the placed ones leave.

The order decides how good the result is, and no order is always good, so several are tried: largest
first, largest area (size times lifetime) first, longest lifetime first, most conflicts first,
earliest first. Each is tried with first fit (the lowest gap that is large enough) and with best
fit (the gap that is left with the least space). Candidate offsets are 0 and the aligned ends of
adjacent blocks: any other offset could be lowered to one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.memory.planner.decompose import SubProblem, next_free
from tilewright.memory.planner.problem import Block

Offsets = list[int]
Key = Callable[[SubProblem, int], int]


@dataclass(frozen=True)
class Quick:
    """One quick plan and how it was made."""

    offsets: tuple[int, ...]
    height: int
    method: str


def lifetime(block: Block) -> int:
    """For how long a block is live."""
    return sum(end - start for start, end in block.live)


ORDERS: dict[str, Key] = {
    "size": lambda part, n: part.blocks[n].size,
    "area": lambda part, n: part.blocks[n].size * lifetime(part.blocks[n]),
    "lifetime": lambda part, n: lifetime(part.blocks[n]),
    "conflicts": lambda part, n: sum(part.blocks[other].size for other in part.adjacent[n]),
    "start": lambda part, n: -part.hulls[n][0],
}
"""What makes a block come early; larger first, ties by size and then by the order given."""


def order_by(part: SubProblem, name: str) -> list[int]:
    """The movable blocks in one of the orders."""
    key = ORDERS[name]
    return sorted(part.movable, key=lambda n: (-key(part, n), -part.blocks[n].size, n))


def portfolio(part: SubProblem) -> Iterator[Quick]:
    """Every order with first fit, then every order with best fit, lazily."""
    for fit, is_best in (("first", False), ("best", True)):
        for name in ORDERS:
            offsets = assign_in_order(part, order_by(part, name), is_best)
            yield Quick(tuple(offsets), part.height(offsets), f"{fit} fit by {name}")


def best_quick(part: SubProblem, is_late: Callable[[], bool] = lambda: False) -> Quick:
    """The lowest of the portfolio; the first one that reaches the bound ends it."""
    best: Quick | None = None
    for quick in portfolio(part):
        if best is None or quick.height < best.height:
            best = quick
        if best.height == part.bound or is_late():
            break
    assert best is not None
    return best


def assign_in_order(part: SubProblem, order: Sequence[int], is_best_fit: bool = False) -> Offsets:
    """Place the movable blocks sequentially; fixed ones stay where they are."""
    offsets = [-1 if block.fixed is None else block.fixed for block in part.blocks]
    for index in order:
        offsets[index] = _offset_for(part, index, offsets, is_best_fit)
    return offsets


def _offset_for(part: SubProblem, index: int, offsets: Offsets, is_best_fit: bool) -> int:
    block, obstacles = part.blocks[index], part.obstacles[index]
    taken = sorted(
        (offsets[other], offsets[other] + part.blocks[other].size)
        for other in part.adjacent[index]
        if offsets[other] >= 0
    )
    floor, best, min_space = 0, -1, -1
    for start, end in taken:
        if start > floor:
            offset = next_free(floor, block.align, obstacles)
            space = start - offset - block.size
            if space >= 0 and not is_best_fit:
                return offset
            if space >= 0 and (best < 0 or space < min_space):
                best, min_space = offset, space
        floor = max(floor, end)
    return best if best >= 0 else next_free(floor, block.align, obstacles)
