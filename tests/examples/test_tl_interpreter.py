"""Integers and random bits against Triton's own interpreter, to the bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .tl_examples import INTEGERS, load

pytest.importorskip("triton", reason="compares with Triton, which is not installed")

ROOT = Path(__file__).resolve().parents[2]


def _interpreted(name: str, seed: int, scratch: Path) -> list[np.ndarray]:
    out = scratch / "results.npz"
    command = [sys.executable, "-m", "tests.examples.interpreted", name, str(seed), str(out)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    with np.load(out) as found:
        return [found[key] for key in found.files]


def _flat(results):
    return results[0] if isinstance(results[0], tuple) else results


# What the sorting of `top_k` becomes is compared with Triton in `language/tl/test_sorting`.
@pytest.mark.parametrize(
    "name",
    [INTEGERS, "histogram", "dropout", pytest.param("top_k", marks=pytest.mark.slow)],
)
def test_results_agree_to_the_bit(name, tmp_path):
    ours = _flat(load(name).example(np.random.default_rng(3)))
    theirs = _interpreted(name, 3, tmp_path)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
