"""What is being done, on a terminal only."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from tilewright.cli.working import working_on


@dataclass(frozen=True)
class Item:
    name: str


@pytest.mark.parametrize(("is_terminal", "shown"), [(False, ""), (True, None)])
def test_a_line_for_each_item_and_none_is_left(monkeypatch, capsys, is_terminal, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    items = [Item("first"), Item("second")]
    assert list(working_on(items, "compiling")) == items
    err = capsys.readouterr().err
    expected = "\r\x1b[Kcompiling first (1 of 2)\r\x1b[Kcompiling second (2 of 2)\r\x1b[K"
    assert err == (expected if shown is None else shown)


def test_the_line_goes_away_with_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    working = working_on([Item("only")], "lowering")
    assert next(working).name == "only"
    working.close()
    assert capsys.readouterr().err == "\r\x1b[Klowering only\r\x1b[K"
