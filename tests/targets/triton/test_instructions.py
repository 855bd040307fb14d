"""Instructions that a chip does not have are told at the author's line, before Triton runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.triton.instructions import NO_SUCH_INSTRUCTION

pytest.importorskip("triton", reason="kernels are compiled by Triton, which is not installed")

SIZE = tl.constexpr(64)


@tw.jit
def product(out, TYPE: tl.constexpr, TURN_A: tl.constexpr, TURN_B: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), TYPE, 1)
    b = tlx.local_alloc((SIZE, SIZE), TYPE, 1)
    left = tlx.local_trans(a[0]) if TURN_A else a[0]
    right = tlx.local_trans(b[0]) if TURN_B else b[0]
    result = tlx.async_dot_wait(0, tlx.async_dot(left, right))
    at = tl.arange(0, SIZE)
    tl.store(out + at[:, None] * SIZE + at[None, :], result)


@tw.jit
def copied(desc):
    tile = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0])


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("element", [tl.float8e4nv, tl.float32], ids=str)
@pytest.mark.parametrize(("turn_a", "turn_b", "side"), [(False, False, "B"), (True, True, "A")])
def test_wgmma_reads_most_types_only_with_k_contiguous(element, turn_a, turn_b, side):
    out = np.empty((64, 64), np.float32)
    with pytest.raises(CompileError) as raised:
        product.warmup(out, element, turn_a, turn_b, target="triton:sm_90")
    bits = 8 if element is tl.float8e4nv else 32
    assert f"wgmma reads {side} of {bits}-bit values only with K contiguous" in str(raised.value)
    assert f":{line_of('tlx.async_dot(left')}:" in str(raised.value)


@pytest.mark.parametrize(
    ("element", "turn_a", "turn_b"),
    [
        (tl.float16, True, False),
        (tl.float8e4nv, False, True),
    ],
    ids=str,
)
def test_what_wgmma_reads_compiles(element, turn_a, turn_b):
    out = np.empty((64, 64), np.float32)
    compiled = product.warmup(out, element, turn_a, turn_b, target="triton:sm_90")
    assert "wgmma.mma_async" in compiled.text("ptx")


def test_a_chip_without_the_instruction_is_told():
    out = np.empty((64, 64), np.float32)
    with pytest.raises(CompileError) as raised:
        product.warmup(out, tl.float16, False, False, target="triton:sm_80")
    wanted = (
        f"[{NO_SUCH_INSTRUCTION}]: ttng.warp_group_dot is not available on sm_80: it requires sm_90"
    )
    assert wanted in str(raised.value)
    x = tw.TensorDescriptor.from_tensor(np.ones((64, 64), np.float16), [64, 64])
    with pytest.raises(CompileError) as raised:
        copied.warmup(x, target="triton:sm_80")
    wanted = (
        "ttng.async_tma_copy_global_to_local is not available on sm_80: it requires sm_90 or later"
    )
    assert wanted in str(raised.value)
    assert f":{line_of('tlx.async_descriptor_load(desc')}:" in str(raised.value)
