"""Rules for every test run: no chance without a switch, no silent skip.

* Hypothesis draws the same examples every time, so that a red run stays red: a quarter of them by
  default, all of them with ``TILEWRIGHT_HYPOTHESIS_PROFILE=whole``, as ``make fuzz`` has it. To
  look for new failures, set it to ``explore``.
* Tests marked ``device`` are skipped where no accelerator answers. The header of the run and the
  reason of each skip say what was missing.
* Compiled kernels are kept for the run, not in the cache of whoever runs the tests.
"""

import gc
import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.devices import missing_device
from tests.sampling import PROFILE, examples

settings.register_profile("whole", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "deterministic", parent=settings.get_profile("whole"), max_examples=examples(100)
)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(PROFILE)


@pytest.fixture(scope="session", autouse=True)
def artefact_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # what one worker compiled, the others find
    os.environ["TILEWRIGHT_CACHE_DIR"] = str(base / "tilewright-cache")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write golden files anew instead of comparing with them; look at the diff afterwards",
    )


def pytest_report_header() -> str:
    return f"device tests: {missing_device() or 'will run'}"


def pytest_collection_finish() -> None:
    """Thirty thousand tests stay in memory: the collector looks at them less often."""
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """A script that a test runs in this process stays behind as ``__main__``, with a file that is
    deleted soon; processes that a later test spawns would run that file."""
    main = sys.modules["__main__"]
    try:
        return (yield)
    finally:
        sys.modules["__main__"] = main


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("device")]
    if not marked or (reason := missing_device()) is None:
        return
    for item in marked:
        item.add_marker(pytest.mark.skip(reason=f"needs a device: {reason}"))
