"""From lines with symbols to Python text: drop unused lines, assign names, record positions.

Every statement ends with a comment that names its line in the user's file. The same is stored as a
table, so that an exception in generated code can be reported at the source line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from xdsl.ir import Attribute

from tilewright.ir.diagnostics import resolve
from tilewright.targets.numpy.names import Names
from tilewright.targets.numpy.values import Assign, Expr, Line, Nest, Phi, Scope

_SYMBOL = re.compile("\0([0-9]+)\0")
_NAME = re.compile(r"[A-Za-z_]\w*")
_COMMENT_COLUMN = 72
_RESERVED = frozenset(("np", "rt"))


@dataclass(frozen=True)
class GeneratedSource:
    """The text of a module and where its lines come from."""

    text: str
    locations: Mapping[int, Attribute]
    """By line number, from 1."""
    entry: str
    """The name of the kernel's function."""


def generate(
    docstring: str,
    helpers: Mapping[str, str],
    constants: Scope,
    bodies: Sequence[tuple[int, str, Scope]],
    hints: Mapping[int, str],
    aliases: Mapping[int, Expr],
) -> GeneratedSource:
    """The module's text; `helpers` maps the support's names to the modules they live in."""
    mark([constants, *(scope for _, _, scope in bodies)])
    writer = _Writer(hints, aliases, Names({*helpers, *_RESERVED}))
    writer.scope(constants)
    for symbol, parameters, scope in bodies:
        writer.function(symbol, parameters, scope)
    return writer.finish(docstring, helpers, writer.name(bodies[-1][0]))


def mark(scopes: Iterable[Scope]) -> None:
    """Find the lines that matter: statements, and whatever they are computed from."""
    pending = [line for scope in scopes for line in _roots(scope)]
    while pending:
        line = pending.pop()
        if line.is_needed:
            continue
        line.is_needed = True
        pending.extend(line.deps)
        if isinstance(line, Nest):
            pending.extend(_roots(line.scope))
        if isinstance(line, Phi):
            pending.extend(line.sources)
            if line.alias is not None and line.alias.line is not None:
                pending.append(line.alias.line)


def _roots(scope: Scope) -> Iterator[Line]:
    return (line for line in scope.lines if line.is_effect)


@dataclass
class _Writer:
    hints: Mapping[int, str]
    aliases: Mapping[int, Expr]
    names: Names
    lines: list[str] = field(default_factory=list[str])
    locations: dict[int, Attribute] = field(default_factory=dict[int, Attribute])
    symbols: dict[int, str] = field(default_factory=dict[int, str])
    location_texts: dict[int, str] = field(default_factory=dict[int, str])

    def function(self, symbol: int, parameters: str, scope: Scope) -> None:
        name = self.name(symbol)
        outer, self.names = self.names, self.names.child()
        self.lines += ["", ""]
        self.add(0, f"def {name}({self.rendered(parameters)}):", None)
        self.body(scope, 1)
        self.names = outer

    def body(self, scope: Scope, depth: int) -> None:
        before = len(self.lines)
        self.scope(scope, depth)
        if len(self.lines) == before:
            self.add(depth, "pass", None)

    def scope(self, scope: Scope, depth: int = 0) -> None:
        for line in scope.lines:
            if isinstance(line, Nest) and not line.text:
                self.scope(line.scope, depth)
            elif isinstance(line, Nest) and line.is_needed:
                is_function = depth == 0
                self.lines += ["", ""] if is_function else []
                self.add(depth, self.rendered(line.text), line.location)
                self.body(line.scope, depth + 1)
                self.lines += ["", ""] if is_function else []
            elif isinstance(line, Assign):
                self.assignment(line, depth)
            elif line.is_needed:
                self.statement(line, depth)

    def statement(self, line: Line, depth: int) -> None:
        text = self.rendered(line.text)
        if line.targets:
            targets = ", ".join(self.name(symbol) for symbol in line.targets)
            comma = "," if len(line.targets) == 1 and text.startswith("*") else ""
            text = f"{targets}{comma} = {text.removeprefix('*')}"
        self.add(depth, text, line.location)

    def assignment(self, line: Assign, depth: int) -> None:
        live = [(phi, new) for phi, new in line.pairs if phi.is_needed and phi.alias is None]
        if not live:
            return
        targets = [self.name(phi.targets[0]) for phi, _ in live]
        wrapper = line.wrapper
        sources = [
            wrapper.format(old=target, new=self.rendered(new.text))
            for target, (_, new) in zip(targets, live, strict=True)
        ]
        text = f"{', '.join(targets)} = {', '.join(sources)}"
        self.add(depth, self.rendered(text), line.location)

    def rendered(self, text: str) -> str:
        """Text with names in place of symbols."""
        return _SYMBOL.sub(lambda match: self.name(int(match[1])), text)

    def name(self, symbol: int) -> str:
        found = self.symbols.get(symbol)
        if found is not None:
            return found
        alias = self.aliases.get(symbol)
        if alias is not None:
            found = self.rendered(alias.text)
        else:
            found = self.names.fresh(self.hints[symbol])
        self.symbols[symbol] = found
        return found

    def add(self, depth: int, text: str, location: Attribute | None) -> None:
        code = f"{'    ' * depth}{text}"
        position = self.location_text(location)
        self.lines.append(f"{code:<{_COMMENT_COLUMN}}  # {position}" if position else code)
        if location is not None:
            self.locations[len(self.lines)] = location

    def location_text(self, location: Attribute | None) -> str:
        if location is None:
            return ""
        found = self.location_texts.get(id(location))
        if found is None:
            found = self.location_texts[id(location)] = short_location(location)
        return found

    def finish(self, docstring: str, helpers: Mapping[str, str], entry: str) -> GeneratedSource:
        used = set(_NAME.findall("\n".join(line.partition("  # ")[0] for line in self.lines)))
        by_module: dict[str, list[str]] = {}
        for name in sorted(used & helpers.keys()):
            by_module.setdefault(helpers[name], []).append(name)
        head = [f'"""{docstring}"""', "", "import numpy as np", ""]
        for module, names in sorted(by_module.items()):
            head.append(f"from {module} import {', '.join(names)}")
        if by_module:
            head.append("")
        shift = len(head)
        locations = {line + shift: where for line, where in self.locations.items()}
        return GeneratedSource("\n".join([*head, *self.lines, ""]), locations, entry)


def short_location(location: Attribute) -> str:
    """`file.py:12` for a location, "" if it has none."""
    position = resolve(location).primary
    return "" if position is None else f"{PurePath(position.file).name}:{position.line}"
