"""Faults injected into the text of a kernel change what its run on the host computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.targets.hip.host_run import HostFault, run_on_host
from tests.targets.hip.support import needs_clang
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.numpy.api import Buffer

pytestmark = needs_clang


@T.prim_func
def attention_scores(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    S: T.Tensor((64,), "float32"),
):
    """The softmax denominators of a GEMM: matrix instructions, exchange, exponentials."""
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        m = T.alloc_fragment((64,), "float32")
        s = T.alloc_fragment((64,), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c)
        T.reduce_max(c, m, dim=1)
        for i, j in T.Parallel(64, 64):
            c[i, j] = T.exp(c[i, j] - m[i])
        T.reduce_sum(c, s, dim=1)
        T.copy(s, S)


def error(
    arch: str,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], str] | None = None,
) -> float:
    """The largest error of the run; infinite if there is no result."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    out = np.full(64, np.nan, np.float32)
    module = lowered(attention_scores.module.clone(), AmdPipeline(target=f"hip:{arch}"))
    arguments = [Buffer("A", a), Buffer("B", b), Buffer("S", out)]
    run_on_host(module, arguments, chip_named(arch), directory, monkeypatch, 5, change)
    scores = a.astype(np.float64) @ b.astype(np.float64)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.abs(out - expected) / expected, nan=np.inf).max())


@pytest.mark.parametrize(
    "arch",
    ["gfx942", *(pytest.param(each, marks=pytest.mark.slow) for each in ("gfx950", "gfx1201"))],
)
def test_it_is_right(arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noted(text: str) -> str:
        texts.append(text)
        return text

    assert error(arch, tmp_path, monkeypatch, noted) < 1e-3
    assert re.search(r"tw::(mfma|wmma)_f32", texts[0])


def _without(text: str, pattern: str) -> str:
    changed, count = re.subn(pattern, "", text)
    assert count
    return changed


FAULTS: dict[str, Callable[[str], str]] = {
    "no barriers": lambda text: _without(text, r"tw::sync(_local)?\(\);"),
    "another lane": lambda text: text.replace("tw::shuffle_xor_by<", "tw::shuffle_xor_by<1 + "),
    "an address of lanes": lambda text: text.replace(
        "(lane() ^ mask) * 4", "(lane() ^ mask ^ 1) * 4"
    ),
    "operands exchanged": lambda text: text.replace("(x, y, *d", "(y, x, *d"),
    "a wrong instruction": lambda text: (
        text.replace("mfma_f32_32x32x8f16", "mfma_f32_16x16x16f16")
        if "mfma_f32_32x32x8f16" in text
        else text.replace("mfma_f32_16x16x16f16", "mfma_f32_16x16x16bf16_1k")
    ),
}


@pytest.mark.parametrize(
    "name",
    ["no barriers"] + [pytest.param(name, marks=pytest.mark.slow) for name in list(FAULTS)[1:]],
)
def test_faults_are_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(text: str) -> str:
        changed = FAULTS[name](text)
        assert changed != text
        return changed

    try:
        assert error("gfx942", tmp_path, monkeypatch, planted) > 1e-2
    except (AssertionError, HostFault) as found:
        # The compiler, or the machine, refuses what does not fit.
        assert isinstance(found, HostFault) or "error:" in str(found)
