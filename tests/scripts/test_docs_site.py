"""The documentation as a site: every page is in it, every link leads somewhere, nothing is fetched."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from scripts.docs_site import notebooks, outside, reference
from tests.test_docs import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(directory)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


class _Page(HTMLParser):
    """The anchors of a page, where its links lead, and what a browser would load for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(found["href"])


@cache
def _page(file: Path) -> _Page:
    return _Page(file.read_text())


def test_every_link_leads_to_a_page_and_an_anchor(site: Path) -> None:
    dead: list[str] = []
    count = 0
    for file in sorted(site.rglob("*.html")):
        if file.name == "404.html":  # its links are those of a server's root
            continue
        for link in _page(file).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target.suffix == ".html" and anchor not in _page(target).anchors
            ):
                dead.append(f"{file.relative_to(site)}: {link}")
    assert count > 1000
    assert dead == []


def test_a_reader_without_a_network_misses_nothing(site: Path) -> None:
    loaded = {one for file in site.rglob("*.html") for one in _page(file).loaded}
    assert loaded
    assert [one for one in loaded if urlsplit(one).scheme or one.startswith("//")] == []
    styles = "".join(file.read_text() for file in site.rglob("*.css"))
    assert re.findall(r"url\(\s*[\"']?https?:[^)]*\)", styles) == []


def test_every_page_of_docs_is_in_the_navigation() -> None:
    listed = re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    made = {each.page for each in reference.NAMESPACES} | set(outside.TOP_PAGES)
    made |= set(notebooks.pages())
    assert sorted(pages | made) == sorted(listed)


@pytest.mark.parametrize("namespace", reference.NAMESPACES, ids=lambda each: each.imported_as)
def test_the_reference_has_every_name_with_its_docstring(
    namespace: reference.Namespace, site: Path
) -> None:
    import importlib

    module = importlib.import_module(namespace.module)
    text = reference.page_of(namespace)
    assert " at 0x" not in text
    shown = (site / namespace.page).with_suffix(".html").read_text()
    for name in reference.public_names(module):
        thing = getattr(module, name)
        assert f"{namespace.imported_as}.{name}" in shown
        if callable(thing) and (described := inspect.getdoc(thing)):
            assert described.splitlines()[0] in text


def test_parameters_of_a_docstring_become_a_list() -> None:
    lines = [
        "It waits.",
        "",
        "count: how often,",
        "    at least once",
        "Then it ends.",
        "other: no",
    ]
    assert list(reference._with_lists(lines, {"count"})) == [
        "It waits.",
        "",
        "",
        "- `count`: how often,",
        "    at least once",
        "",
        "Then it ends.",
        "other: no",
    ]


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    def called(first: int, *, second: str = "a", third: object = None, **rest: object) -> None: ...

    assert reference.signature_text("short", lambda a, b=1: None) == "short(a, b=1)"
    assert reference.signature_text("called_with_a_long_name" * 2, called) == (
        "called_with_a_long_namecalled_with_a_long_name(\n    first: int,\n    *,\n"
        "    second: str = 'a',\n    third: object = None,\n    **rest: object,\n)"
    )


def test_links_out_of_docs_lead_to_pages_of_the_site() -> None:
    text, required = outside.inside(
        "design/passes.md",
        "[a](../../CONTRIBUTING.md#tests) [b](../gpu.md) [c](../../examples/tl/softmax.py) [d](https://x.y)",
    )
    assert text == (
        "[a](../CONTRIBUTING.md#tests) [b](../gpu.md) [c](../examples/tl/softmax.py.md) [d](https://x.y)"
    )
    assert required == {"CONTRIBUTING.md", "examples/tl/softmax.py.md"}
    assert "def softmax" in outside.source_of("examples/tl/softmax.py.md")
    assert outside.inside("gpu.md", "[gone](../no-such-file.py)")[0] == "[gone](../no-such-file.py)"
