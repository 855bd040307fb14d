"""What `watching` replaces, for whom, and that nothing of it stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from tilewright.runtime.tile.fresh import FreshArrays, watched, watching
from tilewright.runtime.tile.tensors import new_tensor

NUMPY = np.empty, np.empty_like
UNTOUCHED = 0xA5


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert (np.empty, np.empty_like) == NUMPY
    assert watched() is None


def is_filled(array: np.ndarray) -> bool:
    return bool((array.view(np.uint8) == UNTOUCHED).all())


def test_arrays_of_user_code_are_watched():
    with watching() as fresh:
        made = np.empty(4, np.int32), np.empty_like(np.zeros((2, 3)))
        assert all(map(fresh.is_untouched, made))
        assert fresh.is_untouched(made[0][1:])
        made[0][:] = 1
        assert not fresh.is_untouched(made[0])
        assert not fresh.is_untouched(np.full(4, UNTOUCHED, np.uint8))  # its content, not made here


def test_what_other_packages_allocate_is_left_alone(tmp_path: Path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "package.py").write_text("import numpy\ndef make():\n    return numpy.empty(1000)\n")
    scope: dict = {}
    exec(compile((folder / "package.py").read_text(), str(folder / "package.py"), "exec"), scope)
    with watching() as fresh:
        assert not fresh.is_untouched(scope["make"]())
        assert fresh._made == []
        made = np.empty(3)
        assert fresh.is_untouched(made)
        result = new_tensor((4,), _dtype(), None)
        assert not fresh.is_untouched(result)
        assert len(fresh._made) == 1


def _dtype():
    from tilewright.language.T import float32

    return float32


def test_other_threads_have_numpys_own_functions():
    with watching() as fresh, ThreadPoolExecutor(1) as pool:
        array = pool.submit(lambda: np.empty(1000, np.uint8)).result()
        assert pool.submit(watched).result() is None
        assert not fresh.is_untouched(array)


def test_threads_that_watch_at_the_same_time_see_their_own():
    barrier = Barrier(2, timeout=30)

    def run(early: bool) -> tuple[int, bool]:
        with watching() as fresh:
            barrier.wait()
            array = np.empty(8)
            barrier.wait()
            found = len(fresh._made), fresh.is_untouched(array)
            if early:
                return found
            barrier.wait()  # the other one has ended
            late = np.empty(8)
            return len(fresh._made), fresh.is_untouched(late)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(run, True), pool.submit(run, False)
        assert first.result() == (1, True)
        barrier.wait()
        assert second.result() == (2, True)


def test_watching_may_be_nested():
    with watching() as outer:
        one = np.empty(4)
        with watching() as inner:
            two = np.empty(4)
            assert watched() is inner
        three = np.empty(4)
        assert watched() is outer
        assert [outer.is_untouched(each) for each in (one, two, three)] == [True, False, True]
        assert inner.is_untouched(two)


def test_a_function_that_a_script_puts_there_stays(monkeypatch: pytest.MonkeyPatch):
    def own(*arguments, **options):
        return NUMPY[0](*arguments, **options)

    with watching():
        monkeypatch.setattr(np, "empty", own)
    assert np.empty is own
    monkeypatch.undo()
    np.empty = NUMPY[0]


def test_arrays_that_are_gone_are_forgotten():
    fresh = FreshArrays()
    kept = [fresh.made(NUMPY[0](4)) for _ in range(10)]
    for _ in range(5000):
        fresh.made(NUMPY[0](4))
    assert len(fresh._made) <= 65
    assert all(map(fresh.is_untouched, kept))
