"""Names of cells: ``In[3]`` instead of the file that IPython pretends a cell is in."""

from __future__ import annotations

import re
import sys
from typing import Any

_FILE = re.compile(r"<[^<>\n]+>(?=:\d)|(?:[A-Za-z]:)?[\w./\\+~-]+(?=:\d)")
"""What can be the name of a cell, before the number of a line."""


def named(text: str) -> str:
    """`text` with cells named as the notebook shows them; unchanged outside of IPython."""
    shell = _shell()
    if shell is None:
        return text
    return _FILE.sub(lambda found: cell_name(found[0]), text)


def cell_name(file: str) -> str:
    """``In[3]`` for the file of a cell; any other file as it is."""
    shell = _shell()
    if shell is None:
        return file
    found: tuple[str, str] | None = shell.compile.format_code_name(file)
    return file if found is None else found[1]


def _shell() -> Any:
    """The running IPython, which is not loaded for this."""
    module: Any = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
