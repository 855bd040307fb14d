"""The words that name operands to tensor cores are those that Triton writes itself."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import f16

import tilewright as tw
from tests.examples.tlx_examples import load
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import SHARED_MEMORY, MemDescType
from tilewright.passes.stock_triton.pairs import instruction_descriptor, matrix_operand
from tilewright.runtime.compile_only import compiling_only

TILE = NvmmaSharedEncoding(swizzling_byte_width=128, transposed=False, element_bit_width=16)


def buffer(*shape: int, transposed: bool = False) -> MemDescType:
    layout = NvmmaSharedEncoding(
        swizzling_byte_width=128, transposed=transposed, element_bit_width=16
    )
    return MemDescType(shape, f16, layout, SHARED_MEMORY, True)


def test_words_are_triton_s() -> None:
    pytest.importorskip("triton")
    found = []
    with tw.running(target="triton:sm_100"), compiling_only(found.append):
        load("blackwell_gemm_ws").example(np.random.default_rng(0))
    ptx = found[0].artefact.asm["ptx"]
    # The example multiplies 128 x 64 by 64 x 64, both with rows of 128 bytes.
    a, b = matrix_operand(buffer(128, 64), 1), matrix_operand(buffer(64, 64), 0)
    assert a is not None
    assert b is not None
    numbers = {int(text) for text in re.findall(r"mov\.b32\s+%r\d+, (\d+);", ptx)}
    assert a.high_bits == b.high_bits
    assert {a.high_bits, instruction_descriptor(0, a, b, 128, 64)} <= numbers
    steps = {int(text) for text in re.findall(r"add\.s32\s+%r\d+, %r\d+, (\d+);", ptx)}
    assert {*a.steps[1:], *b.steps[1:]} <= steps
    assert (a.low_bits, b.low_bits) == (0, 0)
    assert a.steps == (0, 2, 4, 6)
    assert b.steps == (0, 128, 256, 384)


def test_wider_tiles_are_blocks_of_rows() -> None:
    """Columns beyond the first 128 bytes are a block of their own."""
    wide = matrix_operand(buffer(64, 128), 0)
    assert wide is not None
    # The second block begins behind 64 rows of 128 bytes.
    assert wide.low_bits == (64 * 128 // 16) << 16
    deep = matrix_operand(buffer(128, 128), 1)
    assert deep is not None
    assert deep.steps == (0, 2, 4, 6, 1024, 1026, 1028, 1030)


def test_turned_operands_change_sides() -> None:
    turned = matrix_operand(buffer(64, 64, transposed=True), 0)
    assert turned is not None
    assert not turned.is_transposed
    assert turned.steps == (0, 2, 4, 6)


@pytest.mark.parametrize(
    "type",
    [
        MemDescType((128, 64), f16, TILE, SHARED_MEMORY, True).with_encoding(
            NvmmaSharedEncoding(swizzling_byte_width=64, transposed=False, element_bit_width=16)
        ),
        f16,
    ],
)
def test_other_buffers_are_refused(type) -> None:
    assert matrix_operand(type, 1) is None
