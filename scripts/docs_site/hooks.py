"""What MkDocs calls while it builds the site (`hooks:` in `mkdocs.yml`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
# MkDocs loads this file by its path; the package that it documents may be installed or not.
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "src")) if path not in sys.path]

from mkdocs.structure.files import File  # noqa: E402

from scripts.docs_site import notebooks, outside  # noqa: E402
from scripts.docs_site.reference import NAMESPACES, page_of  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.structure.files import Files


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made while the site is built."""
    for namespace in NAMESPACES:
        files.append(File.generated(config, namespace.page, content=page_of(namespace)))
    for page, text in notebooks.pages().items():
        files.append(File.generated(config, page, content=text))
    required = set(outside.TOP_PAGES)
    for file in files.documentation_pages():
        required |= outside.inside(file.src_uri, file.content_string)[1]
    added: set[str] = set()
    while required - added:
        site_path = min(required - added)
        added.add(site_path)
        text = outside.source_of(site_path)
        files.append(File.generated(config, site_path, content=text))
        if site_path in outside.TOP_PAGES:
            required |= outside.inside(site_path, text)[1]
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leads links out of `docs/` to the pages that `on_files` added."""
    led = outside.inside(page.file.src_uri, markdown)[0]
    return notebooks.to_pages(led, page.file.src_uri)
