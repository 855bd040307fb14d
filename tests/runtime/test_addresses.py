"""``tw.analyze``: a kernel with the arguments of a launch, and without running it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.analysis.pid_address import AnalysisError


@tw.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@tw.jit
def row(desc, at, scale, flag):
    tile = desc.load([at, tl.program_id(0) * 16])
    desc.store([at, tl.program_id(0) * 16], tile * scale)


tuned = tw.autotune([tw.Config({"BLOCK": 64})], key=["n"])(add)


def arrays(count: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    one = np.ones(count, np.float32)
    return one, one * 2, np.zeros(count, np.float32)


def test_a_launch_is_explained_and_not_run():
    x, y, out = arrays()
    report = tw.analyze(add, (x, y, out, 1000), (8,), BLOCK=128)
    assert str(report).splitlines()[-1] == (
        "%1 (store): PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true)"
    )
    assert report.grid == (8, 1, 1)
    assert report.facts.args == {"n": 1000}
    assert report.facts.buffers == {"x_ptr": 4000, "y_ptr": 4000, "out_ptr": 4000}
    assert [access.result for access in report.accesses][:2] == ["%x_6", "%y_8"]
    assert report.findings == ()
    assert not out.any()


def test_names_and_a_grid_that_is_computed():
    x, y, out = arrays()
    named = {"x_ptr": x, "y_ptr": y, "out_ptr": out, "n": 1000, "BLOCK": 256}
    report = tw.analyze(add, named, lambda meta: (tw.cdiv(meta["n"], meta["BLOCK"]),))
    assert report.grid == (4, 1, 1)
    assert report.accesses[0].block_size == 256
    assert tw.analyze(add, named).grid == (None, None, None)


def test_checks_see_the_real_buffers():
    x, y, out = arrays()
    good = tw.analyze(add, (x, y, out, 1000), 8, check=["bounds", "race"], BLOCK=128)
    assert {finding.verdict.value for finding in good.findings} == {"proved"}
    short = tw.analyze(add, (x, y, out[:900], 1000), 8, check=["bounds"], BLOCK=128)
    (wrong,) = [finding for finding in short.findings if finding.is_violation]
    assert wrong.accesses == (2,)
    assert wrong.witness is not None
    assert wrong.witness.address == 3600


def test_views_reach_to_their_last_element():
    x = np.ones((10, 100), np.float32)
    report = tw.analyze(add, (x[:, :50], x[2:, 50:], x[::-1], 10), BLOCK=16)
    assert report.facts.buffers == {"x_ptr": 4 * (9 * 100 + 50), "y_ptr": 4 * (7 * 100 + 50)}


def test_tuned_kernels():
    x, y, out = arrays()
    report = tw.analyze(tuned, (x, y, out, 1000), lambda meta: (tw.cdiv(1000, meta["BLOCK"]),))
    assert report.grid == (16, 1, 1)
    assert report.accesses[0].block_size == 64


def test_descriptors_bring_shape_and_strides():
    array = np.ones((8, 64), np.float32)
    described = tw.TensorDescriptor(array, [8, 64], [64, 1], [1, 16])
    report = tw.analyze(row, (described, 3, 2.0, True), (4,))
    assert report.facts.buffers == {"desc": 8 * 64 * 4}
    assert sorted(report.facts.args.values()) == [1, 1, 3, 8, 64, 64]
    load, store = report.accesses
    assert str(load.pid_strides[0]) == "64"
    assert (load.kind, store.kind) == ("load", "store")


def test_ir_takes_integers_by_name():
    x, y, out = arrays()
    module = add.warmup(x, y, out, 1000, BLOCK=128).module
    report = tw.analyze(module, {"arg3": 500}, (4,), assume=["np0 == 4"])
    assert report.facts.args == {"arg3": 500}
    with pytest.raises(TypeError, match="by name"):
        tw.analyze(module, (500,))
    with pytest.raises(TypeError, match="no arguments to compute a grid from"):
        tw.analyze(module, grid=lambda meta: (1,))


def test_what_cannot_hold():
    x, y, out = arrays()
    with pytest.raises(AnalysisError, match="contradicts the other facts"):
        tw.analyze(add, (x, y, out, 1000), assume=["n == 7"], BLOCK=128)
    with pytest.raises(AnalysisError, match="unknown check 'fast'; expected coalesce"):
        tw.analyze(add, (x, y, out, 1000), check=["fast"], BLOCK=128)
    with pytest.raises(AnalysisError, match="0 programs along axis 0"):
        tw.analyze(add, (x, y, out, 1000), (0,), BLOCK=128)


@tw.jit
def shift(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n, other=0)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def races(x: np.ndarray, out: np.ndarray) -> list[str]:
    report = tw.analyze(shift, (x, out, 1000), (8,), check=["race"], BLOCK=128)
    return [str(finding) for finding in report.findings]


def test_arrays_that_lie_over_each_other_are_seen():
    x = np.zeros(2000, np.float32)
    apart = [
        "race: proved (presburger): no conflict between programs in %3 (store): no common byte"
    ]
    assert races(x[:1000], x[1000:]) == apart
    in_place, store = races(x[:1000], x[:1000])
    assert in_place.startswith(
        "race: refuted (presburger): conflict between programs in %x_17 (load) and %3 (store) at "
    )
    assert "program 0, lane 127 and program 1, lane 0" in in_place
    assert [store] == apart
    shifted, *_ = races(x[:1000], x[4:1004])
    assert shifted.startswith("race: unknown")
    assert shifted.endswith("%x_ptr and %out_ptr may overlap arbitrarily")


def test_an_array_that_runs_backwards_lies_where_its_elements_are():
    x = np.zeros(2000, np.float32)
    backwards, *_ = races(x[999::-1], x[500:1500])
    assert backwards.startswith("race: unknown")
