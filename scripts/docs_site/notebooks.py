"""Notebooks as pages of the site: their text, their code, and their committed outputs.

Markdown cells are Markdown of the page. Code is a fenced block; text that it printed one without a
language. An output with HTML is that HTML: values of ours have no scripts, and their styles concern
themselves alone. Errors lose the colours of terminals.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DIRECTORY = "notebooks"
_ROOT = Path(__file__).resolve().parents[2]
_ANSI = re.compile("\x1b\\[[0-9;]*m")
_FENCE = "````"
"""Longer than any in the text of a cell."""


def pages() -> dict[str, str]:
    """The Markdown of every notebook, by its path in the site."""
    found = sorted((_ROOT / "docs" / DIRECTORY).glob("*.ipynb"))
    return {f"{DIRECTORY}/{path.stem}.md": page_of(path) for path in found}


def page_of(path: Path) -> str:
    """The Markdown of one notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    parts = [part for cell in notebook["cells"] for part in _cell(cell)]
    note = f"This page is the notebook [{path.name}]({path.name}); open it with Jupyter to run it."
    title, _, rest = parts[0].partition("\n")
    return "\n\n".join([title, note, rest.strip(), *parts[1:]]) + "\n"


def to_pages(markdown: str, page: str) -> str:
    """`markdown` with links to notebooks led to their pages; the files are linked by the pages."""
    if posixpath.dirname(page) == DIRECTORY:
        note, separator, rest = markdown.partition("open it with Jupyter")
        return note + separator + _LINK.sub(r"\g<1>.md)", rest)
    return _LINK.sub(r"\g<1>.md)", markdown)


_LINK = re.compile(r"(\]\([\w./-]+)\.ipynb\)")


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip("\n")
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield _fenced(source, "python")
    for output in cell["outputs"]:
        yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    kind = output["output_type"]
    if kind == "stream":
        yield _fenced("".join(output["text"]))
    elif kind == "error":
        yield _fenced(_ANSI.sub("", "\n".join(output["traceback"])))
    elif "text/html" in output["data"]:
        yield "".join(output["data"]["text/html"])
    else:
        yield _fenced("".join(output["data"]["text/plain"]))


def _fenced(text: str, language: str = "text") -> str:
    return f"{_FENCE}{language}\n{text.rstrip()}\n{_FENCE}"
