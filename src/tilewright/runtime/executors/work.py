"""Items of work, their keys, and what becomes of them.

An item is idempotent: its function has the same result for the same value wherever and however
often it is called. Its key is the digest of function, value and *version*, which is a digest of the
text of Tilewright's sources and of those beside the function. Workers compute the version of their
own sources and refuse items of another one, so that results of two states are never merged.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["done", "raised", "died", "hung", "lost"]
Json: TypeAlias = Any  # what `json.loads` returns

FINAL: frozenset[Status] = frozenset({"done", "raised"})
"""The item ran to its end: another try would end the same way."""
_PACKAGE = Path(__file__).parents[2]


class OtherVersion(Exception):
    """A worker has other sources than the driver."""


class Spoiled(Exception):
    """Raised by an item after which its process can do nothing more: a GPU that faulted."""


@dataclass(frozen=True)
class Work:
    """A function of one JSON value that returns one, by its name: ``package.module:function``."""

    function: str
    version: str

    @staticmethod
    def of(function: str) -> Work:
        """The function as it is on this machine."""
        return Work(function, version_of(function))

    def item(self, value: Json) -> Item:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        parts = (self.function, self.version, text)
        return Item(self, value, hashlib.sha256("\n".join(parts).encode()).hexdigest())


@dataclass(frozen=True)
class Item:
    """The function of some work with one value."""

    work: Work
    value: Json
    key: str


@dataclass(frozen=True)
class Outcome:
    """What became of an item."""

    key: str
    status: Status
    value: Json = None
    """What the function returned."""
    reason: str = ""
    """Why there is no value: the exception, or how the process ended."""
    tries: int = 1
    seconds: float = 0.0
    worker: str = ""
    """``host:process``."""

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def result(self) -> tuple[Status, Json, str]:
        """What is the same wherever the item ran."""
        return self.status, self.value, self.reason

    def __str__(self) -> str:
        if self.status == "done":
            return f"done in {self.seconds:.2f} s"
        tries = f" in {self.tries} tries" if self.tries > 1 else ""
        return f"{self.status}{tries}: {self.reason}"


def function_named(name: str) -> Callable[[Json], Json]:
    """The function called ``package.module:function``."""
    module, separator, function = name.partition(":")
    if not separator:
        raise ValueError(f"work: {name!r}: expected package.module:function")
    found: Callable[[Json], Json] = getattr(importlib.import_module(module), function)
    return found


@cache
def version_of(function: str) -> str:
    """The digest of the sources that decide over the results of a function."""
    directories = [_PACKAGE]
    module = function.partition(":")[0]
    if module.partition(".")[0] != _PACKAGE.name:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"work: no module {module!r} for {function!r}", name=module)
        directories.append(Path(spec.origin).parent)
    state = hashlib.sha256()
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            # Names below the directory: two machines have it at different places.
            state.update(path.relative_to(directory).as_posix().encode() + b"\0")
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()
