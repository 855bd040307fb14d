"""Buffers of one storage_alias_spec that no group and no overlap definition names lie over each other."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.cli import main

SIZE = 16


@tw.jit
def both(x_ptr, y_ptr, N: tl.constexpr, READS_FIRST: tl.constexpr):
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    a = tlx.local_alloc((N, N), tl.float32, 1, reuse=spec)
    b = tlx.local_alloc((N, N), tl.float32, 1, reuse=spec)
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    v = tl.load(x_ptr + at)
    tlx.local_store(a[0], v)
    if READS_FIRST:
        u = tlx.local_load(a[0])
        tlx.local_store(b[0], v * 2)
    else:
        tlx.local_store(b[0], v * 2)
        u = tlx.local_load(a[0])
    tl.store(y_ptr + at, u + tlx.local_load(b[0]))


def run(reads_first: bool) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    y = np.zeros_like(x)
    both[(1,)](x, y, N=SIZE, READS_FIRST=reads_first)
    return x, y


def test_a_value_that_an_unnamed_buffer_overwrote_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    source = Path(__file__).read_text(encoding="utf-8")
    kernel = source[source.index("import numpy") : source.index("def test_a_value")]
    script.write_text(kernel + "run(reads_first=False)\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    assert main.run(["check", str(script)]) == 1
    err = capsys.readouterr().err
    assert "error[TW6131]: overwritten value: read of a[0]" in err
    assert "shared memory that b[0] has overwritten" in err


def test_values_that_are_read_in_time_are_right() -> None:
    x, y = run(reads_first=True)
    np.testing.assert_array_equal(y, 3 * x)
