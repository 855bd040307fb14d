"""What the code of a Python function mentions: names around it, attributes, modules it imports.

Annotations of local variables are in no code, and those of parameters may be text: where a function
may hold kernels of `T`, whose declarations they are, its syntax tree is read as well.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

from tilewright.frontend.errors import FrontendError
from tilewright.frontend.source import read_source

_LANGUAGE = "tilewright.language"
# Functions that take the name of an attribute.
_BY_TEXT = frozenset({"getattr", "hasattr"})
# What reaches attributes that no text names.
_ALL = frozenset(
    {
        "__dict__",
        "asdict",
        "astuple",
        "attrgetter",
        "dir",
        "eval",
        "exec",
        "fields",
        "globals",
        "locals",
        "vars",
    }
)
_ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})


@dataclass(frozen=True)
class Mentions:
    """What a function may look up, functions inside it included."""

    globals: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    """Names after a dot."""
    by_getattr: frozenset[str] = frozenset()
    """Attributes that it reads by ``getattr``, which may not exist."""
    imports: frozenset[str] = frozenset()
    everything: bool = False
    """Whether it may look at attributes that are not mentioned."""

    def __or__(self, other: Mentions) -> Mentions:
        return Mentions(
            self.globals | other.globals,
            self.attributes | other.attributes,
            self.by_getattr | other.by_getattr,
            self.imports | other.imports,
            self.everything or other.everything,
        )

    @property
    def environment(self) -> bool:
        """Whether it may read variables of the environment."""
        return not _ENVIRONMENT.isdisjoint(self.attributes | self.globals)


def mentions_of(function: FunctionType) -> Mentions:
    """What `function` mentions."""
    found = _of_code(function.__code__)
    if not _BY_TEXT.isdisjoint(found.globals):
        found |= _read_by_getattr(function)
    if any(_is_language(function.__globals__.get(name)) for name in found.globals):
        found |= _of_text(function)
    return found


def _is_language(value: object) -> bool:
    name = (
        value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    )
    return name == _LANGUAGE or name.startswith(_LANGUAGE + ".")


@lru_cache(maxsize=1024)
def _of_code(code: CodeType) -> Mentions:
    around: set[str] = set()
    attributes: set[str] = set()
    imports: set[str] = set()
    inner = Mentions()
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if isinstance(value, CodeType):
            inner |= _of_code(value)
        elif not isinstance(value, str) or name.startswith(("STORE", "DELETE")):
            continue
        elif name == "IMPORT_NAME":
            imports.add(value)
        elif "GLOBAL" in name or name == "LOAD_NAME":
            around.add(value)
        elif "ATTR" in name or "METHOD" in name or name == "IMPORT_FROM":
            attributes.add(value)
    return inner | Mentions(
        frozenset(around),
        frozenset(attributes),
        frozenset(),
        frozenset(imports),
        not _ALL.isdisjoint(around | attributes),
    )


def _read_by_getattr(function: FunctionType) -> Mentions:
    """What a function that calls ``getattr`` may read: everything, unless the name is constant."""
    tree = _tree(function)
    if tree is None:
        return Mentions(everything=True)
    named: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[_, ast.Constant(value=str(text)), *_]) if (
                name in _BY_TEXT
            ):
                named.add(text)
            case ast.Call(func=ast.Name(id=name)) if name in _BY_TEXT:
                return Mentions(everything=True)
            case _:
                pass
    return Mentions(attributes=frozenset(named), by_getattr=frozenset(named))


_trees: dict[CodeType, ast.FunctionDef | None] = {}


def _tree(function: FunctionType) -> ast.FunctionDef | None:
    """The function as it is written; None of a lambda, and where the text is gone."""
    code = function.__code__
    if code not in _trees:
        try:
            _trees[code] = read_source(function).tree
        except FrontendError:
            _trees[code] = None
    return _trees[code]


def _of_text(function: FunctionType) -> Mentions:
    tree = _tree(function)
    if tree is None:
        return Mentions()  # no kernel is built from it
    nodes = [node for annotation in _annotations(tree) for node in ast.walk(annotation)]
    return Mentions(
        frozenset(node.id for node in nodes if isinstance(node, ast.Name)),
        frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
    )


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
            yield node.annotation
            if isinstance(node.annotation, ast.Constant) and isinstance(node.annotation.value, str):
                try:
                    yield ast.parse(node.annotation.value, mode="eval")
                except SyntaxError:  # a plain text
                    continue
