"""Passes: what one is, how options are written, how several run in order.

A pass is a frozen dataclass. Its fields are its options, written with dashes on the command
line; its ``name`` is its file name with dashes. It changes the module in place and reports to
the engine; an error ends the pipeline::

    @dataclass(frozen=True)
    class Canonicalize(Pass):
        name = "canonicalize"
        max_iterations: int = 10

        def run(self, module, engine): ...

    -canonicalize="max-iterations=3"
    -pass-pipeline='builtin.module(canonicalize{max-iterations=3},cse)'
"""

from __future__ import annotations

import re
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine


class Pass(ABC):
    """A transformation, or a check, of a whole module."""

    name: ClassVar[str]
    old_options: ClassVar[Mapping[str, str]] = {}
    """Old names of options and the present ones; accepted with a warning until the next release."""

    @abstractmethod
    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        """Change `module`; report to `engine` what could not be done."""

    def __str__(self) -> str:
        options = [
            f"{_dashed(f.name)}={_option_text(getattr(self, f.name))}" for f in _options(type(self))
        ]
        return self.name + ("{" + " ".join(options) + "}" if options else "")


PassClass: TypeAlias = type[Pass]
PassRegistry: TypeAlias = Mapping[str, Callable[[], PassClass]]
"""Pass names with functions that import the pass; listing passes imports none."""


class PipelineError(ValueError):
    """A pipeline that cannot be built, and why."""


@dataclass(frozen=True)
class PassSpec:
    """A pass by name, with its options as written."""

    name: str
    options: Mapping[str, str]


_NAME = re.compile(r"\s*([A-Za-z][\w.-]*)")


def parse_pipeline(text: str) -> list[PassSpec]:
    """Passes of ``a,b{x=1},builtin.module(c)``; anchors such as ``builtin.module`` only group.

    Every pass here works on the whole module, so ``tt.func(cse)`` means ``cse``.
    """
    reader = _PipelineReader(text)
    specs = reader.sequence() if text.strip() else []
    if not reader.at_end():
        reader.fail("expected ',' or the end")
    return specs


class _PipelineReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def sequence(self) -> list[PassSpec]:
        """Passes and groups, separated by commas."""
        specs = self._item()
        while self._skip(","):
            specs.extend(self._item())
        return specs

    def _item(self) -> list[PassSpec]:
        match = _NAME.match(self._text, self._at)
        if match is None:
            self.fail("expected the name of a pass")
        self._at = match.end()
        if self._skip("("):
            inner = self.sequence()
            if not self._skip(")"):
                self.fail("expected ')' or ','")
            return inner
        if self._text[self._at : self._at + 1] != "{":
            return [PassSpec(match[1], {})]
        end = _closing_brace(self._text, self._at)
        options = parse_options(self._text[self._at + 1 : end])
        self._at = end + 1
        return [PassSpec(match[1], options)]

    def _skip(self, mark: str) -> bool:
        rest = self._text[self._at :].lstrip()
        if not rest.startswith(mark):
            return False
        self._at = len(self._text) - len(rest) + 1
        return True

    def at_end(self) -> bool:
        return not self._text[self._at :].strip()

    def fail(self, message: str) -> NoReturn:
        """Show the pipeline with a caret under the position."""
        rest = self._text[self._at :]
        column = self._at + len(rest) - len(rest.lstrip())
        raise PipelineError(f"{message} in pass pipeline\n  {self._text}\n  {' ' * column}^")


