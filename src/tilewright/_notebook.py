"""How values of ours are shown by IPython: `_repr_html_`, and short tracebacks of errors.

Classes inherit from `NotebookForm` and name the function that renders them as ``module:function``.
The modules are in `tilewright.report.notebook`, above all others, and are loaded when a value is
shown: a kernel that is only launched loads none of it.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

_TRACEBACK = "tilewright.report.notebook.errors:traceback_lines"
_MESSAGE = "tilewright.report.notebook.errors:message_lines"


class NotebookForm:
    """A value that notebooks show as HTML."""

    notebook_form: ClassVar[str]
    """``module:function`` of the function that makes HTML of the value."""
    notebook_text: ClassVar[str] = ""
    """The same for text, where `str` is not what a terminal should show."""

    def _repr_html_(self) -> str:
        return load_form(self.notebook_form)(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        text = load_form(self.notebook_text)(self) if self.notebook_text else str(self)
        printer.text(text)

    def __init_subclass__(cls) -> None:
        # IPython takes `_repr_pretty_` or `__repr__` of the first class that has one of them.
        cls._repr_pretty_ = NotebookForm._repr_pretty_


class NotebookError(NotebookForm):
    """An error whose text is a whole message: notebooks show it without frames of the compiler."""

    notebook_form = "tilewright.report.notebook.errors:error_html"

    def _render_traceback_(self) -> list[str]:
        return load_form(_TRACEBACK)(self)


def load_form(name: str) -> Any:
    """The function called ``module:function``."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def traceback_of(name: str, text: str) -> list[str]:
    """What IPython prints of an error of Python's own class, whose text is a whole message."""
    return load_form(_MESSAGE)(name, text)
