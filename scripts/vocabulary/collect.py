"""The prose of a file, by kind and line, and the names that it defines."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.vocabulary.rules import Kind


@dataclass(frozen=True)
class Text:
    """A line of prose, or a name."""

    kind: Kind
    line: int
    text: str


def texts_of(path: Path, name: str) -> Iterator[Text]:
    """All prose and names of `path`; `name` is its path in the repository."""
    source = path.read_text()
    if path.suffix == ".md":
        yield from _markdown(source)
        return
    if path.suffix == ".ipynb":
        yield from _notebook(source)
        return
    yield Text(Kind.NAME, 1, Path(name).stem)
    yield from _comments(source)
    yield from _python(source)


_CODE_SPAN = re.compile(r"``[^`]*``|`[^`]*`")


def without_code(text: str) -> str:
    """Prose without what is quoted as code."""
    return _CODE_SPAN.sub("``", text)


def _markdown(source: str) -> Iterator[Text]:
    is_code = False
    for at, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield Text(Kind.DOCS, at, without_code(line))


def _notebook(source: str) -> Iterator[Text]:
    """The prose of a notebook; a line is that of its file, where a line of a cell is a string."""
    at = 0
    lines = source.splitlines()
    for cell in json.loads(source)["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        written = "".join(cell["source"])
        first = json.dumps(cell["source"][0], ensure_ascii=False) if cell["source"] else ""
        at = next((n for n in range(at, len(lines)) if lines[n].strip().startswith(first)), at)
        for text in _markdown(written):
            yield Text(text.kind, at + text.line, text.text)


def _comments(source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(
            r"#\s*(?:pyright|ruff|noqa|type)", token.string
        ):
            yield Text(Kind.COMMENT, token.start[0], without_code(token.string))


def _python(source: str) -> Iterator[Text]:
    nodes = list(ast.walk(ast.parse(source)))
    documented = {
        node.value for node in nodes if isinstance(node, ast.Expr) and _is_string(node.value)
    }
    joined = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield Text(Kind.MESSAGE, node.lineno, without_code(_joined(node)))
        elif node in documented:
            yield from _lines(Kind.DOCSTRING, node)
        elif _is_string(node):
            if node not in joined:
                yield from (each for each in _lines(Kind.MESSAGE, node) if " " in each.text.strip())
        else:
            yield from (Text(Kind.NAME, line, name) for name, line in _defined(node))


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _lines(kind: Kind, node: ast.AST) -> Iterator[Text]:
    assert isinstance(node, ast.Constant)
    text = without_code(str(node.value))
    start = node.lineno
    for offset, line in enumerate(text.split("\n")):
        yield Text(kind, start + offset, line)


def _joined(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
    )


def _defined(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that a node binds; those that it only uses belong to another file."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, node.lineno
        case ast.arg():
            yield node.arg, node.lineno
        case ast.Name(ctx=ast.Store()):
            yield node.id, node.lineno
        case ast.Attribute(ctx=ast.Store()):
            yield node.attr, node.lineno
        case ast.alias(asname=str(name)):
            yield name, node.lineno
        case _:
            pass


_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def parts_of(name: str) -> list[str]:
    """`is_MeetingPoint` is `is`, `meeting`, `point`."""
    return [part.lower() for part in _PART.findall(name)]
