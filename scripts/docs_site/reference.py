"""Reference pages of the four namespaces that a kernel's user imports, from their docstrings.

A page lists the names of `__all__` in alphabetical order within the kinds functions, classes,
values and modules. The text of an entry is its docstring; code in double backticks and lists are
Markdown already, and an indented paragraph stays one.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType

LINE = 88


@dataclass(frozen=True)
class Namespace:
    """A module with the names that its page lists."""

    module: str
    imported_as: str
    title: str
    how: str

    @property
    def page(self) -> str:
        return f"reference/{self.imported_as}.md"


NAMESPACES = (
    Namespace("tilewright", "tw", "tilewright", "import tilewright as tw"),
    Namespace("tilewright.language.tl", "tl", "tl: Triton's language", "from tilewright import tl"),
    Namespace(
        "tilewright.language.tlx", "tlx", "tlx: TLX's language", "from tilewright import tlx"
    ),
    Namespace("tilewright.language.T", "T", "T: TileLang's language", "from tilewright import T"),
)


def page_of(namespace: Namespace) -> str:
    """The Markdown of one page."""
    module = importlib.import_module(namespace.module)
    by_kind: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": [], "Modules": []}
    for name in sorted(public_names(module), key=str.lower):
        by_kind[_kind(getattr(module, name))].append(name)
    lines = [f"# {namespace.title}", "", "```python", namespace.how, "```", ""]
    lines += [inspect.getdoc(module) or "", ""]
    for kind, names in by_kind.items():
        if names:
            lines += [f"## {kind}", "", *_section(kind, module, names, namespace.imported_as)]
    return "\n".join(lines) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """What the page of `module` lists."""
    return [name for name in module.__all__ if not name.startswith("_")]


def _kind(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return "Modules"
    if inspect.isclass(thing):
        return "Classes"
    return "Functions" if callable(thing) else "Values"


def _section(kind: str, module: ModuleType, names: list[str], prefix: str) -> Iterator[str]:
    if kind == "Values":
        yield "| name | type |"
        yield "|---|---|"
        for name in names:
            yield f"| `{prefix}.{name}` | `{type(getattr(module, name)).__name__}` |"
        yield ""
        return
    for name in names:
        yield from _entry(f"{prefix}.{name}", getattr(module, name))


def _entry(name: str, thing: object) -> Iterator[str]:
    yield f"### `{name}` {{: #{name} }}"
    yield ""
    if isinstance(thing, ModuleType):
        yield from _described(thing)
        yield from _members(f"{name}.", thing, _names_of(thing))
        return
    yield "```python"
    yield signature_text(name.rpartition(".")[2], thing)
    yield "```"
    yield ""
    yield from _described(thing)
    if inspect.isclass(thing):
        yield from _members("", thing, [n for n in vars(thing) if not n.startswith("_")])


def _described(thing: object) -> Iterator[str]:
    text = inspect.getdoc(thing)
    if text:
        names = {parameter.name for parameter in _parameters(thing) or ()}
        yield from _with_lists(text.splitlines(), names)
        yield ""


def _with_lists(lines: list[str], parameters: set[str]) -> Iterator[str]:
    """A docstring's lines; those that explain a parameter, `name: what it is`, become a list."""
    listed = False
    for line in lines:
        found = re.match(r"(\w+)(?: \(or (\w+)\))?: ", line)
        if found and found[1] in parameters:
            if not listed:
                yield ""
            yield f"- `{found[0][:-2]}`: {line[found.end() :]}"
            listed = True
        else:
            if listed and line and not line.startswith(" "):
                yield ""
            listed = listed and line.startswith(" ")
            yield line


def _names_of(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    names = listed or [n for n in vars(module) if not n.startswith("_")]
    return [n for n in names if getattr(getattr(module, n), "__module__", "") == module.__name__]


def _members(prefix: str, owner: object, names: list[str]) -> Iterator[str]:
    """One line for each function or property of a class or module with its purpose."""
    rows = [
        f"- `{prefix}{_short_signature(name, member)}`: {_first_sentence(member)}"
        for name in sorted(names, key=str.lower)
        if (member := inspect.getattr_static(owner, name, None)) is not None
        and (callable(member) or isinstance(member, property | staticmethod | classmethod))
        and inspect.getdoc(member)
    ]
    if rows:
        yield from rows
        yield ""


def _first_sentence(member: object) -> str:
    paragraph = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.) ", paragraph, maxsplit=1)[0]


def _short_signature(name: str, member: object) -> str:
    if isinstance(member, property):
        return name
    function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    parameters = _parameters(function)
    shown = [p.name for p in parameters or () if p.name not in ("self", "cls")]
    return f"{name}({', '.join(shown)})"


def signature_text(name: str, thing: object) -> str:
    """How `thing` is called, on one line if it fits, else with a line for each parameter."""
    parameters = _parameters(thing)
    if parameters is None:
        return name
    shown = list(_with_markers(parameters))
    line = f"{name}({', '.join(shown)})"
    if len(line) <= LINE:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + ")"


def _parameters(thing: object) -> list[inspect.Parameter] | None:
    if not callable(thing):
        return None
    try:
        return list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None


def _with_markers(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters as a signature has them, with the lone `*` before those by keyword."""
    starred = False
    for parameter in parameters:
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield _parameter(parameter)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}"
    annotation = parameter.annotation
    if annotation is not parameter.empty and annotation != "Any":
        shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        text += f": {shown}"
    if parameter.default is parameter.empty:
        return text
    equals = " = " if ":" in text else "="
    return f"{text}{equals}{_default(parameter.default)}"


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    # An address would differ from build to build.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
