"""Damaged text of the tile level is refused with a position, or it is valid and comes back.

As for Triton's text (``test_mutations``): never a traceback, never a verifier that raises. The
inputs are the samples of the dialects' tests, in custom and in generic form.
"""

from functools import cache

import pytest

from tests.dialects.test_nv import SAME_TEXT
from tests.dialects.tile.support import CONTEXT, module_text, parse
from tests.dialects.tile.test_tile_text import CASES
from tests.fuzz.mutate import mutated
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify

WHOLE, SAMPLE, BATCH = 40_000, 600, 200


@cache
def corpus() -> tuple[bytes, ...]:
    """Every sample in both forms."""
    texts = [module_text(body) for body in (*CASES.values(), *SAME_TEXT)]
    generic = [print_module(parse(text), generic=True) for text in texts]
    return tuple(text.encode() for text in (*texts, *generic))


def check(seed: int) -> bool:
    """Whether damaged text `seed` is refused; what is accepted has to come back."""
    samples = corpus()
    mutation, data = mutated(samples[seed % len(samples)], seed)
    text = data.decode("utf-8", errors="surrogateescape")
    what = f"seed {seed} ({mutation}):\n{text}"
    engine = DiagnosticEngine()
    source = parse_source(CONTEXT, text, "damaged.mlir", engine)
    if source is not None:
        verify(source.module, engine)
    raised = [each.message for each in engine.diagnostics if "verifier raised" in each.message]
    assert not raised, f"{what}\n{raised}"
    if engine.has_errors or source is None:
        assert engine.diagnostics, what
        return True
    printed = print_module(source.module)
    assert print_module(parse(printed)) == printed, what
    return False


def run_batch(first: int, count: int) -> None:
    refused = sum(check(seed) for seed in range(first, first + count))
    assert 0 < refused < count, "the mutations have lost their bite, or nothing is left to read"


@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_sample(first: int):
    run_batch(first, BATCH)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, 2000))
def test_whole(first: int):
    run_batch(first, 2000)
