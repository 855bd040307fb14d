"""The script that runs TLX's tutorials, on a tutorial of our own under one of their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = """\
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def kernel(a, b, c, K, STRIDE: tl.constexpr, TILE: tl.constexpr):
    m = tl.program_id(0) * TILE + tl.arange(0, TILE)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, TILE)
    box = tlx.local_alloc((TILE, TILE), tl.float16, 1)
    acc = tl.zeros((TILE, TILE), tl.float32)
    for step in tl.range(0, K, TILE):
        tlx.local_store(box[0], tlx.buffer_load(a, m[:, None] * STRIDE + step + k[None, :]))
        right = tl.load(b + (step + k[:, None]) * 256 + n[None, :])
        acc = tl.dot(tlx.local_load(box[0]), right, acc)
    tl.store(c + m[:, None] * 256 + n[None, :], acc)


def matmul(a, b):
    c = torch.empty((256, 256), device=a.device, dtype=torch.float32)
    kernel[(4, 4)](a, b, c, 192, STRIDE={stride}, TILE=64, num_warps=4)
    return c
"""


def run(directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "scripts/run_tlx_tutorials.py",
        str(directory),
        "amd_gemm_gfx942",
        *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize(("stride", "verdict"), [("192", "right"), ("64", "WRONG")])
def test_a_tutorial_is_compared_with_numpy(tmp_path: Path, stride: str, verdict: str) -> None:
    (tmp_path / "amd_gemm_gfx942.py").write_text(TUTORIAL.replace("{stride}", stride))
    done = run(tmp_path)
    assert verdict in done.stdout, done.stdout + done.stderr
    assert done.returncode == (0 if verdict == "right" else 1)
