"""Stages of a kernel as lines that know where in the source they came from.

IR is printed with locations, whose aliases are resolved and then left out of the text; of a
location that is nested (a name, a call) the innermost position counts. Generated C++ has a comment
with the source line before the statements that came from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.text import print_module
from tilewright.report.studio.document import Line, SourceLine, Sources, Stage

_TRAILING = re.compile(r"\s*loc\((?P<inner>.*)\)\s*$")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_REFERENCE = re.compile(r"#loc\d*")
_POSITION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_ARGUMENT = re.compile(
    r" loc\((?:#loc\d*|unknown|\"(?:[^\"\\]|\\.)*\"(?::\d+:\d+)?(?:\([^()]*\))?)\)"
)
_COMMENT = re.compile(r"^\s*// (\S+\.\w+):(\d+)$")


def ir_stage(name: str, module: ModuleOp, sources: Sources) -> Stage:
    """The IR of a module."""
    lines = print_module(module, locations=True).splitlines()
    aliases = {found[1]: found[2] for line in lines if (found := _ALIAS.match(line))}
    resolved = {alias: _resolve(text, aliases) for alias, text in aliases.items()}
    return Stage(name, "ir", tuple(_with_openings([*_ir_lines(lines, resolved, sources)])))


def _with_openings(lines: list[Line]) -> list[Line]:
    """Give the line that opens a region the origin of the one that closes it, which is printed."""
    opened: list[int] = []
    for index, line in enumerate(lines):
        text = line.text.strip()
        if text.startswith("}") and opened:
            opening = opened.pop()
            if lines[opening].origin is None:
                lines[opening] = Line(lines[opening].text, line.origin)
        if text.endswith("{"):
            opened.append(index)
    return lines


def _ir_lines(
    lines: list[str], aliases: Mapping[str, tuple[str, int] | None], sources: Sources
) -> Iterator[Line]:
    for line in lines:
        if _ALIAS.match(line):
            continue
        found = _TRAILING.search(line)
        origin: SourceLine | None = None
        if found is not None:
            inner = found["inner"]
            position = aliases[inner] if inner in aliases else _first_position(inner)
            line = line[: found.start()]
            if position is not None:
                origin = sources.line_of(*position)
        yield Line(_ARGUMENT.sub("", line), origin)


def _resolve(text: str, aliases: Mapping[str, str]) -> tuple[str, int] | None:
    """The first position in a location, through the aliases it names."""
    pending, seen = [text], set[str]()
    while pending:
        current = pending.pop()
        position = _first_position(current)
        reference = _REFERENCE.search(current)
        before = _POSITION.search(current)
        if position is not None and (
            reference is None or (before is not None and before.start() < reference.start())
        ):
            return position
        for each in reversed(_REFERENCE.findall(current)):
            if each in aliases and each not in seen:
                seen.add(each)
                pending.append(aliases[each])
    return None


def _first_position(text: str) -> tuple[str, int] | None:
    found = _POSITION.search(text)
    return None if found is None else (found[1], int(found[2]))


def code_stage(name: str, text: str, sources: Sources) -> Stage:
    """Generated source, whose comments name source lines; a blank line at depth 0 ends them."""
    origin: SourceLine | None = None
    lines: list[Line] = []
    for line in text.splitlines():
        found = _COMMENT.match(line)
        if found is not None:
            origin = sources.named(found[1], int(found[2]))
        elif not line.strip() or line.startswith("}"):
            origin = None
        lines.append(Line(line, origin))
    return Stage(name, "code", tuple(lines))


def plain_stage(name: str, text: str, sources: Sources) -> Stage:
    """Assembly, with the source lines of ``.loc`` directives where a compiler wrote them."""
    files: dict[str, str] = {}
    for index, directory, file in re.findall(
        r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', text, re.M
    ):
        files[index] = str(PurePath(directory) / file) if file else directory
    origin: SourceLine | None = None
    lines: list[Line] = []
    for line in text.splitlines():
        found = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line)
        if found is not None and found[1] in files:
            origin = sources.named(files[found[1]], int(found[2]))
            continue
        lines.append(Line(line, origin))
    return Stage(name, "code", tuple(lines))
