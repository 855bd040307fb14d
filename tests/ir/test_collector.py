"""`collector_paused` switches off what was on, and only that."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tilewright.ir.collector import collector_paused


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


def test_it_is_off_inside_and_on_again_after_an_error() -> None:
    gc.enable()
    with pytest.raises(KeyError), collector_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_a_program_that_has_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    with collector_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_one_that_finds_it_off_leaves_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may switch it on right after the question, and has nobody to do so again."""
    gc.enable()
    monkeypatch.setattr(gc, "isenabled", lambda: False)  # as it was a moment before
    with collector_paused():
        pass
    monkeypatch.undo()
    assert gc.isenabled()


def test_pauses_nest() -> None:
    gc.enable()
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
