"""``import triton`` without Triton: hooks that serve modules built from Tilewright's functions.

One serves ``triton`` and everything below it before any other finder is queried, so an installed
Triton is never loaded; others do the same for ``tilelang`` and the part of ``tvm`` that comes with
it. What is not offered is refused by name, in an ``import`` as well as in an attribute. Another
hook waits for torch, which needs telling that ``cuda`` is the CPU.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from typing_extensions import override

from tilewright._exports import Exports
from tilewright.compat.absent import AbsentModule, absent
from tilewright.compat.modules import TRITON, Project
from tilewright.compat.tilelang_modules import TILELANG, TVM
from tilewright.compat.tutorials import PACKAGE as TUTORIALS
from tilewright.compat.tutorials import missing, tutorials_directory


class StandIn(ModuleType):
    """A module of another package, built from Tilewright's functions."""

    def __init__(self, name: str, project: Project) -> None:
        super().__init__(name, f"What Tilewright offers of {name}.")
        self._project = project
        self._offer = project.modules[name]
        if name == project.name:
            self.__version__ = project.version
            self.__file__ = __file__  # scripts print where the package is that they use

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        if name.startswith("__") and name.endswith("__"):
            # Python looks up optional names in modules.
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._find(name)
        setattr(self, name, value)
        return value

    @override
    def __setattr__(self, name: str, value: object) -> None:
        # `tilelang.jit` is a function, and the module of that name does not replace it.
        if isinstance(value, StandIn) and name in self._offer.names:
            return
        super().__setattr__(name, value)

    def _find(self, name: str) -> object:
        target = self._offer.names.get(name)
        if target is not None:
            module, _, attribute = target.partition(":")
            return getattr(importlib.import_module(module), attribute)
        if f"{self.__name__}.{name}" in self._project.modules:
            return importlib.import_module(f"{self.__name__}.{name}")
        path = f"{self.__name__}.{name}"
        if self._project.is_absent(path):
            return importlib.import_module(path)
        try:
            return self._mirrored_name(name)
        except AttributeError:
            if not self._offer.is_open:
                raise
            return absent(path, _refusal(self._project, path, name, (), is_old=True))

    def _mirrored_name(self, name: str) -> object:
        for mirror in self._mirrored():
            if name in public_names(mirror):
                return getattr(mirror, name)
            if hasattr(mirror, "__getattr__"):
                # It makes names on demand, and reports those it lacks.
                try:
                    return mirror.__getattr__(name)
                except AttributeError as error:
                    if error.name != name:  # known, and not supported
                        raise
        path = f"{self.__name__}.{name}"
        raise AttributeError(_refusal(self._project, path, name, dir(self)))

    def _mirrored(self) -> list[ModuleType]:
        return [importlib.import_module(mirror) for mirror in self._offer.mirrors]

    @override
    def __dir__(self) -> list[str]:
        mirrored = {name for mirror in self._mirrored() for name in public_names(mirror)}
        return sorted({*self._offer.names, *self._project.children(self.__name__), *mirrored})


def public_names(module: ModuleType) -> set[str]:
    """The names that `module` has for others: no private ones, nothing it uses itself."""
    if isinstance(module, Exports):
        return {name for name in module.__all__ if not name.startswith("_")}
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name != "annotations"
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", None) not in _TYPING
    }


_TYPING = ("collections.abc", "typing")


def _refusal(
    project: Project, what: str, name: str, known: Sequence[str], *, is_old: bool = False
) -> str:
    """Why a name is missing; `is_old`: the commit that is followed has it."""
    close = get_close_matches(name, known, 1, cutoff=0.8)
    hint = f"; did you mean {close[0]}?" if close else ""
    stand_in = f"Tilewright's stand-in for {project.title} {project.version}"
    newer = (
        f" (it follows {project.commit}, a newer name is unknown)"
        if project.commit and not is_old
        else ""
    )
    return f"{stand_in} does not offer {what}{hint}{newer}"


class StandInFinder(MetaPathFinder, Loader):
    """Finds and makes every module that is offered of a package, and refuses the rest of it."""

    def __init__(self, project: Project) -> None:
        self.project = project

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self.project.has(fullname) or fullname.startswith(f"{TUTORIALS}."):
            return None
        if fullname == TUTORIALS:
            return _tutorials()
        if fullname not in self.project.modules and self.project.is_absent(fullname):
            return ModuleSpec(fullname, self, origin="tilewright.compat", is_package=True)
        if fullname not in self.project.modules:
            # Without a name on the error, `from triton import x` shows this text and not its own.
            parent, _, name = fullname.rpartition(".")
            known = dir(sys.modules[parent])
            raise ModuleNotFoundError(_refusal(self.project, fullname, name, known))
        # All of them count as packages: only then does Python look up names they lack here.
        return ModuleSpec(fullname, self, origin="tilewright.compat", is_package=True)

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name not in self.project.modules:
            return AbsentModule(spec.name, _refusal(self.project, spec.name, "", (), is_old=True))
        return StandIn(spec.name, self.project)

    @override
    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute: names are fetched when they are used."""


def _tutorials() -> ModuleSpec:
    """The package of TLX's tutorials: files of a checkout, as they are."""
    directory = tutorials_directory()
    if directory is None:
        raise ModuleNotFoundError(missing())
    spec = ModuleSpec(TUTORIALS, None, origin=str(directory), is_package=True)
    spec.submodule_search_locations = [str(directory)]
    return spec


class AfterImport(MetaPathFinder):
    """Calls `then` with the module `name` as soon as it has been imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._then = then

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._then(module)

        # The loader stays what it is (it serves sources and data); this one step is ours.
        vars(spec.loader)["exec_module"] = exec_module
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None:
                return spec
        return None


def _adapt_torch(torch: Any) -> None:
    """Map ``cuda`` to the CPU, unless there is a GPU that ``TILEWRIGHT_COMPAT_DEVICE`` allows."""
    from tilewright.compat.torch_compile import run_compiled_functions_eagerly
    from tilewright.compat.torch_devices import map_cuda_to_cpu

    run_compiled_functions_eagerly(torch)
    if os.environ.get("TILEWRIGHT_COMPAT_DEVICE") != "cpu" and torch.cuda.is_available():
        return
    map_cuda_to_cpu(torch)


TARGET_VARIABLE = "TILEWRIGHT_COMPAT_TARGET"
"""Names the GPU that scripts find described and kernels are compiled for."""


def _use_target(name: str | None) -> None:
    if name:
        from tilewright.runtime.options import use_target

        use_target(name)


def _describe_gpu() -> None:
    """Kernels of TileLang show the source of the GPU that scripts find described."""
    from tilewright.compat.described_gpu import capability
    from tilewright.runtime.tile.settings import describe_gpu
    from tilewright.runtime.tile.targets import complete_arch

    major, minor = capability()
    describe_gpu(complete_arch(f"sm_{major}{minor}"))


def install() -> None:
    """Serve Triton's and TileLang's modules from here on, and map torch's ``cuda`` to the CPU."""
    if any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        return
    _use_target(os.environ.get(TARGET_VARIABLE))
    projects = (TRITON, TILELANG, TVM)
    for project in projects:
        if project.name in sys.modules:
            raise RuntimeError(
                f"{project.title} is already imported: call tilewright.compat.install() before the "
                f"first `import {project.name}`, or run the script with `python -m "
                "tilewright.compat FILE`"
            )
    _describe_gpu()
    sys.meta_path[:0] = [StandInFinder(project) for project in projects]
    if "torch" in sys.modules:
        _adapt_torch(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, AfterImport("torch", _adapt_torch))
