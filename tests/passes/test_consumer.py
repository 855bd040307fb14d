"""Triton builds the same machine code from IR that our clean-up passes have been over.

The front end's raw IR is the hard case: everything that Triton's own canonicaliser would do is
still to be done. Its own passes run afterwards, so equal binaries mean that ours did nothing that
those would not have done, line information included. Text that is canonical already must not
change at all.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.passes.pass_support import apply, parse
from tilewright.ir.text import print_module

pytest.importorskip("triton", reason="the binaries are built with Triton, which is not installed")

from tests.dumps.consumer import build
from tests.dumps.generate import cases, dump

CASES = {case.name: case for case in cases()}
TARGET = "sm90"
CLEAN_UP = ("canonicalize", "cse", "dce")

CHOSEN = ("vector_add", "softmax_rows", "for_loops", "branches", "early_return", "gemm_f16")
MORE = (
    "attention_causal",
    "comparisons",
    "dropout",
    "gemm_persistent",
    "layernorm",
    "loop_with_branch",
    "reduce_welford",
    "rmsnorm",
    "scan_kinds",
    "standard_casts",
    "unrolled_loop",
    "while_loops",
)
NOT_FULLY_CANONICAL = ("dropout", "unrolled_loop")
"""Triton leaves something to fold: ``tt.mulhiui`` of constants, an unrolled loop's bounds."""


def cleaned(text: str) -> str:
    return print_module(apply(parse(text), *CLEAN_UP), locations=True)


def binary(text: str, kind: Any, options: Mapping[str, Any]) -> bytes:
    return build(text, kind, TARGET, options)


def check(name: str) -> None:
    case = CASES[name]
    texts = dump(case, TARGET)
    ours = cleaned(texts["source.ttir"])
    assert ours != texts["source.ttir"]
    expected = binary(texts["source.ttir"], "source.ttir", case.options)
    assert binary(ours, "source.ttir", case.options) == expected
    canonical = cleaned(texts["ttir"])
    if name in NOT_FULLY_CANONICAL:
        expected = binary(texts["ttir"], "ttir", case.options)
        assert binary(canonical, "ttir", case.options) == expected
    else:
        assert canonical == texts["ttir"]


@pytest.mark.parametrize("name", CHOSEN)
def test_same_binary(name: str):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_same_binary_of_more_kernels(name: str):
    check(name)


def test_a_wrong_rewrite_shows_in_the_binary():
    """The comparison can fail: one op exchanged, and the machine code differs."""
    case = CASES["vector_add"]
    text = dump(case, TARGET)["source.ttir"]
    assert "arith.addf" in text
    wrong = text.replace("arith.addf", "arith.mulf")
    assert binary(wrong, "source.ttir", case.options) != binary(text, "source.ttir", case.options)
