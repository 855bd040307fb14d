"""The field's words: the check finds others, and finds none in what is checked."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

from scripts.vocabulary.allowed import ALLOWED, MOST
from scripts.vocabulary.check import CLEAN, ROOT, files_below, findings
from scripts.vocabulary.checked import CHECKED
from scripts.vocabulary.clean_files import CleanFiles
from scripts.vocabulary.collect import parts_of, texts_of
from scripts.vocabulary.rules import RULES, Kind


def test_what_is_checked_uses_the_words_of_the_field() -> None:
    with CleanFiles(CLEAN) as clean:
        assert [str(each) for each in findings(CHECKED, clean=clean)] == []


def test_a_file_is_clean_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.vocabulary.check.ROOT", tmp_path)
    file, store = tmp_path / "module.py", tmp_path / "store"
    file.write_text("address = 1\n")
    with CleanFiles(store) as clean:
        assert list(findings(["module.py"], (), clean)) == []
    with CleanFiles(store) as clean:
        assert file in clean
        file.write_text("place = 1\n")
        assert file not in clean
        assert len(list(findings(["module.py"], (), clean))) == 1
        assert file not in clean


def test_the_list_of_allowed_places_is_short_and_used() -> None:
    assert len(ALLOWED) <= MOST
    files = list(files_below(("src", "docs", "README.md", "CONTRIBUTING.md", "scripts")))
    keys = {each.key for each in RULES}
    for each in ALLOWED:
        assert each.key in keys, each
        assert len(each.reason.split()) >= 3, each
        assert any(fnmatch(name, each.files) for name in files), each


WRONG = '''"""The second turn, one after the other."""

# Nobody waits.
behind = "the copy engine is under way"
place_of = f"{behind} is no multiple of 8"
class MeetingPoint: ...
'''
FOUND = [
    ("docstring", "turn"),
    ("docstring", "one after the other"),
    ("comment", "nobody"),
    ("message", "copy engine"),
    ("message", "under way"),
    ("message", "no multiple"),
    ("name", "behind"),
    ("name", "place"),
    ("name", "meet"),
]


def test_every_kind_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module.py").write_text(WRONG)
    monkeypatch.setattr("scripts.vocabulary.check.ROOT", tmp_path)
    found = [(each.text.kind.value, each.rule.key) for each in findings(["module.py"], ())]
    assert sorted(found) == sorted(FOUND)


RIGHT = '''"""Turns a module into another, in turn; it takes place in `place`."""

# `nobody` is a user of the system.
end = "iteration 3 of the loop is in flight"
'''


def test_other_meanings_and_code_are_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module.py").write_text(RIGHT)
    (tmp_path / "page.md").write_text("An iteration.\n```\none turn behind the other\n```\n")
    monkeypatch.setattr("scripts.vocabulary.check.ROOT", tmp_path)
    assert [str(each) for each in findings(["module.py", "page.md"], ())] == []


def test_names_are_split_at_underscores_and_capitals() -> None:
    assert parts_of("_is_MeetingPoint2") == ["is", "meeting", "point", "2"]
    assert parts_of("TMAStore") == ["tma", "store"]


def test_a_message_says_which_word_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("The second turn.\n")
    monkeypatch.setattr("scripts.vocabulary.check.ROOT", tmp_path)
    (found,) = findings(["page.md"], ())
    assert str(found) == "page.md:1: docs: 'turn': say iteration"


NOTEBOOK = """{
 "cells": [
  {"cell_type": "code", "source": ["turn = 1\\n"]},
  {"cell_type": "markdown",
   "source": [
    "The `turn` of a loop.\\n",
    "The second turn."
   ]}
 ]
}
"""


def test_the_prose_of_a_notebook_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.ipynb").write_text(NOTEBOOK)
    monkeypatch.setattr("scripts.vocabulary.check.ROOT", tmp_path)
    assert [str(each) for each in findings(["page.ipynb"], ())] == [
        "page.ipynb:7: docs: 'turn': say iteration"
    ]


def test_files_are_read_by_their_kind() -> None:
    kinds = {each.kind for each in texts_of(ROOT / "README.md", "README.md")}
    assert kinds == {Kind.DOCS}


def test_a_missing_path_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match=r"no file or directory 'docs/absent\.md'"):
        list(findings(["docs/absent.md"]))