def _closing_brace(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise PipelineError("missing '}' in pass pipeline")


def parse_options(text: str) -> dict[str, str]:
    """``a=1 b=x,y c``: options of one pass; an option without a value means true."""
    options: dict[str, str] = {}
    for option in re.findall(r"(?:[^\s\"{]|\"[^\"]*\"|\{[^}]*\})+", text):
        key, separator, value = option.partition("=")
        options[key.strip().lstrip("-")] = value.strip('"') if separator else "true"
    return options


def build_pass(spec: PassSpec, registry: PassRegistry) -> Pass:
    """The pass that `spec` names, with its options converted and checked."""
    if spec.name not in registry:
        close = closest(spec.name, registry)
        hint = f"; did you mean '{close}'?" if close else "; --list-passes lists them"
        raise PipelineError(f"'{spec.name}' is not a pass{hint}")
    pass_class = registry[spec.name]()
    known = {_dashed(field.name): field for field in _options(pass_class)}
    hints = get_type_hints(pass_class)
    values: dict[str, Any] = {}
    for given, text in spec.options.items():
        key = pass_class.old_options.get(given, given)
        if key != given:
            warn_of_old_name(f"option '{given}' of pass '{spec.name}'", f"'{key}'")
        if key not in known:
            names = ", ".join(known) or "none"
            raise PipelineError(f"pass '{spec.name}' has no option '{key}'; it has: {names}")
        values[known[key].name] = _convert(text, hints[known[key].name], f"{spec.name}: {key}")
    return pass_class(**values)


def warn_of_old_name(old: str, new: str) -> None:
    """Warn that `old` is deprecated, and name its replacement."""
    warnings.warn(f"{old} is deprecated: use {new}", FutureWarning, stacklevel=3)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` was probably meant to be."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1, cutoff=0.75)
    return found[0] if found else None


def _options(pass_class: PassClass) -> Sequence[Any]:
    return fields(pass_class) if hasattr(pass_class, "__dataclass_fields__") else ()  # pyright: ignore[reportArgumentType]


def option_help(pass_class: PassClass) -> Iterator[str]:
    """One line per option: name, type, default."""
    hints = get_type_hints(pass_class)
    for field in _options(pass_class):
        default = _option_text(field.default)
        suffix = f" (default {default})" if default else ""
        yield f"{_dashed(field.name)}={_type_name(hints[field.name])}{suffix}"


def _dashed(name: str) -> str:
    return name.replace("_", "-")


_TYPE_NAMES: dict[Any, str] = {int: "INT", str: "STRING", float: "NUMBER", bool: "true|false"}


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    if get_origin(hint) is tuple:
        return f"{_type_name(get_args(hint)[0])},..."
    if isinstance(hint, types.UnionType):
        return _type_name(next(a for a in get_args(hint) if a is not type(None)))
    if hint in _TYPE_NAMES:
        return _TYPE_NAMES[hint]
    return "|".join(str(member.value) for member in hint)  # an Enum; _convert has no others


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _convert(text: str, hint: Any, where: str) -> Any:
    """`text` as a value of type `hint`."""
    if get_origin(hint) is Literal:
        return _one_of(text, {str(a): a for a in get_args(hint)}, where)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return tuple(_convert(part, inner, where) for part in text.split(",") if part)
    if isinstance(hint, types.UnionType):
        return _convert(text, next(a for a in get_args(hint) if a is not type(None)), where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of(text, {str(member.value): member for member in hint}, where)
    if hint is bool:
        return _one_of(text, _BOOLEANS, where)
    try:
        return hint(text)
    except ValueError:
        raise PipelineError(f"{where}: '{text}' is not a valid {hint.__name__}") from None


def _one_of(text: str, table: Mapping[str, Any], where: str) -> Any:
    if text not in table:
        raise PipelineError(f"{where}: '{text}' is not one of {', '.join(table)}")
    return table[text]


@dataclass(frozen=True)
class Pipeline:
    """Passes in order. `after_each` sees the module after every pass, for dumps and checks."""

    passes: Sequence[Pass]

    @classmethod
    def build(cls, specs: Sequence[PassSpec], registry: PassRegistry) -> Pipeline:
        return cls([build_pass(spec, registry) for spec in specs])

    def run(
        self,
        module: ModuleOp,
        engine: DiagnosticEngine,
        after_each: Callable[[Pass, int], bool] | None = None,
    ) -> bool:
        """Run all passes; False as soon as one has reported an error or a check has failed."""
        for index, each in enumerate(self.passes, 1):
            before = engine.error_count
            each.run(module, engine)
            if engine.error_count > before:
                return False
            if after_each is not None and not after_each(each, index):
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))
