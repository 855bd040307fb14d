"""Every diagnostic, worked example and conformance item of storage aliasing has its test.

Text tests carry tags, ``// E7 positive: ...`` over IR that triggers a diagnostic and
``// E7 negative: ...`` over the nearest IR that does not. A tag only counts if what stands below it
is fit to show it:

* the file is run with -verify-diagnostics, so that nothing else is said than is expected;
* below a positive tag the text of the diagnostic is expected;
* below a negative one it is not, and no error at all is expected in that module: lowering stops at
  the first step with errors, and what it did not reach it cannot be said to have accepted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tilewright.memory import RULES

ROOT = Path(__file__).parents[3]
TEXT_TESTS = ROOT / "tests" / "lit" / "tlx"

SPECIFIED = [f"W{n}" for n in range(1, 5)] + [f"E{n}" for n in range(1, 18)]
"""The ids of docs/design/storage-alias.md#rules that upstream's behaviour fixes."""

UNNUMBERED = {
    "N2": "storage_alias_spec must have",
    "N3": "storage_alias_spec not found for this allocation",
}
"""Upstream's messages without an id. N1 needs IR that no parser accepts: see
test_a_tree_needs_allocations."""

OURS = ["W6", "W7", "R5", "E18", "E19", "E20", "E21", "E22"]

_TAG = re.compile(r"\b([WENR]\d+) (positive|negative)\b")
_EXPECTED = re.compile(r"// expected-(error|warning|remark) .*?\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Tagged:
    """A tag, the text it stands over, and the module that is in."""

    file: str
    id: str
    kind: str
    below: str
    module: str

    @property
    def texts(self) -> list[str]:
        return [text for _, text in _EXPECTED.findall(self.below)]


def tags() -> Iterator[Tagged]:
    for path in sorted(TEXT_TESTS.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        for module in text.split("\n// -----\n"):
            lines = module.splitlines()
            heads = [i for i, line in enumerate(lines) if is_tag_line(line)]
            for head, end in pairwise([*heads, len(lines)]):
                below = "\n".join(lines[head + 1 : end])
                for id, kind in _TAG.findall(lines[head]):
                    yield Tagged(path.name, id, kind, below, module)


def is_tag_line(line: str) -> bool:
    return line.lstrip().startswith("// ") and _TAG.search(line) is not None


TAGS = list(tags())


def parts_of(id: str) -> list[str]:
    """What is the same in all texts of a diagnostic, as far as it is telling."""
    if id in UNNUMBERED:
        return [UNNUMBERED[id]]
    parts = re.split(r"\{\w+\}", RULES[id].text)
    return [part.strip(" ()':;,") for part in parts if len(part.strip(" ()':;,")) >= 8]


def says(id: str, texts: list[str]) -> bool:
    return any(part in text or text in part for text in texts for part in parts_of(id))


@pytest.mark.parametrize("kind", ["positive", "negative"])
@pytest.mark.parametrize("id", [*SPECIFIED, *UNNUMBERED, *OURS])
def test_every_diagnostic_is_triggered_and_avoided(id: str, kind: str):
    assert [tag.file for tag in TAGS if (tag.id, tag.kind) == (id, kind)]


@pytest.mark.parametrize("tag", TAGS, ids=lambda tag: f"{tag.file}-{tag.id}-{tag.kind}")
def test_tags_tell_the_truth(tag: Tagged):
    run = (TEXT_TESTS / tag.file).read_text(encoding="utf-8").split("\n\n")[0]
    assert "-verify-diagnostics" in run
    assert "tlx." in tag.below
    if tag.kind == "positive":
        assert says(tag.id, tag.texts), tag.texts
    else:
        assert not says(tag.id, tag.texts)
        assert "expected-error" not in tag.module


def test_texts_are_told_apart():
    """A tag could not be checked if the text of another diagnostic would do as well."""
    for id in [*SPECIFIED, *OURS]:
        others = [RULES[other].text for other in [*SPECIFIED, *OURS] if other != id]
        assert parts_of(id)
        assert not any(all(part in text for part in parts_of(id)) for text in others), id


# -- worked examples -----------------------------------------------------------------------------

EXAMPLES = range(1, 21)


def test_every_worked_example_has_a_text_test():
    found: set[int] = set()
    for path in TEXT_TESTS.glob("*.mlir"):
        text = path.read_text(encoding="utf-8")
        found |= {int(number) for number in re.findall(r"\b[Ee]xample (\d+)\b", text)}
    assert found == set(EXAMPLES)


def test_every_worked_example_is_planned():
    text = (ROOT / "tests" / "memory" / "test_examples.py").read_text(encoding="utf-8")
    found = {int(number) for number in re.findall(r"^def test_(\d\d)_", text, re.MULTILINE)}
    assert found == set(EXAMPLES)


# -- conformance ---------------------------------------------------------------------------------

CONFORMANCE = {
    "10.1 files of upstream run unmodified": [("scripts/upstream_lit.py", "main")],
    "10.3 own tests of every example and diagnostic": [
        (
            "tests/passes/tlx/test_storage_alias_coverage.py",
            "test_every_diagnostic_is_triggered_and_avoided",
        )
    ],
    "10.4 random trees keep their promises": [
        ("tests/passes/tlx/test_storage_alias_random.py", "test_many_random_trees"),
        (
            "tests/passes/tlx/test_storage_alias_mutations.py",
            "test_every_broken_promise_is_reported",
        ),
    ],
    "10.5 both placements agree": [
        ("tests/passes/tlx/test_storage_alias_random.py", "test_random_trees")
    ],
    "10.6 lowering twice, and nothing to lower": [
        (
            "tests/passes/tlx/test_storage_alias_lowering.py",
            "test_lowering_twice_is_lowering_once",
        ),
        (
            "tests/passes/tlx/test_storage_alias_lowering.py",
            "test_a_module_without_specs_is_untouched",
        ),
    ],
}
"""Item 10.2, upstream's Python tests, belongs to the language."""


@pytest.mark.parametrize("item", CONFORMANCE)
def test_conformance_items_have_tests(item: str):
    for file, function in CONFORMANCE[item]:
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")
