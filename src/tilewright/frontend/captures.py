"""Names that a kernel function takes from around it.

A name that the function does not assign is looked up, in this order, in the functions around it, in
its module, and among the built-ins of its language. Which values of the first two a kernel may use
is the language's decision (`Vocabulary.captured`). The lookup happens when the name is first used,
and what was found is recorded: the kernel has to be traced again when it changes.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tilewright.frontend.attributes import attribute_of, has_attribute
from tilewright.frontend.vocabulary import Vocabulary

_ABSENT: Any = object()
_OWN = "tilewright"
RUNS_WHEN_COMPILED = "runs_when_compiled"
"""Objects with this attribute wrap a Python function that kernels call at compile time."""


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
            # The text distinguishes 1 from 1.0 and 0.0 from -0.0, which are equal.
            is_equal = type(now) is type(self.value) and bool(now == self.value)
            return is_equal and repr(now) == repr(self.value)
        except Exception:  # an __eq__ that fails; a needless new trace does no harm
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
    """Record that `function` read `name`, which was bound to `value`."""
    key = f"{function.__module__}.{function.__qualname__}:{name}"
    around = function.__globals__
    is_plain = name not in function.__code__.co_freevars and not isinstance(around, Namespace)
    module = around if is_plain else None
    return Capture(key, value, lambda: look_up(function, name), module, name)


def captures_of(function: FunctionType, name: str, value: object) -> Iterator[Capture]:
    """As `capture_of`; and what `function` may look at in a user's module or class, and what
    functions look at that run while the kernel is compiled.
    """
    found = capture_of(function, name, value)
    yield found
    if not isinstance(value, FunctionType):  # one that a language lets through is its own
        yield from _inside(found.key, value, frozenset(_mentioned(function.__code__)), set())


def _inside(key: str, value: object, names: frozenset[str], seen: set[int]) -> Iterator[Capture]:
    if id(value) in seen or not is_user_defined(value):
        return
    seen.add(id(value))
    if isinstance(value, (ModuleType, type)):
        found = _members(key, value, names)
    else:
        function = attribute_of(value, "__wrapped__", value)
        if not isinstance(function, FunctionType):
            return
        names = frozenset(_mentioned(function.__code__))
        around = {*function.__code__.co_freevars, *(names & function.__globals__.keys())}
        found = (capture_of(function, name, look_up(function, name)) for name in sorted(around))
    for capture in found:
        yield capture
        yield from _inside(capture.key, capture.value, names, seen)


def _members(key: str, value: ModuleType | type, names: frozenset[str]) -> Iterator[Capture]:
    """Those of `names` that a module or class has."""
    for name in sorted(names):
        if isinstance(value, ModuleType):
            around = vars(value)  # not `getattr`, by which some modules load others
            query = partial(around.get, name, _ABSENT)
        else:
            around = None
            query = partial(attribute_of, value, name, _ABSENT)
        found = query()
        if found is not _ABSENT:
            yield Capture(f"{key}.{name}", found, query, around, name)


def is_user_defined(value: object) -> bool:
    """Whether `value` is a module, a class or a function for the host, and not Python's or ours."""
    if isinstance(value, ModuleType):
        home = value.__name__
    elif isinstance(value, (type, FunctionType)) or has_attribute(value, RUNS_WHEN_COMPILED):
        home = str(value.__module__)
    else:
        return False
    top = home.partition(".")[0]
    return top != _OWN and top not in sys.stdlib_module_names


def _mentioned(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _mentioned(constant)


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
            for capture in captures_of(self._function, name, found):
                self._record(capture)
        self[name] = value
        return value

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
