"""What Python values a trace may have read, and whether they are still the same.

A kernel is traced by executing Python: it, and the functions it calls, read names around them,
elements of lists and dicts, attributes of objects, classes and modules. `Reads` follows them from
the functions that are executed, by what their code mentions:

    a function        defaults, closure, attributes, the globals it mentions, modules it imports
    a list, a dict    all elements; so of views of a dict, and of arrays
    an object         the attributes that any of the functions mentions; those of its class, too
    a user's module   the same; a class, too

and keeps two things: references for a quick look (`is_current`: one comparison for each), and
`contents`, a description that is equal for equal values. Where the quick look finds another object
the contents decide: a list that was replaced by an equal one changes nothing.

What is not followed: modules and objects of Python's library (but for the environment), of
Tilewright, and of `_FIXED` packages; files, clocks, random numbers. A function that reads them is
evaluated when the kernel is traced.
"""

from __future__ import annotations

import enum
import os
import sys
from array import array as plain_array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from functools import partial
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, cast

import numpy as np

from tilewright.frontend.attributes import attribute_of, has_attribute
from tilewright.frontend.mentions import Mentions, mentions_of

_ABSENT: Any = object()
_VERSION = "_version"
_OWN = "tilewright"
_FIXED = frozenset(
    {
        _OWN,
        "_pytest",
        "cuda",
        "cupy",
        "hypothesis",
        "islpy",
        "jax",
        "jaxlib",
        "ml_dtypes",
        "numba",
        "numpy",
        "pytest",
        "scipy",
        "tilelang",
        "torch",
        "triton",
        "xdsl",
    }
)
"""Packages that are taken for unchanging."""
_MAX_VALUES = 4_000
"""Values that are followed. A kernel that may have read more is traced again at every call."""

_PLAIN = frozenset({bool, int, str, bytes, type(None), type(Ellipsis), range})
_EXACT = frozenset({float, complex})
"""Types whose values are equal where they differ: 0.0 and -0.0."""
_WHOLE_MODULE = frozenset({"eval", "exec", "globals"})
"""Built-in functions that reach all names of a module."""
_BARE = frozenset({"abc", "argparse", "builtins", "collections.abc", "enum", "types", "typing"})
"""Modules of Python whose classes read no attributes that the user's code does not mention."""
_METHODS = (property, classmethod, staticmethod)
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)


class _TooMany(Exception):
    pass


