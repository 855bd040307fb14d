"""Names that a kernel function takes from around it.

A name that the function does not assign is looked up, in this order, in the functions around it, in
its module, and among the built-ins of its language. Which values of the first two a kernel may use
is the language's decision (`Vocabulary.captured`). The lookup happens when the name is first used,
and what was found is recorded: the kernel has to be traced again when it changes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from tilewright.frontend.vocabulary import Vocabulary

_ABSENT: Any = object()


@dataclass(frozen=True)
class Capture:
    """A name of the surroundings that a kernel function used, and what it stood for."""

    key: str
    """Module, function and name."""
    value: object
    look_up: Callable[[], object]
    module: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    """The names of the module where it is found by `name`; None if it is found elsewhere."""
    name: str = ""

    def is_current(self) -> bool:
        """Whether the name still stands for the same."""
        now = self.look_up()
        if now is self.value:
            return True
        try:
            return type(now) is type(self.value) and bool(now == self.value)
        except Exception:  # an __eq__ that cannot say; a needless new trace does no harm
            return False


def look_up(function: FunctionType, name: str) -> Any:
    """What `name` stands for around `function`; a marker without meaning if it does not exist."""
    names = function.__code__.co_freevars
    if name in names and function.__closure__ is not None:
        try:
            return function.__closure__[names.index(name)].cell_contents
        except ValueError:  # assigned later, or never
            return _ABSENT
    around = function.__globals__
    if isinstance(around, Namespace) and name not in around:
        return around.look_up(name)  # a function defined inside a kernel function
    return around.get(name, _ABSENT)


def capture_of(function: FunctionType, name: str, value: object) -> Capture:
    """The fact that `function` used `name`, which stood for `value`."""
    key = f"{function.__module__}.{function.__qualname__}:{name}"
    around = function.__globals__
    is_plain = name not in function.__code__.co_freevars and not isinstance(around, Namespace)
    module = around if is_plain else None
    return Capture(key, value, lambda: look_up(function, name), module, name)


class Namespace(dict[str, Any]):
    """The globals of a rewritten function: filled on first use."""

    def __init__(
        self,
        function: FunctionType,
        vocabulary: Vocabulary,
        record: Callable[[Capture], None],
        *,
        library: bool,
    ) -> None:
        super().__init__(__builtins__={}, __name__=function.__module__)
        self._function = function
        self._vocabulary = vocabulary
        self._record = record
        self._library = library

    def look_up(self, name: str) -> Any:
        """What `name` stands for around the function, without taking it."""
        return look_up(self._function, name)

    def __missing__(self, name: str) -> Any:
        found = look_up(self._function, name)
        if found is _ABSENT:
            value = self._builtin(name)
        elif self._library:
            value = found  # a language may use its own module
        else:
            value = self._vocabulary.captured(name, found)
            self._record(self._capture(name, found))
        self[name] = value
        return value

    def _capture(self, name: str, value: object) -> Capture:
        return capture_of(self._function, name, value)

    def _builtin(self, name: str) -> Any:
        builtins = self._vocabulary.builtins
        if name in builtins:
            return builtins[name]
        raise NameError(f"{name} is not defined" + self._suggestion(name))

    def _suggestion(self, name: str) -> str:
        """What may have been meant."""
        code = self._function.__code__
        known: Iterable[str] = {
            *code.co_varnames,
            *self._function.__globals__,
            *self._vocabulary.builtins,
        }
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75)
        return f". Did you mean {near[0]}?" if near else ""
