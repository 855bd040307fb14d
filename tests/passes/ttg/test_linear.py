"""Renaming elements changes where they are counted, never where they are: by enumeration."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from xdsl.ir import Attribute

from tilewright.dialects.ttg.distributed import DotOperandEncoding, SliceEncoding
from tilewright.dialects.ttg.mma import AmdMfmaEncoding, NvidiaMmaEncoding
from tilewright.passes.ttg.blocked import blocked, default_blocked
from tilewright.passes.ttg.linear import halved, is_free, joined, linear_of, reshaped, turned

MMA = NvidiaMmaEncoding(
    version_major=3, version_minor=0, warps_per_cta=(4, 1), instr_shape=(16, 64, 16)
)
SHAPE = (64, 64)

LAYOUTS = [
    MMA,
    default_blocked(SHAPE, 4),
    blocked(SHAPE, (4, 1), (0, 1), 8),
    SliceEncoding(dim=1, parent=blocked((64, 2, 64), (1, 2, 4), (2, 1, 0), 4)),
]
every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=("mma", "rows", "columns", "slice"))


def numbers(encoding: Attribute, shape: tuple[int, ...]) -> np.ndarray:
    """The row-major number of the element at every place: CTA, warp, lane, register."""
    layout = linear_of(encoding, shape)
    assert layout is not None
    sizes = [layout.in_size(name) for name in layout.in_names]
    found = []
    for place in product(*map(range, sizes)):
        at = layout.apply(dict(zip(layout.in_names, place, strict=True)))
        index = tuple(at[f"dim{axis}"] for axis in range(len(shape)))
        found.append(int(np.ravel_multi_index(index, shape)))
    return np.array(found).reshape(sizes)


@pytest.mark.parametrize("shape", [(4096,), (2, 32, 64), (4096, 1)])
@every_layout
def test_reshape_keeps_every_element_in_its_place(
    layout: Attribute, shape: tuple[int, ...]
) -> None:
    after = reshaped(layout, SHAPE, shape)
    assert after is not None
    assert np.array_equal(numbers(layout, SHAPE), numbers(after, shape))


@every_layout
def test_turning_twice_is_nothing(layout: Attribute) -> None:
    once = turned(layout, (64, 64), (1, 0))
    assert once is not None
    twice = turned(once, (64, 64), (1, 0))
    assert twice is not None
    assert np.array_equal(numbers(layout, SHAPE), numbers(twice, SHAPE))
    where = np.arange(prod(SHAPE)).reshape(SHAPE).T.ravel()
    assert np.array_equal(where[numbers(once, SHAPE)], numbers(layout, SHAPE))


@every_layout
def test_a_thread_holds_both_halves_of_a_pair(layout: Attribute) -> None:
    pairs = joined(layout, SHAPE)
    assert pairs is not None
    found = numbers(pairs, (*SHAPE, 2))
    single = numbers(layout, SHAPE)
    # The first register bit tells the halves apart, which are next to each other.
    assert np.array_equal(found[0::2], 2 * single)
    assert np.array_equal(found[1::2], 2 * single + 1)
    back = halved(pairs, (*SHAPE, 2))
    assert back is not None
    assert np.array_equal(numbers(back, SHAPE), single)


def test_pairs_in_different_threads_are_not_halved() -> None:
    across = blocked((64, 2), (1, 1), (1, 0), 4)
    assert halved(across, (64, 2)) is None


def operand(width: int) -> DotOperandEncoding:
    return DotOperandEncoding(op_idx=0, parent=MMA, k_width=width)


@pytest.mark.parametrize(
    ("target", "free"),
    [(operand(2), True), (operand(4), False), (default_blocked(SHAPE, 4), False), (MMA, True)],
)
def test_only_some_conversions_are_free(target: Attribute, free: bool) -> None:
    """An accumulator of halves is an operand of halves; of bytes it is not."""
    assert is_free(MMA, target, SHAPE) is free


def test_unknown_layouts_are_not_guessed() -> None:
    foreign = AmdMfmaEncoding(
        version=3, warps_per_cta=(4, 1), instr_shape=(32, 32), is_transposed=True
    )
    assert linear_of(foreign, SHAPE) is None
    assert is_free(MMA, foreign, SHAPE) is None
    assert reshaped(foreign, SHAPE, (4096,)) is None
