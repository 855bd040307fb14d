"""Names and arities of the vendor's device API: extracted from its headers, and stored.

The stored table holds names and integers only. It is written by ``python -m scripts.tt_signatures``
from a checkout, and used where there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("signatures.json")
HEADERS = ("hw/inc/api", "hw/inc/internal/dataflow", "hw/inc/internal/tensor")
"""Directories below tt_metal/ that are read."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_FUNCTION = re.compile(
    r"(?P<template>template\s*<(?P<parameters>[^{};]*?)>\s*)?"
    r"(?P<attributes>\[\[(?:(?!\]\]).)*\]\]\s*)?"
    r"\b(?:static\s+)?(?:ALWI|FORCE_INLINE|inline|(?<=\]\] )void)\b"
    r"(?P<type>[\w\s:<>,&*]*?)\b(?P<name>\w+)\s*\(",
    re.DOTALL,
)
_HIDDEN = "call_line"


@dataclass(frozen=True)
class Signature:
    """How many arguments the overloads of a name accept."""

    min_arguments: int
    max_arguments: int
    max_template_arguments: int = 0
    deprecated: bool = False

    def merged(self, other: Signature) -> Signature:
        """The union of two overloads."""
        return Signature(
            min(self.min_arguments, other.min_arguments),
            max(self.max_arguments, other.max_arguments),
            max(self.max_template_arguments, other.max_template_arguments),
            self.deprecated and other.deprecated,
        )


def split_arguments(text: str) -> tuple[str, ...]:
    """Arguments or parameters at the outermost level of commas."""
    parts: list[str] = []
    depth, current = 0, ""
    for position, character in enumerate(text):
        if not _is_comparison(text, position):
            depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return tuple(parts)


def _is_comparison(text: str, position: int) -> bool:
    """Whether an angle bracket is an operator: it has a space on both sides."""
    around = text[max(0, position - 1) : position + 3]
    return text[position] in "<>" and re.match(r" [<>]=? ", around) is not None


def enclosed(text: str, start: int) -> str:
    """The text between the parenthesis before `start` and its partner."""
    depth = 1
    for end in range(start, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return text[start:end]
    return text[start:]


def functions(text: str) -> Iterator[tuple[str, Signature]]:
    """The inline functions that a header defines."""
    text = _PREPROCESSOR.sub("", _COMMENT.sub("", text))
    for found in _FUNCTION.finditer(text):
        parameters = [
            each
            for each in split_arguments(enclosed(text, found.end()))
            if _HIDDEN not in each and each != "void"
        ]
        required = sum("=" not in each for each in parameters)
        template = split_arguments(found["parameters"] or "")
        is_deprecated = "deprecated" in (found["attributes"] or "")
        yield found["name"], Signature(required, len(parameters), len(template), is_deprecated)


def extract(root: Path) -> dict[str, Signature]:
    """The signatures of all headers below the checkout `root`."""
    table: dict[str, Signature] = {}
    for directory in HEADERS:
        for path in sorted((root / "tt_metal" / directory).rglob("*.h")):
            for name, signature in functions(path.read_text(encoding="utf-8")):
                known = table.get(name)
                table[name] = signature if known is None else known.merged(signature)
    return dict(sorted(table.items()))


def dump(table: Mapping[str, Signature], source: str) -> str:
    """The stored form of a table; `source` names the commit and its date."""
    rows = ",\n".join(
        f"    {json.dumps(name)}: [{s.min_arguments}, {s.max_arguments}, "
        f"{s.max_template_arguments}, {int(s.deprecated)}]"
        for name, s in table.items()
    )
    return f'{{\n  "source": {json.dumps(source)},\n  "functions": {{\n{rows}\n  }}\n}}\n'


@cache
def stored() -> tuple[str, Mapping[str, Signature]]:
    """The source of the stored table, and the table."""
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    rows = data["functions"].items()
    return data["source"], {name: Signature(a, b, c, bool(d)) for name, (a, b, c, d) in rows}
