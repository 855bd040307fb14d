"""Random `tl` kernels: raised ones compute the same bits, also when they are scheduled."""

from __future__ import annotations

import pytest

from tests.fuzz.tl.generator import FAMILIES, generate
from tests.fuzz.tl.running import launched
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import assert_same, on_pointers, on_tiles, parsed
from tests.sampling import only
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FEW, MANY = (0, 17, 33, 102), range(300)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", only(FEW, MANY))
def test_random_kernels(seed: int, family: str) -> None:
    with recorded() as launches:
        launched(generate(seed, family), check=False)
    for _, launch in launches:
        result = raise_module(parsed(launch.text))
        if isinstance(result, NotRaised):
            assert result.refusals
            continue
        result.module.verify()
        expected, _ = on_pointers(launch)
        actual, _ = on_tiles(result, launch)
        assert_same(expected, actual)
        actual, _ = on_tiles(result, launch, TilePipeline(), schedules=2)
        assert_same(expected, actual)
