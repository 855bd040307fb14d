"""Takes generated texts apart into what must stay and what may be reworded, and renames."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CODE, COMMENTS, MESSAGES = "code", "comments", "messages"
BETWEEN_MESSAGES = "\n----\n"

Parts = dict[str, str]

_CUDA = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL)
_BEFORE_A_STATEMENT = frozenset(
    (tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
)
_SENTENCE = re.compile(
    r"""(?P<quote>["'])(?P<text>[A-Za-z][\w,.:()-]*(?: [\w,.:()-]+){2,})(?P=quote)"""
)
"""At least three words in quotes, with nothing in them that assembly would have."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def portable(text: str, root: Path) -> str:
    """`text` without the directory of the tree and without addresses of objects."""
    return _ADDRESS.sub("0x…", text.replace(f"{root}/", "").replace(str(root), "."))


def ir_parts(text: str) -> Parts:
    """IR with the sentences in it apart: reasons that passes give for what they assume."""
    code, sentences = _without_sentences(text)
    return {CODE: code, MESSAGES: "\n".join(sentences)} if sentences else {CODE: code}


def _without_sentences(text: str) -> tuple[str, list[str]]:
    sentences = [match["text"] for match in _SENTENCE.finditer(text)]
    return (_SENTENCE.sub('"…"', text) if sentences else text), sentences


def cuda_parts(text: str) -> Parts:
    """CUDA source with its comments apart."""
    comments: list[str] = []

    def taken(match: re.Match[str]) -> str:
        if match["comment"] is None:
            return match[0]
        comments.append(match[0])
        return ""

    return {CODE: _without_blanks(_CUDA.sub(taken, text)), COMMENTS: "\n".join(comments)}


def python_parts(text: str) -> Parts:
    """Python source with its comments, docstrings and sentences apart."""
    lines = text.splitlines(keepends=True)
    comments: list[str] = []
    for token in reversed(_prose_tokens(text)):
        comments.insert(0, token.string)
        (first, start), (last, end) = token.start, token.end
        lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][end:]]
    parts = ir_parts(_without_blanks("".join(lines)))
    return {**parts, COMMENTS: "\n".join(comments)}


def _prose_tokens(text: str) -> list[tokenize.TokenInfo]:
    """Comments, and strings that are statements."""
    found: list[tokenize.TokenInfo] = []
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and before in _BEFORE_A_STATEMENT
        if token.type == tokenize.COMMENT or is_docstring:
            found.append(token)
        if token.type != tokenize.COMMENT:
            before = token.type
    return found


def _without_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip()) + "\n"


def plan_parts(text: str) -> Parts:
    """A memory plan (`--format json`) with its sentences apart; lines of the source may move."""
    sentences: list[str] = []

    def plain(entry: dict[str, Any]) -> dict[str, Any]:
        """An object of the plan; JSON yields the inner ones first."""
        sentences.extend(map(str, entry.pop("notes", ())))
        if isinstance(source := entry.get("source"), str):
            entry["source"] = re.sub(r":\d+(:\d+)?$", "", source)
        return entry

    code = json.dumps(json.loads(text, object_hook=plain), indent=1) if text.strip() else ""
    code, others = _without_sentences(code)
    return {CODE: code, MESSAGES: "\n".join([*sentences, *others])}


class Renames:
    """Names that changed, `old new` a line: attributes, ops, passes, modules, codes of diagnostics.

    Only whole names are replaced: `tile.a` leaves `tile.ab` as it is. A name that
    was split has a line for each of its new ones, which then count as one. `#` begins a remark.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        splits: dict[str, list[str]] = {}
        for old, new in pairs:
            splits.setdefault(old, []).append(new)
        self._renamed = _Substitution({old: new[0] for old, new in splits.items()})
        self._joined = _Substitution(
            {each: new[0] for new in splits.values() for each in new[1:] if each != new[0]}
        )

    @classmethod
    def read(cls, path: Path) -> Renames:
        pairs: list[tuple[str, str]] = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.partition("#")[0].split()
            if len(words) not in (0, 2):
                raise ValueError(f"{path}:{number}: expected 'old new', found {line.strip()!r}")
            if words:
                pairs.append((words[0], words[1]))
        return cls(pairs)

    def __bool__(self) -> bool:
        return bool(self._renamed.table)

    def __call__(self, old: str) -> str:
        """A text from before the change with the new names."""
        return self._joined(self._renamed(old))

    def joined(self, new: str) -> str:
        """A text from after the change in which names that were one are one again."""
        return self._joined(new)


class _Substitution:
    """Whole names for whole names."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        names = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))
        start = r"(?:(?<![\w-])|(?<=/\d\d-))"  # stages are called as the pass, after its index
        self._pattern = re.compile(rf"{start}(?:{names})(?![\w-])")

    def __call__(self, text: str) -> str:
        if not self.table:
            return text
        return self._pattern.sub(lambda match: self.table[match[0]], text)


def in_any_order(text: str) -> str:
    """`text` with the parts of each line sorted, and imports before the rest, sorted too.

    Dictionaries and imports are printed by name: a new name may move among them.
    """
    lines = [" ".join(sorted(re.split(r"[\s,{}]+", line))) for line in text.splitlines()]
    imports = [line.startswith("from tilewright.") for line in text.splitlines()]
    moved = sorted(line for line, is_import in zip(lines, imports, strict=True) if is_import)
    rest = [line for line, is_import in zip(lines, imports, strict=True) if not is_import]
    return "\n".join([*moved, *rest])
