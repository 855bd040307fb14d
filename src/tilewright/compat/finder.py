"""``import triton`` without Triton: a hook that serves modules made of Tilewright's functions.

It answers for ``triton`` and everything below it before any other finder is asked, so an installed
Triton is never loaded. What is not offered is refused by name, in an ``import`` as well as in an
attribute. A second hook waits for torch, which needs telling that ``cuda`` is the CPU.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from typing_extensions import override

from tilewright.compat.modules import MODULES, VERSION, Offer, children

_ROOT = "triton"


class StandIn(ModuleType):
    """A module of Triton, made of Tilewright's functions."""

    def __init__(self, name: str, offer: Offer) -> None:
        super().__init__(name, f"What Tilewright offers of {name}.")
        self._offer = offer
        if name == _ROOT:
            self.__version__ = VERSION

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        if name.startswith("__"):
            # Python asks modules for names that are optional.
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._find(name)
        setattr(self, name, value)
        return value

    def _find(self, name: str) -> object:
        place = self._offer.names.get(name)
        if place is not None:
            module, _, attribute = place.partition(":")
            return getattr(importlib.import_module(module), attribute)
        if f"{self.__name__}.{name}" in MODULES:
            return importlib.import_module(f"{self.__name__}.{name}")
        for mirror in self._mirrored():
            if name in public_names(mirror):
                return getattr(mirror, name)
        raise AttributeError(_refusal(f"{self.__name__}.{name}", name, dir(self)))

    def _mirrored(self) -> list[ModuleType]:
        return [importlib.import_module(mirror) for mirror in self._offer.mirrors]

    @override
    def __dir__(self) -> list[str]:
        mirrored = {name for mirror in self._mirrored() for name in public_names(mirror)}
        return sorted({*self._offer.names, *children(self.__name__), *mirrored})


def public_names(module: ModuleType) -> set[str]:
    """The names that `module` has for others: no private ones, nothing it uses itself."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name != "annotations"
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", None) not in _TYPING
    }


_TYPING = ("collections.abc", "typing")


def _refusal(what: str, name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1, cutoff=0.8)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"Tilewright's stand-in for Triton {VERSION} does not offer {what}{hint}"


class TritonFinder(MetaPathFinder, Loader):
    """Finds and makes every module of `MODULES`, and refuses the rest of Triton."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(f"{_ROOT}."):
            return None
        if fullname not in MODULES:
            # Without a name on the error, `from triton import x` shows this text and not its own.
            parent, _, name = fullname.rpartition(".")
            raise ModuleNotFoundError(_refusal(fullname, name, dir(sys.modules[parent])))
        # All of them count as packages: only then does Python ask here for names they lack.
        return ModuleSpec(fullname, self, origin="tilewright.compat", is_package=True)

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name, MODULES[spec.name])

    @override
    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute: names are fetched when they are used."""


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

        # The loader stays what it is (others ask it for sources and data); this one step is ours.
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


def _adapt_torch(torch: ModuleType) -> None:
    from tilewright.compat.torch_devices import map_cuda_to_cpu

    map_cuda_to_cpu(torch)


def install() -> None:
    """Serve Triton's modules from here on, and map torch's device ``cuda`` to the CPU."""
    if any(isinstance(finder, TritonFinder) for finder in sys.meta_path):
        return
    if _ROOT in sys.modules:
        raise RuntimeError(
            "Triton is already imported: call tilewright.compat.install() before the first "
            "`import triton`, or run the script with `python -m tilewright.compat FILE`"
        )
    sys.meta_path.insert(0, TritonFinder())
    if "torch" in sys.modules:
        _adapt_torch(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, AfterImport("torch", _adapt_torch))
