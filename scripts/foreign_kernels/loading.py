"""The kernels of a project for Triton, without the project's own requirements.

Modules of the checkout are executed statement by statement; a statement that fails (it needs torch,
a GPU, an environment) is left out. Functions decorated with something that names `jit` become
Tilewright kernels; tuners, heuristics and caches are left out: launches name what those choose.
Modules that are not installed are stand-ins that accept everything.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.compat.finder import StandInFinder
from tilewright.compat.modules import TRITON
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.pointer.jit import JITFunction


class Anything(ModuleType):
    """Stands for what is not installed: every attribute, call and subscript is one more of it."""

    __path__: list[str] = []
    __file__ = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As a decorator it changes nothing.
        is_decorator = len(args) == 1 and not kwargs and callable(args[0])
        return args[0] if is_decorator else Anything(f"{self.__name__}()")

    def __getitem__(self, index: Any) -> Any:
        return Anything(f"{self.__name__}[]")

    def __ge__(self, other: object) -> bool:
        return True  # versions are new enough

    __gt__ = __ge__

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __lt__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()


class _Missing(MetaPathFinder, Loader):
    """Serves modules that no other finder has."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Anything(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


class _Project(MetaPathFinder, Loader):
    """Serves the modules of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        where = self.root.joinpath(*fullname.split("."))
        if (where / "__init__.py").is_file():
            spec = ModuleSpec(fullname, self, origin=str(where / "__init__.py"), is_package=True)
            spec.submodule_search_locations = [str(where)]
        elif where.with_suffix(".py").is_file():
            spec = ModuleSpec(fullname, self, origin=str(where.with_suffix(".py")))
        elif where.is_dir():
            return ModuleSpec(fullname, self, origin=None, is_package=True)
        else:
            return None
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        if module.__spec__.origin is not None:
            execute(module, Path(module.__spec__.origin))


_WORK = (ast.Expr, ast.For, ast.While, ast.With)
"""Statements that define nothing that a kernel needs: they patch, print, measure."""


def install(root: Path) -> None:
    """Serve Triton's names, the project under `root`, and stand-ins for what is missing."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "triton"]:
        del sys.modules[name]
    sys.meta_path.insert(0, StandInFinder(TRITON))
    sys.meta_path.insert(1, _Project(root))
    sys.meta_path.append(_Missing())


def execute(module: ModuleType, path: Path) -> None:
    """Run the statements of a file, each for itself."""
    module.__file__ = str(path)
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.FunctionDef) and _is_kernel(statement):
            statement.decorator_list = [ast.Name("tw_jit", ast.Load())]
            ast.fix_missing_locations(statement)
            module.__dict__["tw_jit"] = JITFunction
        elif isinstance(statement, _WORK) or (
            isinstance(statement, ast.If) and _is_main(statement)
        ):
            continue
        try:
            code = compile(ast.Module([statement], []), str(path), "exec")
            exec(code, module.__dict__)
        except (Exception, SystemExit):
            continue


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(each) for each in function.decorator_list)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def kernels_of(root: Path, files: Sequence[Path]) -> list[tuple[str, JITFunction]]:
    """The kernels that are launched, not called by other kernels, of `files` under `root`."""
    found: list[tuple[str, JITFunction]] = []
    for path in files:
        relative = path.relative_to(root).with_suffix("")
        name = ".".join(relative.parts)
        if name.isidentifier() or all(part.isidentifier() for part in relative.parts):
            module = importlib.import_module(name)
        else:  # Triton's tutorials have names that are no identifiers
            module = ModuleType("tutorial_" + name.replace("-", "_").replace(".", "_"))
            sys.modules[module.__name__] = module
            execute(module, path)
        own = [
            (key, kernel)
            for key, value in vars(module).items()
            if isinstance(kernel := _innermost(value), JITFunction)
            and kernel.fn.__code__.co_filename == str(path)
        ]
        called = {each for _, kernel in own for each in _called(kernel)}
        found += [
            (f"{name}.{key}", kernel)
            for key, kernel in own
            if key not in called and not _has_result(kernel)
        ]
    return found


def _has_result(kernel: JITFunction) -> bool:
    """Whether a function returns values: other kernels call it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel.fn)))
    return any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(tree))


def _innermost(value: Any) -> Any:
    """The kernel inside tuners and heuristics."""
    while isinstance(value, Launchable) and not isinstance(value, JITFunction):
        value = getattr(value, "inner", None)
    # Not the stand-in's own class, which looks for torch.
    return JITFunction(value.fn) if isinstance(value, JITFunction) else value


def _called(kernel: JITFunction) -> set[str]:
    code = kernel.fn.__code__
    return set(code.co_names) - {code.co_name}
