"""Buffer accesses with their bounds, and copies to LDS that land late, on AMD's GPUs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.amd_kernels import (
    COPY,
    READ,
    START,
    G,
    L,
    S,
    fault,
    kernel,
    mirrored,
    run,
    tensors,
)
from tilewright.targets.numpy.simt import SimtOptions

# -- buffer accesses -----------------------------------------------------------------------------

VECTORS = f"""
    %r = tile.alloc "r" : {L}
    %i = arith.muli %tid, %c4 : index
    %t = arith.cmpi ult, %tid, %c64 : index
"""


def test_loads_past_the_bound_give_zeros():
    body = f"""{VECTORS}
    amd.buffer_load %In[%i] -> %r[%c0] lanes(4) elements %c256 : {G}, {L}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : {L}, {G}"""
    arrays = tensors()
    run(kernel(body), arrays)
    np.testing.assert_array_equal(arrays["Out"][:256], np.arange(1, 257))
    assert (arrays["Out"][256:512] == 0).all()


def test_loads_far_past_the_tensor_are_not_made():
    """Neither after its end nor before its beginning, and not where the predicate is false."""
    body = f"""{VECTORS}
    %far = arith.muli %i, %c1024 : index
    amd.buffer_load %In[%far] -> %r[%c0] lanes(4) elements %c1024 : {G}, {L}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : {L}, {G}"""
    arrays = tensors()
    run(kernel(body), arrays)
    assert (arrays["Out"][4:512] == 0).all()
    before = f"""{VECTORS}
    %early = arith.subi %i, %c256 : index
    amd.buffer_load %In[%early] -> %r[%c0] lanes(4) elements %c1024 : {G}, {L}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : {L}, {G}"""
    arrays = tensors()
    run(kernel(before), arrays)
    assert (arrays["Out"][:256] == 0).all()
    np.testing.assert_array_equal(arrays["Out"][256:512], np.arange(1, 257))
    guarded = f"""{VECTORS}
    amd.buffer_load %In[%i] -> %r[%c0] lanes(4) elements %c1024 if %t : {G}, {L}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : {L}, {G}"""
    arrays = tensors()
    run(kernel(guarded), arrays)
    assert (arrays["Out"][256:512] == 0).all()
    np.testing.assert_array_equal(arrays["Out"][:256], np.arange(1, 257))


@pytest.mark.parametrize("guard", ["elements %c256", "elements %c1024 if %t"])
def test_stores_past_the_bound_are_dropped(guard: str):
    body = f"""{VECTORS}
    simt.move %In[%i] -> %r[%c0] lanes(4) : {G}, {L}
    amd.buffer_store %r[%c0] -> %Out[%i] lanes(4) {guard} : {L}, {G}"""
    arrays = tensors()
    run(kernel(body), arrays)
    np.testing.assert_array_equal(arrays["Out"][:256], np.arange(1, 257))
    assert np.isnan(arrays["Out"][256:]).all()


def test_a_bound_must_not_cut_a_vector():
    body = f"""{VECTORS}
    %cut = arith.addi %c100, %c63 : index
    amd.buffer_load %In[%i] -> %r[%c0] lanes(4) elements %cut : {G}, {L}"""
    found = fault(kernel(body), tensors())
    assert found.kind == "out of bounds"
    assert "thread 40 accesses 4 elements from 160 on, but the bound is 163" in str(found)


def test_a_bound_beyond_the_tensor_protects_nothing():
    body = f"""{VECTORS}
    %much = arith.muli %c1024, %c4 : index
    %i8 = arith.muli %i, %c4 : index
    amd.buffer_load %In[%i8] -> %r[%c0] lanes(4) elements %much : {G}, {L}"""
    found = fault(kernel(body), tensors())
    assert "thread 127 accesses In[2035], but 'In' has 1024 elements" in str(found)


def test_stores_of_different_values_to_one_element_race():
    body = f"""{VECTORS}
    simt.move %In[%i] -> %r[%c0] lanes(4) : {G}, {L}
    amd.buffer_store %r[%c0] -> %Out[%c0] lanes(4) elements %c1024 : {L}, {G}"""
    assert fault(kernel(body), tensors()).kind == "race"


# -- copies to LDS -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_that_was_waited_for(seed: int):
    arrays = tensors()
    run(
        kernel(mirrored("amd.wait loads(0)\ngpu.barrier"), "gfx950"), arrays, SimtOptions(seed=seed)
    )
    expected = np.arange(1, 513).reshape(128, 4)[::-1].ravel()
    np.testing.assert_array_equal(arrays["Out"][:512], expected)


@pytest.mark.parametrize(
    "sync", ["", "gpu.barrier", "amd.wait loads(0)", "gpu.barrier\namd.wait loads(0)",
             "amd.wait loads(1)\ngpu.barrier"]
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_a_copy_that_was_not_waited_for(sync: str, seed: int):
    found = fault(kernel(mirrored(sync), "gfx950"), tensors(), SimtOptions(seed=seed))
    assert found.kind == "race"
    assert "reads s[" in str(found)


def test_without_checks_the_values_are_wrong():
    """What the check reports is what a GPU may do."""
    text = kernel(mirrored("gpu.barrier"), "gfx950")
    outcomes: set[bool] = set()
    expected = np.arange(1, 513).reshape(128, 4)[::-1].ravel()
    for seed in range(6):
        arrays = tensors()
        run(text, arrays, SimtOptions(seed=seed, checked=False))
        outcomes.add(np.array_equal(arrays["Out"][:512], expected))
    assert False in outcomes


@pytest.mark.parametrize(("leave", "is_right"), [(0, True), (1, True), (2, False)])
def test_a_wait_leaves_the_last_copies_in_flight(leave: int, is_right: bool):
    """Two copies a wave: the first is read."""
    second = f"""
    %s2 = tile.alloc "s2" offset 4096 : {S}
    amd.load_lds %In[%i] -> %s2[%base] lanes(4) : {G}, {S}"""
    body = f"{COPY}\n{START}\n{second}\namd.wait loads({leave})\ngpu.barrier\n{READ}"
    arrays = tensors()
    if not is_right:
        assert fault(kernel(body, "gfx950"), arrays).kind == "race"
        return
    run(kernel(body, "gfx950"), arrays)
    expected = np.arange(1, 513).reshape(128, 4)[::-1].ravel()
    np.testing.assert_array_equal(arrays["Out"][:512], expected)


def test_copies_are_counted_wave_by_wave():
    """Only wave 0 starts another copy: one in flight is enough for it, not for wave 1."""
    second = f"""
    %s2 = tile.alloc "s2" offset 4096 : {S}
    %first = arith.cmpi ult, %tid, %c64 : index
    scf.if %first {{
      amd.load_lds %In[%i] -> %s2[%base] lanes(4) : {G}, {S}
    }}"""
    body = f"{COPY}\n{START}\n{second}\namd.wait loads(1)\ngpu.barrier\n{READ}"
    found = fault(kernel(body, "gfx950"), tensors())
    assert "reads s[508], and nothing orders it after" in str(found)


@pytest.mark.parametrize("guard", ["elements %c256", "if %first", "elements %c1024 if %first"])
def test_zeros_where_a_copy_is_excluded(guard: str):
    start = f"""
    %first = arith.cmpi ult, %tid, %c64 : index
    amd.load_lds %In[%i] -> %s[%base] lanes(4) {guard} : {G}, {S}"""
    arrays = tensors()
    body = f"{COPY}\n{start}\namd.wait loads(0)\ngpu.barrier\n{READ}"
    run(kernel(body, "gfx950"), arrays)
    assert (arrays["Out"][:256] == 0).all()
    expected = np.arange(1, 257).reshape(64, 4)[::-1].ravel()
    np.testing.assert_array_equal(arrays["Out"][256:512], expected)


def test_the_destination_is_one_of_the_wave():
    body = f"{COPY}\namd.load_lds %In[%i] -> %s[%i] lanes(4) : {G}, {S}"
    found = fault(kernel(body, "gfx950"), tensors())
    assert found.kind == "divergent"
    assert "lanes of wave 0 have different destinations of a copy to LDS" in str(found)


def test_a_copy_past_the_end_of_its_buffer():
    body = f"""{COPY}
    %high = arith.addi %base, %c1024 : index
    %less = arith.subi %high, %c256 : index
    amd.load_lds %In[%i] -> %s[%less] lanes(4) : {G}, {S}"""
    assert "thread 127 accesses s[1279], but 's' has 1024" in str(
        fault(kernel(body, "gfx950"), tensors())
    )


def test_a_copy_over_data_that_others_still_read():
    body = f"{mirrored('amd.wait loads(0)' + chr(10) + 'gpu.barrier')}\n{START}"
    found = fault(kernel(body, "gfx950"), tensors())
    assert found.kind == "race"
    assert "writes s[" in str(found)


def test_hints_change_nothing():
    hints = "amd.sched_group mfma count(1)\namd.sched_barrier 0\namd.setprio 1\namd.iglp 0"
    arrays = tensors()
    run(kernel(mirrored(f"amd.wait loads(0)\n{hints}\ngpu.barrier"), "gfx950"), arrays)
    expected = np.arange(1, 513).reshape(128, 4)[::-1].ravel()
    np.testing.assert_array_equal(arrays["Out"][:512], expected)
