"""What authors of kernels get wrong, and what they are told: one file per mistake.

Kernels of `tl` are in `cases`, those of `T` in `tile_cases`. A case has three names: `wrong`, `fixed`, and `launch`, which runs either of them and returns the
result with what it should be. The message of `wrong` must equal the text file beside the case, with
paths shortened to names. `fixed` is what the message advises, and must give the right values.

After a change of messages: `pytest tests/wrong_kernels --update-golden`, then read the diff as an
author would.
"""

import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.api import NumpyFault

FOLDERS = tuple(Path(__file__).parent / name for name in ("cases", "tile_cases"))
CASES = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
ERRORS = (
    CompileError,
    NumpyFault,
    TypeError,
    ValueError,
    RuntimeError,
    KeyError,
    UserWarning,
)
HEADER = re.compile(
    r"(?P<file>\w+\.py):(?P<line>\d+):(?P<column>\d+): (?:error|warning)\[TW\d{4}\]: \S"
)

each_case = pytest.mark.parametrize(
    "path", CASES, ids=lambda path: path.stem if path.parent == FOLDERS[0] else f"T-{path.stem}"
)


@pytest.fixture(autouse=True)
def _usual_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages count the lanes of a batch; what the environment asks for must not change them."""
    for name in ("TILEWRIGHT_BATCH", "TILEWRIGHT_CHECK_RACES"):
        monkeypatch.delenv(name, raising=False)


def load(path: Path) -> ModuleType:
    """A fresh module, so that no case sees a kernel that another test has compiled."""
    spec = importlib.util.spec_from_file_location(
        f"wrong_kernels_{path.parent.stem}_{path.stem}", path
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def message(path: Path) -> str:
    case = load(path)
    with pytest.raises(ERRORS) as caught:
        case.launch(case.wrong)
    return str(caught.value).replace(f"{path.parent}{os.sep}", "") + "\n"


@each_case
def test_message(path: Path, request: pytest.FixtureRequest):
    golden = path.with_suffix(".txt")
    found = message(path)
    if request.config.getoption("--update-golden"):
        golden.write_text(found, encoding="utf-8")
    assert golden.is_file(), f"{golden.name} is missing: run with --update-golden, and read it"
    assert found == golden.read_text(encoding="utf-8")


@each_case
def test_message_points_into_the_case(path: Path):
    """The golden file shows the line that it names, and marks characters that are there."""
    header, excerpt, mark, *_ = _without_second_lines(path.with_suffix(".txt").read_text("utf-8"))
    place = HEADER.match(header)
    assert place is not None
    assert place["file"] == path.name
    source = path.read_text(encoding="utf-8").splitlines()[int(place["line"]) - 1]
    prefix = f"  {place['line']} | "
    assert excerpt == prefix + source
    assert mark.startswith(" " * (len(prefix) - 2) + "| ")
    marked = mark[len(prefix) :]
    assert marked.index("^") == int(place["column"]) - 1
    assert len(marked) <= len(source)
    assert marked.strip(" ~") == "^"


def _without_second_lines(text: str) -> list[str]:
    """Lines, of which those that continue the message itself are left out."""
    header, *rest = text.splitlines()
    start = next(index for index, line in enumerate(rest) if re.match(r"  \d+ \| ", line))
    return [header, *rest[start:]]


@each_case
def test_fixed_variant_works(path: Path):
    case = load(path)
    found, expected = case.launch(case.fixed)
    np.testing.assert_array_equal(found, expected)


def test_there_are_enough_cases_and_no_stray_texts():
    for folder in FOLDERS:
        names = {path.stem for path in CASES if path.parent == folder}
        assert len(names) >= 30
        assert names == {path.stem for path in folder.glob("*.txt")}


def test_every_case_says_what_is_wrong():
    assert [path.stem for path in CASES if not load(path).__doc__] == []
