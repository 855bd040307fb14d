"""A driver that only writes its calls down, in place of the real one.

Tests that take `cuda` run twice: with launches through ctypes, and from C.
"""

from collections.abc import Iterator

import pytest

from tests.runtime.cuda.fake_driver import FakeDriver
from tests.runtime.cuda.fake_library import FakeLibrary
from tilewright.runtime.cuda import errors
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.cuda.native import native, reason


@pytest.fixture(params=["ctypes", "native"])
def cuda(request: pytest.FixtureRequest) -> Iterator[FakeDriver]:
    library = FakeDriver() if request.param == "ctypes" else FakeLibrary()
    if request.param == "native" and native() is None:
        pytest.skip(f"no launcher in C: {reason()}")
    errors.recent.clear()
    with using(library):
        yield library
    errors.recent.clear()
