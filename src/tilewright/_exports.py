"""Packages that list their names and load each one when it is used first.

`tilewright` and its languages are imported by every file with kernels, also where the kernels were
compiled long ago. Such a package consists of imports that only type checkers and editors follow:

    if TYPE_CHECKING:
        from tilewright.language.tl.memory import load as load
        from tilewright.language.tl.memory import store as store
    else:
        load_on_use(__name__)

At run time `load_on_use` reads from the same lines where a name is: ``tl.load`` imports
`tilewright.language.tl.memory`. A second name is a line ``Var = Ref``. If there is a
``__getattr__`` among the names, it finds those that are not listed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple

from tilewright.ir.collector import collector_paused

_OTHERWISE = "__getattr__"


_lock = RLock()


@contextmanager
def loading() -> Generator[None]:
    """For imports that begin when something is used: in one thread at a time.

    Where two threads import a package and a module in it, Python leaves one of them incomplete.
    No module of ours uses a name of an `Exports` while it is imported, so nothing that is imported
    waits for the lock.
    """
    with _lock, collector_paused():  # modules stay: a search for cycles finds nothing
        yield


class Export(NamedTuple):
    """Where a name of a package is from."""

    module: str
    name: str


class Exports(ModuleType):
    """A package with the names that it lists."""

    _listed: dict[str, Export]
    _otherwise: Export | None

    def __getattr__(self, name: str) -> Any:
        export = self._listed.get(name)
        if export is not None:
            self.__dict__[name] = value = self._load(export)
            return value
        if self._otherwise is not None:
            return _imported(self._otherwise)(name)
        message = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=self)

    def _load(self, export: Export) -> object:
        with loading():
            if export.module == self.__name__:
                return import_module(f"{export.module}.{export.name}")
            return _imported(export)

    def __setattr__(self, name: str, value: object) -> None:
        # Python binds a submodule when it is imported; `tl.dot` stays the function in that file.
        if not isinstance(value, ModuleType) or name not in self._listed:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self._listed)


def _imported(export: Export) -> Any:
    """What ``from module import name`` binds."""
    return getattr(__import__(export.module, fromlist=[export.name]), export.name)


def load_on_use(package: str) -> None:
    """Give `package`, which calls this, the names that it imports for type checkers."""
    exports = exports_of(_source_of(package))
    otherwise = exports.pop(_OTHERWISE, None)
    module = sys.modules[package]
    vars(module).update(_listed=exports, _otherwise=otherwise, __all__=sorted(exports))
    module.__class__ = Exports


def _source_of(package: str) -> str:
    """The text of `package`, wherever it is installed."""
    spec = find_spec(package)
    loader: Any = spec and spec.loader
    return loader.get_source(package)


def exports_of(source: str) -> dict[str, Export]:
    """What a package with this text exports."""
    imported: dict[str, Export] = {}
    exports: dict[str, Export] = {}
    for statement in _for_type_checkers(ast.parse(source)):
        match statement:
            case ast.ImportFrom(module=str(module)):
                for each in statement.names:
                    imported[each.name] = Export(module, each.name)
                    if each.asname is not None:
                        exports[each.asname] = imported[each.name]
            case ast.Assign(targets=[ast.Name(id=second)], value=ast.Name(id=first)):
                exports[second] = imported[first]
            case _:
                raise TypeError(f"neither an import nor a second name: {ast.unparse(statement)}")
    return exports


def _for_type_checkers(module: ast.Module) -> list[ast.stmt]:
    """The statements of ``if TYPE_CHECKING:``."""
    return next(each.body for each in module.body if isinstance(each, ast.If))
