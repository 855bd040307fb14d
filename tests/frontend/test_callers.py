"""Errors that point at the call in the author's code."""

import pytest

from tilewright.frontend.callers import call_site, located


class _Particular(ValueError):
    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{text} {number}")


def test_the_place_is_the_call():
    found = call_site(), 1
    place = found[0]
    assert place is not None
    assert place.file == __file__
    assert place.end_line == place.line
    assert (place.column, place.end_column) == (13, 24)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TypeError("no"), TypeError),
        (OverflowError("no"), OverflowError),
        (_Particular(3, "no"), ValueError),
        (KeyError("no"), RuntimeError),
    ],
)
def test_the_kind_of_the_error_stays(error: Exception, kind: type[Exception]):
    assert type(located(error, "TW6020")) is kind


def test_text_and_notes():
    text = str(located(TypeError("wrong"), "TW6020", [(None, "a reason")], prefix="argument 1: "))
    header, line, mark, note = text.splitlines()
    assert header.startswith(f"{__file__}:")
    assert header.endswith(": error[TW6020]: argument 1: wrong")
    assert line.endswith(
        'text = str(located(TypeError("wrong"), "TW6020", [(None, "a reason")], prefix="argument 1: "))'
    )
    assert (
        mark.count("~")
        == len('located(TypeError("wrong"), "TW6020", [(None, "a reason")], prefix="argument 1: ")')
        - 1
    )
    assert note == "  note: a reason"


def test_source_that_is_in_no_file():
    scope = {"located": located, "__name__": "author"}
    exec(compile("error = located(TypeError('wrong'), 'TW6020')", "<typed>", "exec"), scope)
    assert str(scope["error"]) == "<typed>:1:9: error[TW6020]: wrong"
