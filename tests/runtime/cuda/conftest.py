"""A driver that only writes down what it is asked for, in place of the real one."""

from collections.abc import Iterator

import pytest

from tests.runtime.cuda.fake_driver import FakeDriver
from tilewright.runtime.cuda import errors
from tilewright.runtime.cuda.driver import using


@pytest.fixture
def cuda() -> Iterator[FakeDriver]:
    library = FakeDriver()
    errors.recent.clear()
    with using(library):
        yield library
    errors.recent.clear()
