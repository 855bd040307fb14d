"""Random `T` kernels compute what plain NumPy says, in every form the front half gives them.

Two thousand seeds; a failing one is shown by ``pytest tests/fuzz/test_tile_kernels.py -m slow -k
SEED`` with its batch, and its source by ``generate(seed).source``. Results agree with the reference
in every value (the sign of a zero is a matter of the order of a sum), and bit for bit between the
forms of one kernel.
"""

import numpy as np
import pytest

from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import (
    check,
    differences,
    expected,
    forms,
    launched,
    traced,
)
from tilewright.dialects.arith import AddiOp, MaxsiOp, MuliOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

WHOLE, BATCH = 2_000, 50
SAMPLE = (*range(0, WHOLE, 250), 628, 1207, 1218)


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    case = generate(seed)
    assert check(case) == [], case.source


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int) -> None:
    failed = {seed: found for seed in range(first, first + BATCH) if (found := _problems(seed))}
    assert failed == {}


def _problems(seed: int) -> list[str]:
    try:
        return check(generate(seed))
    except Exception as error:  # a seed that fails must not hide the others of its batch
        return [f"{type(error).__name__}: {error}"]


def test_a_kernel_comes_from_its_seed_alone() -> None:
    assert generate(5) == generate(5)
    assert len({generate(seed).source for seed in range(20)}) == 20


def test_most_kernels_write_something_and_every_form_occurs() -> None:
    changed = 0
    labels: set[str] = set()
    for seed in (*range(12), 21, 40):
        case = generate(seed)
        changed += bool(differences(case.arrays(), expected(case), bitwise=False))
        labels |= {label for label, _, _ in forms(traced(case).module)}
    assert changed >= 10
    assert {"pipelined", "in roles", "after normalize-indices", "after split-guards"} <= labels


@pytest.mark.parametrize("seed", [3, 11, 20])
def test_a_wrong_operation_is_noticed(seed: int) -> None:
    """Sums become maxima: the reference must tell, or it checks nothing."""
    case = generate(seed)
    module = traced(case).module
    for op in list(walk(module)):
        if isinstance(op, (AddiOp, MuliOp)):
            Rewriter().replace_op(op, MaxsiOp(*op.operands))
    try:
        found = launched(case, module)
    except Exception as error:
        assert "NumpyFault" in str(type(error).__mro__)
        return
    assert differences(found, expected(case), bitwise=False)


def test_the_reference_reads_zero_outside_and_drops_writes() -> None:
    from tests.fuzz.tile.reference import at, load, put, store, tiles

    array = np.arange(6.0).reshape(2, 3)
    assert at(array, 0, 3) == 0
    assert at(array, -1, 0) == 0
    np.testing.assert_array_equal(load(array, (1, -1), (2, 3)), [[0, 3, 4], [0, 0, 0]])
    store(array, (1, 2), (2, 2), np.full((2, 2), 9.0))
    put(array, (np.arange(3), 0), 7.0, np.array([False, True, True]))
    np.testing.assert_array_equal(array, [[0, 1, 2], [7, 4, 9]])
    assert [list(tiles([2, 3], 2, index, 2)) for index in (0, 1)] == [
        [(0, 0), (1, 0), (0, 2), (1, 2)],
        [(0, 1), (1, 1)],
    ]
