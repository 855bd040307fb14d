"""Which words of the table occur where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from scripts.vocabulary.allowed import ALLOWED, Allowed
from scripts.vocabulary.clean_files import CleanFiles
from scripts.vocabulary.collect import Text, parts_of, texts_of
from scripts.vocabulary.rules import RULES, Kind, Rule

ROOT = Path(__file__).resolve().parents[2]
CLEAN = ROOT / "build" / "vocabulary"
"""Where digests of clean files are stored."""


@dataclass(frozen=True)
class Finding:
    """A word that should be another."""

    file: str
    text: Text
    word: str
    rule: Rule

    def __str__(self) -> str:
        where = f"{self.file}:{self.text.line}"
        return f"{where}: {self.text.kind.value}: '{self.word}': say {self.rule.say}"


def files_below(paths: Iterable[str]) -> Iterator[str]:
    """Python and Markdown files and notebooks, as paths in the repository."""
    for path in paths:
        full = ROOT / path
        if not full.exists():
            raise FileNotFoundError(f"no file or directory '{path}'")
        found = [full] if full.is_file() else sorted(full.rglob("*"))
        for each in found:
            if each.suffix in (".py", ".md", ".ipynb") and "__pycache__" not in each.parts:
                yield each.relative_to(ROOT).as_posix()


def findings(
    paths: Iterable[str], allowed: Iterable[Allowed] = ALLOWED, clean: CleanFiles | None = None
) -> Iterator[Finding]:
    """All findings in files and directories; `clean` remembers those that have none."""
    entries = tuple(allowed)
    for name in files_below(paths):
        if clean is None:
            yield from _in_file(name, entries)
        elif (ROOT / name) not in clean:
            found = list(_in_file(name, entries))
            yield from found
            if not found:
                clean.add(ROOT / name)


def _in_file(name: str, entries: tuple[Allowed, ...]) -> Iterator[Finding]:
    exempt = {each.key for each in entries if fnmatch(name, each.files)}
    for text in texts_of(ROOT / name, name):
        yield from _in_text(name, text, exempt)


_ANY = re.compile("|".join(each.pattern.pattern for each in RULES if each.pattern), re.IGNORECASE)
"""Most lines match none of the patterns: one search excludes them all."""
_PARTS = frozenset().union(*(each.parts for each in RULES))


def _in_text(name: str, text: Text, exempt: set[str]) -> Iterator[Finding]:
    if text.kind is Kind.NAME:
        if _PARTS.isdisjoint(parts_of(text.text)):
            return
    elif not _ANY.search(text.text):
        return
    for rule in RULES:
        if rule.key in exempt:
            continue
        if text.kind is Kind.NAME:
            found = [part for part in parts_of(text.text) if part in rule.parts]
            if found and not (rule.proper and rule.proper.search(text.text)):
                yield Finding(name, text, f"{text.text} ({found[0]})", rule)
        elif rule.pattern is not None and text.kind in rule.kinds:
            for match in rule.pattern.finditer(text.text):
                yield Finding(name, text, match.group(), rule)
