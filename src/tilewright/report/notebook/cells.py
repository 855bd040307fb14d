"""Names of cells: ``In[3]`` instead of the file that IPython pretends a cell is in."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import PurePath
from typing import Any

_FILE = re.compile(r"<[^<>\n]+>(?=:\d)|(?:[A-Za-z]:)?[\w./\\+~-]+(?=:\d)")
"""What can be the name of a cell, before the number of a line."""


def named(text: str) -> str:
    """`text` with cells named as the notebook shows them; unchanged outside of IPython."""
    names = dict(_names())
    return _FILE.sub(lambda found: names.get(found[0], found[0]), text) if names else text


def named_page(page: str) -> str:
    """The same for HTML."""
    for name, title in _names():
        page = re.sub(rf"(?<![\w/.]){re.escape(escape(name))}(?=:\d)", title, page)
    return page


def cell_name(file: str) -> str:
    """``In[3]`` for the file of a cell; any other file as it is."""
    shell = _shell()
    return file if shell is None else _title(shell, file) or file


def _names() -> Iterator[tuple[str, str]]:
    """The files of all cells, as a whole and by their last part, and the names of the cells."""
    shell = _shell()
    for file in () if shell is None else list(linecache.cache):
        title = _title(shell, file)
        if title is not None:
            yield file, title
            yield PurePath(file).name, title


def _title(shell: Any, file: str) -> str | None:
    found: tuple[str, str] | None = shell.compile.format_code_name(file)
    return None if found is None else found[1]


def _shell() -> Any:
    """The running IPython, which is not loaded for this."""
    module: Any = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
