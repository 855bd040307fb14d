"""Locations of accesses, widened to the calls that begin there."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, UnknownLoc
from xdsl.ir import Attribute

from tilewright.frontend.carets import underlined, widened
from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition, resolve
from tilewright.ir.text.locations import file_location, name_location

TEXT = """\
def kernel(x_ptr, d):
    y = tl.load(x_ptr + 1).to(tl.int32) * 2
    z = d.load([0,
                1]); tl.store(x_ptr, é); tl.atomic_add(x_ptr, 1)
    w = y + z
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def extent(location: Attribute) -> tuple[int | None, int | None]:
    place = resolve(location).primary
    assert place is not None
    return place.end_line, place.end_column


@pytest.mark.parametrize(
    ("line", "column", "end"),
    [
        (2, 9, (2, 27)),  # the load, and not the conversion behind it
        (3, 9, (4, 20)),
        (4, 22, (4, 40)),
        (4, 43, (4, 65)),  # there is a character of two bytes before it
        (5, 9, (None, None)),
        (2, 10, (None, None)),
        (99, 1, (None, None)),
    ],
)
def test_the_call_at_a_place(file: str, line: int, column: int, end: tuple[int | None, int | None]):
    assert extent(widened(file_location(file, line, column))) == end


def test_names_and_callers_stay(file: str):
    caller = file_location(file, 5, 1)
    inner = widened(CallSiteLoc(name_location("y", file_location(file, 2, 9)), caller))
    trail = resolve(inner)
    assert trail.names == ("y",)
    assert [str(frame.position) for frame in trail.callers] == [f"{file}:5:1"]
    assert extent(inner) == (2, 27)


def test_what_cannot_be_read_stays_as_it_is(tmp_path: Path):
    broken = tmp_path / "broken.py"
    broken.write_text("tl.load(", encoding="utf-8")
    for location in (
        UnknownLoc(),
        file_location(str(tmp_path / "absent.py"), 1, 1),
        file_location(str(broken), 1, 1),
    ):
        assert widened(location) is location


def test_notes_are_underlined_too(file: str):
    place = file_location(file, 2, 9)
    told = Diagnostic(Severity.ERROR, "wrong", SourcePosition(file, 1, 1))
    told.notes.append(Diagnostic(Severity.NOTE, "because of this", place))
    shown = underlined(told)
    assert shown.location == SourcePosition(file, 1, 1)
    note = shown.notes[0].location
    assert isinstance(note, Attribute)
    assert not isinstance(note, FileLineColLoc)
    assert extent(note) == (2, 27)
