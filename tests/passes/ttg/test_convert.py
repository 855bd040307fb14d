"""Layouts change nothing but layouts: without them, the program is the one it was."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import CORPUS, apply, parse
from tests.passes.ttg.tensor_programs import Maker, without_layouts
from tests.sampling import examples
from tilewright.dialects.type_utils import encoding_of, is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.passes import PASSES
from tilewright.passes.ttg.convert_triton_to_tritongpu import BLOCK_POINTERS, NO_BLOCK_POINTERS

CLEAN = ("canonicalize", "cse", "dce") * 3


def cleaned(module: ModuleOp) -> str:
    return print_module(apply(module, *CLEAN), locations=False)


def tensors_without_layout(module: ModuleOp) -> list[str]:
    return [
        op.name
        for op in walk(module)
        for value in (*op.operands, *op.results)
        if is_tensor(value.type) and encoding_of(value.type) is None
    ]


def check(text: str) -> None:
    before = apply(parse(text), *CLEAN)
    wanted = print_module(before, locations=False)
    after = apply(before, "convert-triton-to-tritongpu")
    assert tensors_without_layout(after) == []
    assert cleaned(without_layouts(after)) == wanted


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    check(Maker(random).program(random.randint(1, 12)))


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_many_random_programs(seed: int) -> None:
    random = Random(seed)
    check(Maker(random).program(random.randint(1, 30)))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path) -> None:
    text = path.read_text()
    if not any(name in text for name in BLOCK_POINTERS):
        check(text)
        return
    engine = DiagnosticEngine()
    PASSES["convert-triton-to-tritongpu"]()().run(parse(text), engine)
    assert [found.code for found in engine.diagnostics] == [NO_BLOCK_POINTERS]