class _Same:
    """An object that is equal to nothing but itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"the same {type(self.value).__name__}"


def atom(value: object) -> tuple[Any, ...] | None:
    """A value that never changes, as something that is equal for equal values only."""
    kind = cast("type[Any]", type(value))
    if kind in _PLAIN:
        return (kind, value)
    if kind in _EXACT:
        return (kind, repr(value))
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    if isinstance(value, np.dtype):
        return (np.dtype, str(cast("Any", value)))
    return None


class Reads:
    """What `functions` read when they are executed on `values`."""

    def __init__(self, functions: Sequence[object], values: Sequence[object] = ()) -> None:
        self._roots = (*functions, *values)
        self._take(_walked(self._roots))

    def _take(self, walk: _Walk | None) -> None:
        self.contents: tuple[Any, ...] | None = None if walk is None else tuple(walk.contents)
        """None if there is too much to follow."""
        self._walk = walk

    def is_current(self) -> bool:
        """Whether all of it is what it was."""
        if self._walk is None:
            return False
        try:
            if self._walk.is_untouched():
                return True
        except RuntimeError:  # a dict that another thread changes meanwhile
            pass
        new = _walked(self._roots)
        if new is None or tuple(new.contents) != self.contents:
            return False
        self._take(new)
        return True


def _walked(roots: Sequence[object]) -> _Walk | None:
    """All that is reached; what is reached may mention more, so this is repeated."""
    mentions = Mentions()
    while True:
        walk = _Walk(mentions)
        try:
            walk.run(roots)
        except _TooMany:
            return None
        if walk.mentions == mentions:
            return walk
        mentions = walk.mentions


class _Walk:
    """One way through everything that can be reached."""

    def __init__(self, mentions: Mentions) -> None:
        self.contents: list[Any] = []
        self.mentions = mentions
        self._known = mentions
        self._indices: dict[int, int] = {}
        self._work: deque[object] = deque()
        self._keep: list[object] = []
        """What has a number: its id stays taken."""
        # For the quick look.
        self._names: list[tuple[Mapping[str, object], str, object]] = []
        self._cells: list[tuple[CellType, object]] = []
        self._functions: list[tuple[FunctionType, tuple[object, object, object]]] = []
        self._kinds: list[tuple[object, type[Any]]] = []
        self._sequences: list[tuple[Any, tuple[object, ...]]] = []
        self._dicts: list[tuple[Mapping[Any, Any], tuple[object, ...], tuple[object, ...]]] = []
        self._checks: list[Callable[[], bool]] = []

    def is_untouched(self) -> bool:
        """Whether everything is the very same object."""
        for around, name, value in self._names:
            if around.get(name, _ABSENT) is not value:
                return False
        for cell, value in self._cells:
            if _content(cell) is not value:
                return False
        for function, saved in self._functions:
            if not all(map(is_, _parts(function), saved)):
                return False
        for value, kind in self._kinds:
            if type(value) is not kind:  # ``value.__class__ = Other``
                return False
        for items, saved in self._sequences:
            if len(items) != len(saved) or not all(map(is_, items, saved)):
                return False
        for items, keys, values in self._dicts:
            if len(items) != len(keys) or not all(map(is_, items, keys)):
                return False
            if not all(map(is_, items.values(), values)):
                return False
        return all(check() for check in self._checks)

    # -- the way -----------------------------------------------------------------------------

    def run(self, roots: Sequence[object]) -> None:
        self._record("roots", *map(self._ref, roots))
        while self._work:
            if len(self._keep) > _MAX_VALUES:
                raise _TooMany
            value = self._work.popleft()
            self._record(self._indices[id(value)], *self._described(value))

    def _record(self, *parts: object) -> None:
        self.contents.append(parts)

    def _ref(self, value: object) -> tuple[Any, ...]:
        """`value` itself if it cannot change; otherwise its number, under which it is described."""
        found = atom(value)
        if found is not None:
            return found
        index = self._indices.get(id(value))
        if index is None:
            index = self._indices[id(value)] = len(self._indices)
            self._keep.append(value)
            self._work.append(value)
        return ("see", index)

    def _refs(self, values: Iterable[object]) -> tuple[Any, ...]:
        return tuple(self._ref(each) for each in values)

    def _described(self, value: Any) -> tuple[Any, ...]:
        kind = cast("type[Any]", type(value))
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, MethodType):
            return ("method", self._ref(value.__func__), self._ref(value.__self__))
        if isinstance(value, ModuleType):
            return self._module(value)
        if isinstance(value, type):
            return self._class(cast("type[Any]", value))
        wrapped = _wrapped(value)
        if wrapped is not None:
            return ("wrapped", kind.__qualname__, self._ref(wrapped))
        if kind in _METHODS:
            inner = (getattr(value, each, None) for each in ("fget", "__func__"))
            return (kind.__qualname__, *self._refs(inner))
        if isinstance(value, BuiltinFunctionType):  # of a list: ``items.append``
            owner = None if isinstance(value.__self__, (ModuleType, type)) else value.__self__
            return ("built in", value.__qualname__, self._ref(owner))
        if isinstance(value, partial):
            return ("partial", *self._refs((value.func, value.args, value.keywords)))
        return self._data(value)

    # -- code --------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> tuple[Any, ...]:
        if _is_fixed(str(function.__module__)):
            # Of a decorator of a library, what it decorates.
            cells = function.__closure__ or ()
            return ("function", _Same(function.__code__), *map(self._cell, cells))
        mentions = mentions_of(function)
        self.mentions |= mentions
        around = function.__globals__
        parts = _parts(function)
        self._functions.append((function, parts))
        found: list[Any] = ["function", function.__code__, *self._refs(parts[1:])]
        found += self._attributes(vars(function))
        found += map(self._cell, function.__closure__ or ())
        for name in sorted(mentions.globals):
            value = around.get(name, _ABSENT)
            self._names.append((around, name, value))
            found.append((name, _Same(value) if value is _ABSENT else self._ref(value)))
        for name in sorted(mentions.imports):
            found += self._refs(_imported(name, str(around.get("__package__") or "")))
        if not _WHOLE_MODULE.isdisjoint(mentions.globals):
            found += self._attributes(around)
        if mentions.environment:
            found.append(self._mapping(os.environ))
        return tuple(found)

    def _cell(self, cell: CellType) -> tuple[Any, ...]:
        value = _content(cell)
        self._cells.append((cell, value))
        return (_Same(value),) if value is _ABSENT else self._ref(value)

    def _module(self, module: ModuleType) -> tuple[Any, ...]:
        if _is_fixed(module.__name__):
            return ("module", module.__name__)
        # Not by `getattr`, by which some modules load others.
        return ("module", module.__name__, *self._attributes(vars(module)))

    def _class(self, kind: type[Any]) -> tuple[Any, ...]:
        found: list[Any] = ["class", kind.__module__, kind.__qualname__]
        if not _is_fixed(type(kind).__module__):
            found.append(self._ref(type(kind)))
        hidden = {name for each in (kind, type(kind)) for name in _names_of(each)}
        for base in kind.__mro__[:-1]:
            if _is_fixed(base.__module__):
                found.append(_Same(base))
                continue
            found += self._attributes(vars(base), hidden)
            methods = (name for name in sorted(vars(base)) if _is_special(name, vars(base)[name]))
            for name in methods:
                value = vars(base)[name]
                self._names.append((vars(base), name, value))
                found.append((name, self._ref(value)))
        return tuple(found)

    # -- data --------------------------------------------------------------------------------

    def _data(self, value: Any) -> tuple[Any, ...]:
        kind = cast("type[Any]", type(value))
        found: list[Any] = [kind.__qualname__]
        if isinstance(value, np.ndarray):
            return (*found, *self._array(cast("np.ndarray[Any, Any]", value)))
        if isinstance(value, (list, deque)):
            items = cast("Sequence[object]", value)
            self._sequences.append((items, tuple(items)))
            found += self._refs(items)
        elif isinstance(value, tuple):
            found += self._refs(cast("tuple[object, ...]", value))
        elif isinstance(value, (set, frozenset)):
            whole = cast("frozenset[object]", value)
            members = tuple(whole)
            self._sequences.append((whole, members))
            found.append(frozenset(self._ref(each) for each in members))
        elif isinstance(value, (dict, MappingProxyType)):
            found.append(self._mapping(cast("Mapping[object, object]", value)))
        elif isinstance(value, MappingView):
            found.append(self._ref(_viewed(value)))
        elif isinstance(value, (bytearray, memoryview, plain_array)):
            items = cast("bytearray | memoryview | plain_array[Any]", value)
            seen = _bytes(items)
            self._checks.append(lambda: _bytes(items) == seen)
            found.append(seen)
        elif isinstance(value, ContextVar):
            variable = cast("ContextVar[object]", value)
            now = variable.get(_ABSENT)
            self._checks.append(lambda: variable.get(_ABSENT) is now)
            found.append(_Same(now) if now is _ABSENT else self._ref(now))
            return tuple(found)
        if kind.__module__ == "builtins" and len(found) > 1:
            return tuple(found)
        return (*found, *self._object(value))

    def _array(self, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        if array.dtype.hasobject:
            return (array.shape, *self._refs(array.flat))
        seen = (str(array.dtype), array.shape, array.tobytes())
        self._checks.append(lambda: (str(array.dtype), array.shape, array.tobytes()) == seen)
        return seen

    def _mapping(self, mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
        keys, values = tuple(mapping), tuple(mapping.values())
        if mapping is os.environ:
            self._checks.append(lambda: (tuple(mapping), tuple(mapping.values())) == (keys, values))
        else:
            self._dicts.append((mapping, keys, values))
        return tuple(zip(self._refs(keys), self._refs(values), strict=True))

    def _object(self, value: Any) -> tuple[Any, ...]:
        kind = cast("type[Any]", type(value))
        is_tensor = has_attribute(value, "data_ptr")
        version = attribute_of(value, _VERSION) if is_tensor else None
        if version is not None:  # a tensor of torch's, which counts its changes
            self._checks.append(lambda: attribute_of(value, _VERSION) == version)
            return (_Same(value), version)
        found_dict = attribute_of(value, "__dict__")
        has_attributes = isinstance(found_dict, dict)
        attributes = cast("dict[str, object]", found_dict if has_attributes else {})
        is_ours = kind.__module__.partition(".")[0] in _FIXED
        slots = [] if is_ours else list(self._slots(value))
        if isinstance(value, enum.Enum) and not is_ours:
            own = self._attributes(attributes, _names_of(kind), everything=True)
            return (_Same(value), self._ref(kind), *own)
        if is_ours or (not has_attributes and not slots):
            return (_Same(value), self._ref(kind))
        self._kinds.append((value, kind))
        found: list[Any] = [self._ref(kind), *slots]
        if has_attributes:
            found += self._attributes(attributes, _names_of(kind), everything=_has_other_code(kind))
        if any(_is_fixed(base.__module__) and "__getattr__" in vars(base) for base in kind.__mro__):
            found += self._getattr_results(value, attributes)
        return tuple(found)

    def _attributes(
        self,
        attributes: Mapping[str, object],
        hidden: AbstractSet[str] = frozenset(),
        *,
        everything: bool = False,
    ) -> list[tuple[str, Any]]:
        """Those that are mentioned; one that is not there may hide one of `hidden` later."""
        known = self._known
        names = {name for name in known.attributes if name in attributes or name in hidden}
        if everything or known.everything:
            names |= {name for name in attributes if not _is_dunder(name)}
        found: list[tuple[str, Any]] = []
        for name in sorted(names | known.by_getattr):
            value = attributes.get(name, _ABSENT)
            self._names.append((attributes, name, value))
            found.append((name, _Same(value) if value is _ABSENT else self._ref(value)))
        return found

    def _slots(self, value: object) -> Iterable[tuple[str, Any]]:
        for base in type(value).__mro__:
            for name, descriptor in sorted(vars(base).items()):
                if isinstance(descriptor, _DESCRIPTORS) and self._is_mentioned(name):
                    yield name, self._looked_up(value, name)

    def _getattr_results(
        self, value: object, attributes: Mapping[str, object]
    ) -> list[tuple[str, Any]]:
        """Results of a ``__getattr__``: parameters of a torch module."""
        names = sorted(self._known.attributes - attributes.keys() - set(dir(type(value))))
        return [(name, self._looked_up(value, name)) for name in names]

    def _looked_up(self, value: object, name: str) -> Any:
        now = attribute_of(value, name, _ABSENT)
        self._checks.append(lambda: attribute_of(value, name, _ABSENT) is now)
        return _Same(now) if now is _ABSENT else self._ref(now)

    def _is_mentioned(self, name: str) -> bool:
        return self._known.everything or name in self._known.attributes


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # assigned later, or never
        return _ABSENT


def _parts(function: FunctionType) -> tuple[object, object, object]:
    """What may be replaced in a function."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _names_of(kind: type[Any]) -> set[str]:
    """The attributes of a class and of its bases."""
    return {name for base in kind.__mro__ for name in vars(base)}


