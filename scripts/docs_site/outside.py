"""Pages for files of the repository outside of `docs/`, so that links to them work.

`../CONTRIBUTING.md` in a page of `docs/` is right where a forge shows the repository; the site
has the same file at its top. An example becomes a page with its source.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
TOP_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")


def inside(page: str, markdown: str) -> tuple[str, set[str]]:
    """`markdown` of the site's page `page` with links out of `docs/` led to pages of the site.

    Returns the text, and the pages that it needs by their path in the site.
    """
    needed: set[str] = set()
    base = posixpath.dirname(posixpath.join("docs", page)) if page not in TOP_PAGES else ""

    def lead(found: re.Match[str]) -> str:
        if "://" in found["target"]:
            return found[0]
        path = posixpath.normpath(posixpath.join(base, found["target"]))
        site_path = _site_path(path)
        if site_path is None:
            return found[0]
        if not path.startswith("docs/"):
            needed.add(site_path)
        relative = posixpath.relpath(site_path, posixpath.dirname(page) or ".")
        return f"[{found['text']}]({relative}{found['anchor'] or ''})"

    return LINK.sub(lead, markdown), needed


def _site_path(path: str) -> str | None:
    """Where the site has the repository's file `path`; None if there is no such file."""
    if not (ROOT / path).exists():
        return None
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path.endswith(".md") else f"{path.rstrip('/')}.md"


def source_of(site_path: str) -> str:
    """The Markdown of a page that `inside` named."""
    file = ROOT / site_path
    if file.exists():
        return file.read_text()
    path = file.with_suffix("")
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        rows = "".join(f"- `{one.name}`\n" for one in sorted(path.iterdir()) if one.is_file())
        return f"# `{name}`\n\n{rows}"
    language = {".py": "python", ".mlir": "mlir"}.get(path.suffix, "")
    fence = "```"
    return f"# `{name}`\n\n{fence}{language}\n{path.read_text().rstrip()}\n{fence}\n"
