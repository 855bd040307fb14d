"""Both levels modify the same bytes as often, program by program, and the raised one reads no more."""

from __future__ import annotations

import pytest

from tests.passes.raising.launches import NAMES, example_launches, plausible
from tests.passes.raising.levels import parsed, raised
from tests.passes.raising.test_bits import DUMPS, FEW_DUMPS
from tests.passes.raising.traffic import (
    NotTraced,
    traffic_differences,
    traffic_on_pointers,
    traffic_on_tiles,
)
from tests.sampling import only
from tilewright.dialects.memref import StoreOp
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module
from tilewright.targets.numpy import NumpyFault
from tilewright.targets.numpy.tile import TileFault

RAISED = tuple(name for name in NAMES if name != "grouped_gemm")


@pytest.mark.parametrize("name", only((*RAISED[:3], "layer_norm", "matmul", "rotary"), RAISED))
def test_examples(name: str) -> None:
    for _, launch in example_launches(name):
        assert traffic_differences(raised(launch.text), launch) == []


@pytest.mark.parametrize("name", only(FEW_DUMPS[::4], DUMPS))
def test_dumps(name: str) -> None:
    from tests.dumps import test_frontend as front_end

    (case,) = [each for each in front_end.CASES if each.name == name]
    text = front_end.our_text(case, front_end._targets(case), locations=True)
    result = raise_module(parsed(text))
    if isinstance(result, NotRaised):
        return
    launch = plausible(text)
    try:
        expected = traffic_on_pointers(launch)
        actual = traffic_on_tiles(result, launch)
    except (NumpyFault, TileFault):
        return  # the data do not suit the kernel
    except NotTraced:
        return  # memory is accessed with elements of another size
    assert expected.differences(actual) == []


def test_a_lost_store_and_a_wider_read_are_found() -> None:
    (_, launch), *_ = example_launches("vector_add")
    kernel = raised(launch.text)
    for op in list(kernel.module.walk()):
        if isinstance(op, StoreOp):
            op.detach()
    expected = traffic_on_pointers(launch)
    assert expected.differences(traffic_on_tiles(kernel, launch)) == [
        "array 2: 393756 bytes modified otherwise"
    ]
    assert traffic_on_tiles(raised(launch.text), launch).differences(expected) == []


def test_programs_are_distinguished() -> None:
    """The same bytes, written by other programs, are a difference."""
    (_, launch), *_ = example_launches("vector_add")
    one, other = (traffic_on_pointers(launch) for _ in range(2))
    assert one.differences(other) == []
    moved = other.arrays[2].modified
    other.arrays[2].modified = moved[::-1].copy()
    assert one.differences(other) != []
