"""TileLang's own files, entries 1 to 19 of the compatibility suite, run and compile unmodified.

They are not part of this repository: TILEWRIGHT_TILELANG_EXAMPLES names a folder with them,
`examples/` of a checkout of tile-ai/tilelang. torch and einops have to be installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_tilelang_examples.py"
VARIABLE = "TILEWRIGHT_TILELANG_EXAMPLES"
ARCHS = "sm_80,sm_90a,sm_120a"
TOO_LARGE = {12: {"sm_80", "sm_120a"}}
"""Entries with a kernel whose tiles are Hopper's, and the GPUs that it does not fit."""
SPILLING = {11}
"""Two accumulators of 128 x 128 floats in 128 threads are 256 registers each: one too many."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tilelang_examples", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"TileLang's files are not run: {VARIABLE} names no folder with them")
    for package in ("torch", "einops"):
        pytest.importorskip(package, reason=f"TileLang's files are not run: no {package} here")
    return Path(named)


@pytest.mark.parametrize("number", range(1, 20))
def test_entry(number: int, folder: Path) -> None:
    outcome = script().attempt(folder, number, limit=900, archs=ARCHS)
    assert outcome.word == "ran", outcome.output
    made = re.findall(r" for (sm_\w+): (\d+) registers, (\d+) bytes spilled", outcome.output)
    left_out = set(re.findall(r" for (sm_\w+): does not fit", outcome.output))
    assert left_out == TOO_LARGE.get(number, set())
    assert {arch for arch, _, _ in made} | left_out == set(ARCHS.split(","))
    if number not in SPILLING:
        assert all(int(spilled) == 0 for _, _, spilled in made), outcome.output
