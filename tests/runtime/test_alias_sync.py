"""`TILEWRIGHT_CHECK_ALIAS_SYNC=1` checks every kernel when it is traced."""

import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx

VARIABLE = "TILEWRIGHT_CHECK_ALIAS_SYNC"


@tw.jit
def doubled(x_desc, y_ptr, SIZE: tl.constexpr, WAITS: tl.constexpr):
    tile = tlx.local_alloc((SIZE, SIZE), tl.float32, 1)
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    tlx.barrier_expect_bytes(full[0], SIZE * SIZE * 4)
    tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0])
    if WAITS:
        tlx.barrier_wait(full[0], 0)
    value = tlx.local_load(tile[0])
    tlx.barrier_wait(full[0], 0)
    places = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + places, value + value)


def traced(waits: bool) -> str:
    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    described = tw.TensorDescriptor.from_tensor(x, [16, 16])
    return doubled.warmup(described, x, SIZE=16, WAITS=waits, grid=(1,)).text()


@pytest.fixture(autouse=True)
def nothing_is_compiled_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are traced once for each kind of arguments."""
    fresh = tw.jit(doubled.fn)
    monkeypatch.setitem(globals(), "doubled", fresh)


def test_a_missing_wait_is_a_warning_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    said = traced(waits=False)
    out, err = capsys.readouterr()
    first = err.splitlines()[0]
    assert "test_alias_sync.py:" in first
    assert first.endswith(
        "warning[TW4062]: data race: read of 'tile'[0] in task 0 may run before write of 'tile'[0] "
        "in task 0 completes; no barrier orders them"
    )
    assert "value = tlx.local_load(tile[0])" in err
    assert out == ""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setitem(globals(), "doubled", tw.jit(doubled.fn))
    assert traced(waits=False) == said, "the module stays as it is"


@pytest.mark.parametrize(("value", "waits"), [("1", True), ("0", False), ("", False)])
def test_nothing_is_said_where_nothing_is_wrong_or_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str, waits: bool
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert "ttng.async_tma_copy_global_to_local" in traced(waits)
    assert capsys.readouterr().err == ""


def test_the_pass_is_loaded_on_demand_only() -> None:
    code = (
        "import sys, tilewright.runtime.pointer.compiled; "
        "print([name for name in sys.modules if 'alias_sync' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
