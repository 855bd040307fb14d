"""Random `T` kernels give on AMD GPUs, thread by thread, what plain NumPy does.

Both families of the generator, each seed compiled for one of the chips and run under two schedules:
threads in lockstep, and every wave on its own. A kernel that the target cannot execute is refused
with an error; few may be. ``python -m tests.fuzz.hip --seeds SEED --show`` shows one that fails.
"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.device.tile import FAMILIES
from tests.fuzz.hip.judging import Judge
from tests.fuzz.tile.generator import generate
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.passes.gpu.insert_thread_syncs import InsertThreadSyncs

WHOLE, BATCH = 3_000, 50
FAULTS = (41000480, 41000846)
"""Copies of unsigned bytes that were read as signed ones."""
SAMPLE = (7, 753, 1499, 2245, 2618, *FAULTS)
REFUSED_SHARE = 0.3
"""Roles, clusters and mbarriers by hand, and blocks that are not whole waves."""
EXCHANGES = 51
"""A kernel with a scan by exchanges between lanes."""
ACCEPTED = ("right", "refused")


def source(seed: int) -> str:
    return generate(seed, FAMILIES[seed % len(FAMILIES)]).source


def test_every_chip_has_kernels_of_both_families() -> None:
    pairs = {(seed % len(FAMILIES), *Judge().chips_of(seed)) for seed in range(BATCH)}
    assert pairs == {(family, chip) for family in range(len(FAMILIES)) for chip in CHIPS}


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    verdict = Judge()(seed)
    assert verdict.outcome in ACCEPTED, f"{verdict.reason}\n{source(seed)}"


@pytest.mark.parametrize("seed", [0, 9])
def test_a_missing_barrier_is_found(seed: int) -> None:
    verdict = Judge(leave_out=(InsertThreadSyncs.name,))(seed)
    assert (verdict.outcome, "data race" in verdict.reason) == ("report", True)


def _own_lane(module: ModuleOp) -> None:
    """Every lane gets its own value of exchanges."""
    for op in walk(module):
        if isinstance(op, ShuffleOp):
            op.result.replace_all_uses_with(op.value)


def test_an_exchange_with_the_own_lane_is_found() -> None:
    verdict = Judge(change=_own_lane)(EXCHANGES)
    assert (verdict.outcome, "differ" in verdict.reason) == ("wrong", True)
    assert Judge()(EXCHANGES).outcome == "right"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int) -> None:
    judge = Judge()
    verdicts = {seed: judge(seed) for seed in range(first, first + BATCH)}
    assert {n: each for n, each in verdicts.items() if each.outcome not in ACCEPTED} == {}
    refused = [each for each in verdicts.values() if each.outcome == "refused"]
    assert len(refused) <= REFUSED_SHARE * BATCH
