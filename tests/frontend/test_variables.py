"""What is told about the names under a caret, and about calls that do not fit."""

import inspect
import math
from types import FrameType

import numpy as np
import pytest

from tilewright.frontend.variables import (
    MAX_SHOWN,
    hint_for_attribute,
    hint_for_call,
    nearest,
    source_text,
    variables_in,
)
from tilewright.language import tl

N = 96


def frame() -> FrameType:
    """A frame with a few variables, as a stopped kernel function has them."""
    count, flag, name, nothing, pair = 3, True, "row", None, (1, 2.5)  # noqa: F841
    unknown, function = object(), len  # noqa: F841
    here = inspect.currentframe()
    assert here is not None
    return here


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("count + N", "count = 3, N = 96"),
        ("N % count == N", "N = 96, count = 3"),
        ("tl.where(flag, name, nothing)", "flag = True, name = 'row', nothing = None"),
        ("x.count + y_count + count2", ""),
        ("pair", "pair = (1, 2.5)"),
        ("unknown, function, absent, np, 12", ""),
    ],
)
def test_variables(text: str, told: str):
    assert variables_in(text, frame()) == told


def test_not_more_than_a_line():
    scope = {f"v{index}": index for index in range(20)}
    exec("import inspect\nfound = inspect.currentframe()", scope)
    told = variables_in(" ".join(f"v{index}" for index in range(20)), scope["found"])
    assert told == ", ".join(f"v{index} = {index}" for index in range(MAX_SHOWN)) + ", ..."


def test_text_of_a_span(tmp_path):
    file = tmp_path / "k.py"
    file.write_text("é = f(a,\n      b)\n", encoding="utf-8")
    assert source_text(str(file), (1, 2, 5, 8)) == "f(a,\n      b)"
    assert source_text(str(file), (1, 1, 0, 2)) == "é"


def failing(text: str, caller: FrameType) -> str | None:
    with pytest.raises(TypeError) as caught:
        eval(text, caller.f_globals, caller.f_locals)
    return hint_for_call(caught.value, text, caller)


def clamped(x: int, low: int = 0, *, high: int) -> int:
    return max(low, min(x, high))


def test_a_misspelt_keyword():
    told = failing("clamped(1, hihg=2)", frame())
    assert told == "did you mean high=? it is called as clamped(x, low=0, *, high)"


def test_a_missing_argument():
    assert failing("clamped(1)", frame()) == "it is called as clamped(x, low=0, *, high)"


def test_functions_of_the_host():
    assert failing("math.sqrt(name)", frame()) == (
        "math.sqrt computes on the host, when the kernel is compiled: use tl.sqrt"
    )
    assert failing("np.fft.fft(count, count, count, count, count, count)", frame()) == (
        "np.fft.fft computes on the host, when the kernel is compiled: "
        "use a function of the kernel's language"
    )
    assert (math.sqrt, np.fft, tl.sqrt) is not None  # looked up by name above


@pytest.mark.parametrize("text", ["1 + 'a'", "(lambda: 1)(2)", "not a call"])
def test_no_advice_without_a_plain_call(text: str):
    assert hint_for_call(TypeError("f() takes 0 arguments"), text, frame()) is None


def test_attributes():
    with pytest.raises(AttributeError) as caught:
        tl.summ  # noqa: B018
    assert hint_for_attribute(caught.value) == "did you mean sum?"
    assert hint_for_attribute(AttributeError("no owner")) is None


def test_nearest_ignores_case_and_underscores():
    known = ["BLOCK_SIZE", "n", "x_ptr"]
    assert nearest("blocksize", known) == "BLOCK_SIZE"
    assert nearest("Paralel", ("Parallel", "parallel")) == "Parallel"
    assert nearest("paralel", ("parallel", "Parallel")) == "parallel"
    assert nearest("xptr", known) == "x_ptr"
    assert nearest("stride", known) is None
