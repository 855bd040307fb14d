"""The table of targets, and how a target may be spelled."""

import pytest

from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.memory import TARGETS, Memory, target_named


def test_shared_memory_per_cta():
    assert {name: target.smem_bytes for name, target in TARGETS.items()} == {
        "sm_80": 166912,
        "sm_86": 101376,
        "sm_89": 101376,
        "sm_90": 232448,
        "sm_100": 232448,
        "sm_103": 232448,
        "sm_120": 101376,
        "gfx90a": 65536,
        "gfx942": 65536,
        "gfx950": 163840,
        "gfx1100": 65536,
        "gfx1201": 65536,
    }


def test_chips_of_both_tables_have_the_same_lds():
    assert {name: chip.lds_bytes for name, chip in CHIPS.items()} == {
        name: target.smem_bytes for name, target in TARGETS.items() if name.startswith("gfx")
    }


def test_only_datacenter_blackwell_has_tensor_memory():
    columns = {name: target.capacity(Memory.TMEM) for name, target in TARGETS.items()}
    assert {name for name, count in columns.items() if count} == {"sm_100", "sm_103"}
    assert columns["sm_100"] == 512


def test_every_row_names_its_source():
    assert all(target.source for target in TARGETS.values())


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("sm_90", "sm_90"),
        ("sm_90a", "sm_90"),
        ("sm_100a", "sm_100"),
        ("sm_100f", "sm_100"),
        ("cuda:90", "sm_90"),
        ("cuda:sm_103a", "sm_103"),
        ("gfx942", "gfx942"),
        ("hip:gfx950", "gfx950"),
    ],
)
def test_spellings(spelling: str, name: str):
    assert target_named(spelling).name == name


@pytest.mark.parametrize("spelling", ["", "sm_", "sm_70", "gfx908", "cuda", "90a0", "tenstorrent"])
def test_unknown_targets_are_told_what_is_known(spelling: str):
    with pytest.raises(LookupError, match=f"unknown target '{spelling}'; known: sm_80, .*gfx950"):
        target_named(spelling)


def test_capacity_and_text():
    target = target_named("sm_100")
    assert target.capacity(Memory.SMEM) == 232448
    assert str(target) == "sm_100: 232448 bytes of shared memory, 512 columns of tensor memory"
    assert str(target_named("sm_90")) == "sm_90: 232448 bytes of shared memory"
