"""Functions of `T`: traced ones, and macros, which are traced where they are called."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from types import CodeType
from typing import Any, ClassVar

from tilewright.frontend.builder import is_tracing
from tilewright.frontend.control_flow.control import Control
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.functions.calls import current_session
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.imperative import ImperativeStatements
from tilewright.frontend.rewriter import Rewritten, Statements, rewrite
from tilewright.frontend.source import read_source
from tilewright.language.T.buffers import Element, ScalarCell
from tilewright.language.T.control import TileControl
from tilewright.language.T.session import OUTSIDE
from tilewright.language.T.vocabulary import TILE

_MAX_CACHED = 256
_rewritten: dict[int, tuple[CodeType, Rewritten]] = {}
"""The last functions that were rewritten, by the identity of their code, which is cached with them.

Code compares equal to that of another file, and of another version of the same one whose body has
other annotations: Python does not look at those, and they are the tensors of a kernel."""


class TileFunction(KernelFunction):
    """A function written in `T`."""

    statements: ClassVar[type[Statements]] = ImperativeStatements
    control: ClassVar[type[Control]] = TileControl

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn, TILE)

    def syntax(self) -> ast.FunctionDef:
        """The function as it is written."""
        return self._source.tree

    @cached_property
    def rewritten(self) -> Rewritten:
        """What is executed to trace the function.

        A factory that is called again defines its functions anew, of the same code: they share it.
        """
        code = self.fn.__code__
        found = _rewritten.get(id(code))
        if found is not None:
            return found[1]
        if len(_rewritten) >= _MAX_CACHED:
            _rewritten.pop(next(iter(_rewritten)))
        made = rewrite(
            read_source(self.fn, self.lines), library=self.is_library, statements=self.statements
        )
        _rewritten[id(code)] = code, made
        return made


class Macro(TileFunction):
    """A function that stands for its body, wherever a kernel calls it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            raise FrontendError(f"{self.name} is a macro: call it inside a kernel", code=OUTSIDE)
        references = {each.name for each in self.params if each.annotation in _REFERENCES}
        arguments = {
            name: _by_reference(value) if name in references else _by_value(value)
            for name, value in self.bind(args, kwargs).items()
        }
        return current_session(TILE).call(self, arguments)

    def __repr__(self) -> str:
        return f"Macro({self.full_name})"


_REFERENCES = ("Ref", "T.Ref", "Var", "T.Var")
"""Annotations of parameters through which a macro changes a variable of its caller."""


def _by_reference(value: Any) -> Any:
    """What a macro gets to change: a cell, or an element as one."""
    if isinstance(value, Element) and not isinstance(value, ScalarCell):
        value = ScalarCell(value.buffer, value.indices)
        value.is_fresh = False
    return value


def _by_value(value: Any) -> Any:
    """A cell is read when it is passed."""
    return value.value() if isinstance(value, ScalarCell) else value


def macro(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A helper that is inlined at every call, with names of its own; it may return values."""
    del options  # names are always the macro's own
    return Macro if function is None else Macro(function)
