"""How many kernels are raised: every one that has been stays so."""

from __future__ import annotations

import pytest

from scripts.raise_survey import corpus_texts, dump_texts, example_texts, raise_text
from tilewright.passes.tile.raise_to_tile import NotRaised, RaisedKernel


def _count(texts: list[tuple[str, str]]) -> tuple[int, int]:
    results = [raise_text(text)[0] for _, text in texts]
    for result in results:
        assert isinstance(result, RaisedKernel) or result.refusals
    return sum(isinstance(each, RaisedKernel) for each in results), len(results)


def test_the_corpus_is_raised() -> None:
    assert _count(list(corpus_texts())) == (11, 11)


def test_examples_that_are_refused() -> None:
    refused: dict[str, set[str]] = {}
    for name, text in example_texts():
        result, _ = raise_text(text)
        if isinstance(result, NotRaised):
            refused[name] = {each.code for each in result.refusals}
    assert refused == {}


@pytest.mark.slow
def test_dumps_that_are_raised() -> None:
    texts = list(dump_texts())
    if not texts:
        pytest.skip("the dumps are traced with Triton's types")
    raised, total = _count(texts)
    assert raised >= 163 * total // 172


def test_raising_is_quick() -> None:
    """At most 100 ms of CPU time for each kernel of the corpus."""
    for name, text in corpus_texts():
        assert min(raise_text(text)[1] for _ in range(3)) < 0.1, name
