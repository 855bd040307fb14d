"""The functions of our layouts can be traced: they become attributes of the tile dialect."""

from __future__ import annotations

import pytest

from tests.oracles.layouts.block_fragments import (
    mma_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)
from tests.oracles.layouts.from_linear import fragment_from_linear, layout_from_linear
from tests.oracles.layouts.replication import reduce_dimension
from tilewright.dialects.tile import FragmentMap, LayoutMap
from tilewright.layouts.encodings import Blocked, NvidiaMma, NvmmaShared, Slice
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.mma_sync import mma_c
from tilewright.layouts.hardware.swizzle import swizzled_tile, tile_address
from tilewright.layouts.index_map import Layout

FRAGMENTS = {
    "mma": mma_accumulator((32, 24), (2, 1)),
    "a": mma_operand_a((32, 16), (2, 2), 16, 16),
    "b": mma_operand_b((16, 32), (2, 2), 16, 16),
    "wgmma": wgmma_accumulator((64, 24)),
    "wgmma a": wgmma_operand_a((64, 16), 16, (1, 2)),
    "reduced": reduce_dimension(wgmma_accumulator((64, 24)), 1),
    "rows reduced": reduce_dimension(mma_accumulator((32, 24), (2, 1)), 0),
    "replicated": Fragment.replicated((5,), 4),
    "blocked": fragment_from_linear(Blocked((1, 4), (8, 4), (2, 1), (1, 0)).to_linear([16, 16])),
    "slice": fragment_from_linear(Slice(0, NvidiaMma((2, 0), (2, 1), (16, 8))).to_linear([16])),
}

LAYOUTS = {
    "swizzled": swizzled_tile((24, 64), 16, 128),
    "stages": swizzled_tile((2, 8, 32), 16, 64),
    "addresses": tile_address((24, 32), 16, 64),
    "padded": Layout.padded((6, 10), 2),
    "bits": layout_from_linear(NvmmaShared(64, 16).to_linear([16, 32])),
    "repeated": swizzled_tile((8, 16), 16, 32).repeat(1, 3),
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments(name: str):
    fragment = FRAGMENTS[name]
    traced = FragmentMap.from_functions(
        fragment.shape, fragment.thread, fragment.index, fragment.replicas
    )
    assert traced.problem() is None
    for point in fragment.points():
        for replica in range(fragment.replicas):
            thread, index = traced.evaluate(*point, replica=replica)
            assert thread == fragment.thread_of(*point, replica=replica)
            assert index == fragment.index_of(*point)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str):
    layout = LAYOUTS[name]
    traced = LayoutMap.from_function(layout.shape, layout.forward)
    assert traced.problem() is None
    assert [traced.evaluate(*point) for point in layout.points()] == list(layout.locations)


def test_text_of_the_accumulator_is_short():
    fragment = mma_c()
    traced = FragmentMap.from_functions(fragment.shape, fragment.thread, fragment.index)
    assert str(traced) == (
        "(i : 16, j : 8) -> thread (i mod 8 * 4 + j floordiv 2) index "
        "(j mod 2 + 2 * (i floordiv 8))"
    )
    tile = LayoutMap.from_function((64, 64), Layout.padded((64, 64), 8).forward)
    assert str(tile) == "(i : 64, j : 64) -> (i * 72 + j)"
