"""The registry of diagnostic codes: complete, true to its use, one meaning for each code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import tilewright
from scripts.vocabulary.rules import RULES, Kind
from tilewright import T, tl, tlx
from tilewright.dialects import DIALECTS
from tilewright.ir.codes.entry import CodeEntry
from tilewright.ir.codes.registry import CODES, SECTIONS
from tilewright.memory import RULES as STORAGE_RULES
from tilewright.passes.tlx.storage_alias.messages import code_of

SOURCE = Path(__file__).parents[2] / "src" / "tilewright"
REGISTRY = SOURCE / "ir" / "codes"
FILES = sorted(SOURCE.rglob("*.py"))
USERS = [file for file in FILES if file.parent != REGISTRY or file.name == "shared.py"]
CODE = re.compile(r"TW\d{4}")
WORDS = [rule for rule in RULES if Kind.MESSAGE in rule.kinds]
LANGUAGES = {"T": T, "tl": tl, "tlx": tlx, "tw": tilewright}


def _rules() -> dict[str, str]:
    """Codes that are computed from the id of a rule, with the severity of the rule."""
    return {code_of(rule.id): rule.severity.value for rule in STORAGE_RULES.values()}


def test_every_code_in_the_source_has_an_entry() -> None:
    named = {code for file in USERS for code in CODE.findall(file.read_text())}
    assert not {*named, *_rules()} - {*CODES}


def test_every_entry_is_used() -> None:
    named = {code for file in USERS for code in CODE.findall(file.read_text())}
    assert not {*CODES} - {*named, *_rules()}


def test_a_code_is_defined_once() -> None:
    """Two definitions are two meanings sooner or later: import the constant instead."""
    naming = [text for text in (file.read_text() for file in USERS) if CODE.search(text)]
    defined = Counter(
        node.value
        for text in naming
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    )
    assert len(defined) > 150
    assert not [code for code, count in defined.items() if count > 1]


def test_codes_ascend_and_occur_once() -> None:
    listed = [entry.code for entries in SECTIONS.values() for entry in entries]
    assert listed == sorted({*listed})
    assert [*CODES] == listed


def test_rules_of_storage_aliasing_have_their_severity() -> None:
    assert {code: CODES[code].severity for code in _rules()} == _rules()


@pytest.mark.parametrize("entry", CODES.values(), ids=list(CODES))
def test_an_entry_is_complete(entry: CodeEntry) -> None:
    assert CODE.fullmatch(entry.code)
    assert entry.severity in ("error", "warning", "remark")
    assert 0 < len(entry.title) <= 75
    assert not entry.title.endswith(".")
    assert entry.example.strip() == entry.example != ""
    for sentence in (entry.meaning, entry.fix):
        assert sentence[0].isupper() or sentence[0] == "`"
        assert sentence.rstrip("`)").endswith(".")
    assert 1 <= len(re.findall(r"[.:](?:\s|\)|$)", entry.meaning)) <= 7


@pytest.mark.parametrize("entry", CODES.values(), ids=list(CODES))
def test_an_entry_uses_the_words_of_the_glossary(entry: CodeEntry) -> None:
    for text in (entry.title, entry.meaning, entry.example, entry.fix):
        assert not [rule.key for rule in WORDS if rule.pattern and rule.pattern.search(text)]


def test_functions_that_entries_name_exist() -> None:
    ops = {op.name for load in DIALECTS.values() for op in load().operations}
    for entry in CODES.values():
        text = "\n".join((entry.title, entry.meaning, entry.example, entry.fix))
        for language, name in re.findall(r"\b(T|tl|tlx|tw)\.([A-Za-z]\w*)", text):
            if f"{language}.{name}" not in ops:
                assert hasattr(LANGUAGES[language], name), f"{entry.code}: {language}.{name}"
