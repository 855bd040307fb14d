"""Random trees through the whole lowering, and every promise looked at by three different eyes.

The pass itself proves what it made with ``memory.checker``. On top of that the addresses that the
lowered module computes are compared with the formulas of docs/design/storage-alias.md, and every pair of buffers is
compared by brute force (`storage_alias_support`).
"""

import pytest

from tests.passes.tlx.storage_alias_support import (
    addresses,
    broken_promises,
    expected_addresses,
    lower,
    random_case,
    stride_of,
    views,
)
from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.tlx.storage_alias.evidence import verify_module

SAMPLE = range(150)
WHOLE = 20_000
PARTS = 20


def check(seed: int) -> str:
    """Lower the tree of `seed` in every way; returns how it was placed."""
    case = random_case(seed)
    counts = {leaf.name: leaf.count for leaf in (*case.leaves, *case.outside)}
    by_address = case.module.clone()
    engine = lower(case.module, placement="auto")
    assert [d.message for d in engine.diagnostics if d.severity.label == "error"] == []
    assert verify(case.module, engine)
    result = verify_module(case.module)
    assert (result.faults, result.unknown) == ((), ())
    assert result.views == len(counts)
    assert not any(op.name.startswith("tlx.storage") for op in walk(case.module))

    starts = addresses(case.module, counts)
    is_explicit = any(isinstance(view, PlacedAliasOp) for view in views(case.module))
    assert broken_promises(case.tree, starts) == []
    if not is_explicit:
        assert broken_promises(case.tree, starts, stride_of(case.tree)) == []
        expected = expected_addresses(case.tree)
        assert {name: starts[name] for name in expected} == expected
        assert not lower(by_address, placement="explicit").has_errors
        assert addresses(by_address, counts) == starts

    before = print_module(case.module)
    assert lower(case.module, placement="auto").diagnostics == []
    assert print_module(case.module) == before
    return "explicit" if is_explicit else "reindex"


@pytest.mark.parametrize("start", SAMPLE[::50])
def test_random_trees(start: int):
    ways = [check(seed) for seed in range(start, start + 50)]
    assert ways.count("reindex") > 15
    assert ways.count("explicit") > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_random_trees(part: int):
    for seed in range(part, WHOLE, PARTS):
        check(seed)


def test_the_comparison_can_fail():
    """A buffer shifted by one unit is seen by the brute-force comparison and by the checker."""
    case = next(
        case
        for case in map(random_case, range(1000))
        if len(case.leaves) > 1 and case.tree.kind == "distinct" and case.memory == "tmem"
    )
    counts = {leaf.name: leaf.count for leaf in case.leaves}
    assert not lower(case.module).has_errors
    starts = addresses(case.module, counts)
    last = case.leaves[-1]
    starts[last.name] = [start - last.unit for start in starts[last.name]]
    assert broken_promises(case.tree, starts) != []
