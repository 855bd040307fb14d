"""Programs compute the same before and after the clean-up passes."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.passes.random_programs import Evaluator, Maker, interesting_arguments
from tests.sampling import examples
from tilewright.dialects import folding
from tilewright.dialects.folding import compare
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

PIPELINES = (
    ("canonicalize",),
    ("cse",),
    ("dce",),
    ("loop-invariant-code-motion",),
    ("canonicalize", "cse", "loop-invariant-code-motion", "canonicalize", "dce"),
)


def transformed(module: ModuleOp, passes: tuple[str, ...]) -> ModuleOp:
    module = module.clone()
    engine = DiagnosticEngine()
    for name in passes:
        PASSES[name]()().run(module, engine)
        verify(module, engine)
    engine.raise_if_errors()
    return module


def difference(seed: int, passes: tuple[str, ...]) -> str | None:
    """Where a random program and its transformed copy disagree, if they do."""
    random = Random(seed)
    before = Maker(random).program(size=random.randint(3, 25))
    after = transformed(before, passes)
    for _ in range(8):
        arguments = interesting_arguments(before, random)
        wanted = Evaluator().run(before, arguments)
        found = Evaluator().run(after, arguments)
        for index, (want, got) in enumerate(zip(wanted, found, strict=True)):
            if want is not None and want != got:
                texts = f"{print_module(before)}\n{print_module(after)}"
                return f"f{tuple(arguments)}[{index}] is {want}, became {got}:\n{texts}"
    return None


@pytest.mark.parametrize("passes", PIPELINES, ids="+".join)
@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1))
def test_meaning_is_kept(passes: tuple[str, ...], seed: int):
    assert difference(seed, passes) is None


def test_programs_shrink():
    """The property is not met by doing nothing: most programs get smaller."""
    smaller = 0
    for seed in range(20):
        before = Maker(Random(seed)).program(size=20)
        after = transformed(before, ("canonicalize", "cse"))
        smaller += sum(1 for _ in after.walk()) < sum(1 for _ in before.walk())
    assert smaller > 15


MUTANTS = {
    "arith.subi": lambda op, constants: [op.operands[0]] if constants[1] else None,
    "arith.addi": lambda op, constants: [op.operands[0]],
    "arith.select": lambda op, constants: [op.operands[1]],
}


@pytest.mark.parametrize("name", ["arith.subi", "arith.addi", "arith.select"])
def test_a_wrong_fold_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(folding.FOLDS, name, MUTANTS[name])
    assert any(difference(seed, ("canonicalize",)) for seed in range(60))


def test_a_wrong_predicate_table_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compare, "as_unsigned", lambda value, width: value)
    assert any(difference(seed, ("canonicalize",)) for seed in range(200))
