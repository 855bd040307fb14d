"""Citations of `docs/design` resolve: the page exists, and it has the heading that is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks
from tilewright.memory.rules import RULES
from tilewright.passes import PASSES

PAGES = sorted((ROOT / "docs" / "design").glob("*.md"))
_CITATION = re.compile(r"docs/design/([\w-]+\.md)(?:#([\w-]+))?")
_LINK = re.compile(r"\]\(((?!https?:)[^)#\s]*)#([\w-]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub derives them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.M)}


def anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"\s", "-", kept)


def _citing_files() -> list[Path]:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    return sorted([*sources, *documents, *tests])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_hold(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    scope: dict[str, object] = {}
    for code in blocks(name, "python"):
        exec(compile(code, name, "exec"), scope)


def test_the_rules_of_storage_aliasing_are_listed() -> None:
    page = (ROOT / "docs/design/storage-alias.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([EVWR]\d+) \| (\w+) \| (\d) \|", page, flags=re.M)
    assert sorted(rows) == sorted((r.id, r.severity.value, str(r.step)) for r in RULES.values())


_OPTIONS = {"multi-overlap", "predicate-epilogue", "strict-overflow", "tilewright-opt"}
"""Names with dashes on the pages that are not passes."""


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_passes_of_a_page_exist(page: Path) -> None:
    named = set(re.findall(r"`-{0,2}([a-z]+(?:-[a-z0-9]+)+)`", _prose(page)))
    assert sorted(named - _OPTIONS - {*PASSES}) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_of_a_page_exist(page: Path) -> None:
    named = set(re.findall(r"`([\w/]+/[\w/]+(?:\.py)?)`", _prose(page)))
    source = ROOT / "src" / "tilewright"
    missing = [each for each in sorted(named) if not (source / each).exists()]
    assert [
        each for each in missing if re.match(r"(analysis|layouts|memory|passes|targets)/", each)
    ] == []


def citations() -> list[tuple[str, str, str]]:
    """(citing file, page, anchor or '') of every citation of a design page."""
    return [
        (str(path.relative_to(ROOT)), page, heading)
        for path in _citing_files()
        for page, heading in _CITATION.findall(path.read_text(encoding="utf-8"))
    ]


def test_every_citation_of_a_design_page_resolves() -> None:
    known = {page.name: anchors(page) for page in PAGES}
    found = citations()
    assert len(found) > 24
    broken = [
        (file, page, heading)
        for file, page, heading in found
        if page not in known or (heading and heading not in known[page])
    ]
    assert broken == []


def test_links_to_headings_resolve() -> None:
    broken = [
        (page.name, target, heading)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
        for target, heading in _LINK.findall(page.read_text(encoding="utf-8"))
        if heading not in anchors(page.parent / target if target else page)
    ]
    assert broken == []


def test_no_source_cites_a_document_outside_the_repository() -> None:
    pattern = re.compile(
        r"\bspecs/|\bthe specification\b|\(spec [0-9.]+|\btile-language\.md|\barchitecture\.md"
    )
    citing = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert citing == []


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Shared-memory arena", "shared-memory-arena"),
        ("`check-thread-sync`", "check-thread-sync"),
        ("What every pass may assume", "what-every-pass-may-assume"),
    ],
)
def test_anchors_are_derived_as_on_github(heading: str, expected: str) -> None:
    assert anchor(heading) == expected
