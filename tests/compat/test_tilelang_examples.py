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

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.settings import Settings

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_tilelang_examples.py"
VARIABLE = "TILEWRIGHT_TILELANG_EXAMPLES"
ARCHS = "sm_80,sm_90a,sm_120a"
TOO_LARGE = {12: {"sm_120a"}}
"""Entries with a kernel whose tiles are Hopper's, and the GPUs that it does not fit."""


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
    assert all(int(spilled) == 0 for _, _, spilled in made), outcome.output


def test_files_are_compiled_with_their_own_settings(monkeypatch, capsys) -> None:
    @tw.jit(
        target="numpy", pass_configs={"tl.disable_wgmma": True}, compile_flags=["--use_fast_math"]
    )
    def twice(A):
        A: T.Tensor((64,), "float32")
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                A[i] = A[i] * 2

    asked: list[Settings] = []

    def compile_as(module, settings) -> Program:
        asked.append(settings)
        return Program((), {}, None)

    monkeypatch.setattr("tilewright.targets.cuda.compile.compile_as", compile_as)
    runner = script()
    monkeypatch.setattr(CompiledTileKernel, "launch", CompiledTileKernel.launch)
    runner._compile_what_runs(["sm_80", "sm_90a"])
    array = np.ones(64, np.float32)
    for _ in range(2):
        twice(array)
    assert (array == 4).all()
    assert asked == [
        Settings(arch, wgmma=False, flags=("--use_fast_math",)) for arch in ("sm_80", "sm_90a")
    ]
    assert capsys.readouterr().out.count("twice for sm_") == 2
