"""Which arrays of a script are watched: those that it makes, and not those of a kernel's execution."""

import numpy as np
import pytest

from tilewright.runtime.tile.fresh import unwatched, watched, watching

ORIGINALS = np.empty, np.empty_like


def test_arrays_of_the_script_are_watched():
    with watching() as fresh:
        made = np.empty(7, np.float32)
        like = np.empty_like(made)
        assert watched() is fresh
        assert fresh.is_untouched(made) and fresh.is_untouched(like[2:5])
        made[3] = 0.0
        assert not fresh.is_untouched(made)
    assert watched() is None
    assert (np.empty, np.empty_like) == ORIGINALS


def test_arrays_of_an_execution_are_not_watched():
    with watching() as fresh:
        wrapped = np.empty
        with unwatched():
            assert (np.empty, np.empty_like) == ORIGINALS
            # It would fill the array with the byte of those that it watches.
            held = np.full(64, 1, np.uint8)
            assert not fresh.is_untouched(np.empty(64, np.uint8)) and held.all()
        assert np.empty is wrapped
        with pytest.raises(ZeroDivisionError), unwatched():
            _ = 1 / 0
        assert np.empty is wrapped
        with watching() as inner, unwatched():
            assert watched() is inner
            assert np.empty is ORIGINALS[0]
        assert np.empty is wrapped
    assert np.empty is ORIGINALS[0]


def test_nothing_happens_where_nothing_is_watched(monkeypatch):
    def other(*arguments):
        return ORIGINALS[0](*arguments)

    monkeypatch.setattr(np, "empty", other)
    with unwatched():
        assert np.empty is other
    assert np.empty is other