def _viewed(view: MappingView) -> object:
    """The mapping that ``values()`` was called on: a dict, or one that is written in Python."""
    found = attribute_of(view, "mapping")
    return attribute_of(view, "_mapping") if found is None else found


def _bytes(items: bytearray | memoryview | plain_array[Any]) -> object:
    try:
        return bytes(items)
    except ValueError:  # a view that was released
        return _ABSENT


def _wrapped(value: Any) -> object | None:
    """The function of a kernel function, of a ``lru_cache``."""
    found = attribute_of(value, "__wrapped__") if callable(value) else None
    return found if callable(found) else None


def _is_fixed(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _FIXED or (top in sys.stdlib_module_names and top != "__main__")


def _has_other_code(kind: type[Any]) -> bool:
    """Whether a class has methods of Python's library, as those of ``ChainMap`` read ``maps``."""
    homes = [base.__module__ for base in kind.__mro__]
    return any(
        home not in _BARE and home.partition(".")[0] in sys.stdlib_module_names for home in homes
    )


def _is_special(name: str, value: object) -> bool:
    """Whether Python calls it without mentioning it: ``__getitem__``."""
    return _is_dunder(name) and isinstance(value, FunctionType)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _imported(name: str, package: str) -> list[ModuleType]:
    """The modules that an import of `name` in a module of `package` may mean."""
    prefixes = ["", *(package.rsplit(".", n)[0] + "." for n in range(package.count(".") + 1))]
    found = (sys.modules.get((prefix + name).strip(".")) for prefix in prefixes)
    top = sys.modules.get(name.partition(".")[0])
    return list(dict.fromkeys(each for each in (*found, top) if each is not None))
