"""Parts of TileLang and TVM that are not offered: importable, refused where they are used.

A file imports more than each of its kernels needs, often for tests of the compiler's insides. A
module of the followed commit that is not offered here is a module whose names can be imported; what
one of them is called for, tested or read, raises `NotOffered` with the name. A subclass of one can
be defined. Modules that the commit does not have are refused by the import.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from typing_extensions import override


class NotOffered(AttributeError):
    """A name of another package that Tilewright's stand-in lacks was used."""


class _Absent(type):
    """The class of names that are not offered, which are classes for the sake of `isinstance`."""

    _refusal: str
    _path: str

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return absent(f"{cls._path}.{name}", cls._refusal.replace(cls._path, f"{cls._path}.{name}"))

    @override
    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise NotOffered(cls._refusal)

    @override
    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __getitem__(cls, _: object) -> NoReturn:
        raise NotOffered(cls._refusal)

    def __iter__(cls) -> NoReturn:
        raise NotOffered(cls._refusal)

    def __contains__(cls, _: object) -> NoReturn:
        raise NotOffered(cls._refusal)

    def __bool__(cls) -> NoReturn:
        raise NotOffered(cls._refusal)

    def __enter__(cls) -> NoReturn:
        raise NotOffered(cls._refusal)

    def __exit__(cls, *_: object) -> None:
        """For `with`, which looks for both."""

    @override
    def __repr__(cls) -> str:
        return f"<{cls._path}, which is not offered>"


def absent(path: str, refusal: str) -> Any:
    """What stands for the name `path`; its use raises `refusal`."""
    return _Absent(path.rpartition(".")[2], (), {"_path": path, "_refusal": refusal})


class AbsentModule(ModuleType):
    """A module that is not offered."""

    def __init__(self, name: str, refusal: str) -> None:
        super().__init__(name, f"Not offered: {name}.")
        self._refusal = refusal

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            if name == "__all__":
                return []
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = f"{self.__name__}.{name}"
        found = absent(path, self._refusal.replace(self.__name__, path))
        setattr(self, name, found)
        return found
